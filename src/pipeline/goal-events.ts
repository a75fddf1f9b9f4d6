// Which goals tracked events meet. Nothing else of what an event says of itself stays in memory: that may be a hundred
// kilobytes, and a user may have thousands of events.
import type { GoalEvent } from '../core/facts.ts'
import { meetsConditions, type Goal } from '../core/goal.ts'
import { listAttributes, measureAttributes, type NamedEvent } from '../store/events.ts'
import type { Store } from '../store/store.ts'
import { conditionalGoals, type GoalBook } from './goal-books.ts'

/** Attributes that are in memory at one time, as JSON; of one event also more. */
const ATTRIBUTES_BYTES_MAX = 4 * 1024 * 1024
/** Events that one statement looks into at the most. */
const EVENTS_AT_ONCE = 5_000

/** A goal event of one user. */
export interface UserGoalEvent extends GoalEvent, NamedEvent {}

/** Events of one user, and the campaigns whose goals they may meet: only those that the user has to do with. */
export interface Unjudged {
  readonly events: readonly NamedEvent[]
  readonly campaigns: Iterable<number>
}

interface Portions {
  readonly eventsAtOnce?: number | undefined
  /** Asked between two portions; where it says no, what comes back is of no use. */
  readonly goesOn?: () => Promise<boolean>
}

const NO_GOALS: ReadonlySet<Goal> = new Set()

/**
 * The events of several users with the goals that they meet, in the order of the users. Looks only into events on whose name a
 * goal of one of their campaigns has conditions, a few megabytes at a time.
 */
export async function judgeEvents(
  store: Store,
  book: GoalBook,
  users: readonly Unjudged[],
  { eventsAtOnce = EVENTS_AT_ONCE, goesOn = async () => true }: Portions = {},
): Promise<UserGoalEvent[][]> {
  const judges = new Map<number, Judge>()
  for (const { events, campaigns } of users) {
    const goals = conditionalGoals(book, campaigns)
    if (goals.size === 0) continue
    const byName = new Map([...goals].map(([name, wanted]) => [name, new Judge(wanted)]))
    for (const { id, action } of events) {
      const judge = byName.get(action)
      if (judge) judges.set(id, judge)
    }
  }
  const met = new Map<number, ReadonlySet<Goal>>()
  for await (const portion of attributesOf(store, [...judges.keys()], eventsAtOnce)) {
    for (const { id, attributes } of portion) met.set(id, (judges.get(id) as Judge).judge(attributes))
    if (!(await goesOn())) break
  }
  return users.map(({ events }) => events.map((event) => ({ ...event, met: met.get(event.id) ?? NO_GOALS })))
}

/** Judges events of one name; those that meet the same goals share what says so. */
class Judge {
  readonly #goals: readonly Goal[]
  readonly #verdicts = new Map<string, ReadonlySet<Goal>>()

  constructor(goals: readonly Goal[]) {
    this.#goals = goals
  }

  /** `attributes` as JSON. */
  judge(attributes: string): ReadonlySet<Goal> {
    const values = JSON.parse(attributes) as Readonly<Record<string, unknown>>
    const isMet = this.#goals.map((goal) => meetsConditions(goal, values))
    const key = isMet.map(Number).join('')
    const known = this.#verdicts.get(key)
    if (known) return known
    const verdict = new Set(this.#goals.filter((_, index) => isMet[index]))
    this.#verdicts.set(key, verdict)
    return verdict
  }
}

/** The attributes of events, as many at a time as fit into memory. */
async function* attributesOf(store: Store, ids: readonly number[], eventsAtOnce: number) {
  for (let first = 0; first < ids.length; first += eventsAtOnce) {
    const measured = await measureAttributes(store, ids.slice(first, first + eventsAtOnce))
    for (let start = 0; start < measured.length;) {
      let end = start
      let bytes = 0
      do bytes += measured[end++]?.bytes ?? 0
      while (end < measured.length && bytes + (measured[end]?.bytes ?? 0) <= ATTRIBUTES_BYTES_MAX)
      const portion = measured.slice(start, end).map(({ id }) => id)
      yield await listAttributes(store, portion)
      start = end
    }
  }
}
