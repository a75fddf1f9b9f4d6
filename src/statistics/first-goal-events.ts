// Reads the goal events of a user who has too many to read them all: for each campaign, only as many of the first ones
// as its cap lets it count. A heavy user with millions of events then costs as much as one with ten thousand in each
// campaign. The result must contain every event that `capGoalEvents` picks, by the counted and by the pending goals,
// from the facts before a batch and after it.
import { factsByCampaign } from '../core/statistics/contributions.ts'
import { creditSpans, type Span } from '../core/statistics/goal-event-cap.ts'
import type { Rules } from '../core/statistics/rules.ts'
import type { CampaignFacts } from '../core/statistics/campaign-history.ts'
import { listFirstEvents, listTrackedActions, type NamedEvent, type UserAction } from '../store/users/events.ts'
import type { Store } from '../store/store.ts'
import type { GoalCatalog } from './goal-catalog.ts'

/** Pairs of a user id and an event name per statement; a user may have a hundred thousand ids. */
const ACTIONS_AT_ONCE = 5_000

/** The event ids and facts by which campaigns count a user, before a batch or after it. */
export interface HistoryPart extends CampaignFacts {
  readonly userIds: readonly number[]
}

/** The events to read for one user. */
export interface FirstEvents {
  readonly parts: readonly HistoryPart[]
  /** The most events to read of each name for each campaign. */
  readonly max: number
  /** Event name → its period. Events of other names or times are left out. */
  readonly periods: ReadonlyMap<string, Span>
}

/** The first events of each name that each campaign could credit. */
export async function listFirstGoalEvents(
  store: Store,
  catalog: GoalCatalog,
  { parts, max, periods }: FirstEvents,
): Promise<NamedEvent[]> {
  const reader = new FirstReader(store, max)
  for (const part of parts) {
    const tracked = await trackedActions(store, catalog, part.userIds)
    for (const rules of [catalog.counted, catalog.pending?.rules]) {
      for (const { spans, names } of rules ? wantedOf(part, rules) : []) {
        for (const pair of tracked) if (names.has(pair.action)) await reader.read(pair, spans)
      }
    }
  }
  return [...reader.found.values()].filter(({ action, time }) => {
    const period = periods.get(action)
    return period && time >= period.from && time <= period.until
  })
}

/** The spans in which a campaign could credit events, and the names of those events. */
interface Wanted {
  readonly spans: readonly Span[]
  readonly names: ReadonlySet<string>
}

function wantedOf(part: CampaignFacts, { campaigns }: Rules): Wanted[] {
  return [...factsByCampaign(part)].map(([campaign, facts]) => {
    const goals = campaigns.get(campaign)?.goals ?? []
    return { spans: creditSpans(facts, goals), names: new Set(goals.map(({ event }) => event)) }
  })
}

class FirstReader {
  /** By id. */
  readonly found = new Map<number, NamedEvent>()
  readonly #store: Store
  readonly #max: number
  /**
   * Span → how many events it holds, at most as many as were requested. Most spans are the same before a batch and after
   * it.
   */
  readonly #counts = new Map<string, number>()

  constructor(store: Store, max: number) {
    this.#store = store
    this.#max = max
  }

  /** Reads the first events of one name. `spans` must be in order of time. */
  async read(pair: UserAction, spans: readonly Span[]): Promise<void> {
    let count = 0
    for (const span of spans) {
      if (count >= this.#max) return
      count += await this.#readSpan(pair, span, this.#max - count)
    }
  }

  async #readSpan({ user_id, action }: UserAction, { from, until }: Span, max: number): Promise<number> {
    const key = `${user_id} ${from} ${until} ${max} ${action}`
    const counted = this.#counts.get(key)
    if (counted !== undefined) return counted
    const events = await listFirstEvents(this.#store, { user_id, action, from, until }, max)
    for (const event of events) this.found.set(event.id, event)
    this.#counts.set(key, events.length)
    return events.length
  }
}

/** The ids of a user that have events named by a goal. */
async function trackedActions(
  store: Store,
  { eventNames }: GoalCatalog,
  userIds: readonly number[],
): Promise<UserAction[]> {
  const found: UserAction[] = []
  let wanted: UserAction[] = []
  for (const user_id of userIds) {
    for (const action of eventNames) {
      wanted.push({ user_id, action })
      if (wanted.length < ACTIONS_AT_ONCE) continue
      found.push(...(await listTrackedActions(store, wanted)))
      wanted = []
    }
  }
  return [...found, ...(await listTrackedActions(store, wanted))]
}
