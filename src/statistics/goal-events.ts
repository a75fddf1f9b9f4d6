// Decides which goals tracked events meet. Keeps no attributes in memory: those of an event may be a hundred kilobytes,
// and a user may have thousands of events.
import type { GoalEvent } from '../core/campaigns/facts.ts'
import { meetsConditions, type Goal } from '../core/campaigns/goal.ts'
import { parseJsonText } from '../core/json/parse-json.ts'
import { listAttributes, type NamedEvent } from '../store/users/events.ts'
import { measureAttributes } from '../store/users/exported-events.ts'
import type { Store } from '../store/store.ts'
import { conditionalGoals, type GoalCatalog } from './goal-catalog.ts'

/** The most bytes of attributes in memory, as JSON; those of a single event may be more. */
const ATTRIBUTES_BYTES_MAX = 4 * 1024 * 1024
/** Events per statement. */
const EVENTS_AT_ONCE = 5_000

/** A goal event of one user. */
export interface UserGoalEvent extends GoalEvent, NamedEvent {}

/** Events of one user and the campaigns whose goals they may meet: only those with facts of the user. */
export interface Unjudged {
  readonly events: readonly NamedEvent[]
  readonly campaigns: Iterable<number>
}

const NO_GOALS: GoalEvent['met'] = new Set<Goal>()

/**
 * Returns the events of several users with the goals they meet, in the order of the users. Reads only attributes of
 * events whose name has a goal with conditions in one of the campaigns, a few megabytes at a time.
 */
export async function judgeEvents(
  store: Store,
  catalog: GoalCatalog,
  users: readonly Unjudged[],
): Promise<UserGoalEvent[][]> {
  const verdicts = new Verdicts(catalog, users)
  for await (const portion of attributesOf(store, verdicts.ids)) verdicts.add(portion)
  return verdicts.of(users)
}

/** The same for several users at once. Returns undefined when their attributes exceed the bytes allowed in memory. */
export async function judgeAtOnce(
  store: Store,
  catalog: GoalCatalog,
  users: readonly Unjudged[],
): Promise<UserGoalEvent[][] | undefined> {
  const verdicts = new Verdicts(catalog, users)
  const portions: (readonly number[])[] = []
  for (let first = 0; first < verdicts.ids.length; first += EVENTS_AT_ONCE) {
    portions.push(verdicts.ids.slice(first, first + EVENTS_AT_ONCE))
  }
  let bytes = 0
  for (const portion of portions) {
    for (const measured of await measureAttributes(store, portion)) bytes += measured.bytes
    if (bytes > ATTRIBUTES_BYTES_MAX) return undefined
  }
  for (const portion of portions) verdicts.add(await listAttributes(store, portion))
  return verdicts.of(users)
}

/** The goals met so far by the events of several users. */
class Verdicts {
  /** The events whose attributes must be read. */
  readonly ids: readonly number[]
  readonly #judges: ReadonlyMap<number, Judge>
  readonly #met = new Map<number, GoalEvent['met']>()

  constructor(catalog: GoalCatalog, users: readonly Unjudged[]) {
    this.#judges = findJudges(catalog, users)
    this.ids = [...this.#judges.keys()]
  }

  add(looked: readonly { readonly id: number; readonly attributes: string }[]): void {
    for (const { id, attributes } of looked) this.#met.set(id, (this.#judges.get(id) as Judge).judge(attributes))
  }

  of(users: readonly Unjudged[]): UserGoalEvent[][] {
    return users.map(({ events }) => {
      return events.map((event) => ({ ...event, met: this.#met.get(event.id) ?? NO_GOALS }))
    })
  }
}

/** Event id → its judge, for events whose name has a goal with conditions in one of the campaigns of their user. */
function findJudges(catalog: GoalCatalog, users: readonly Unjudged[]): Map<number, Judge> {
  const judges = new Map<number, Judge>()
  for (const { events, campaigns } of users) {
    const goals = conditionalGoals(catalog, campaigns)
    if (goals.size === 0) continue
    const byName = new Map([...goals].map(([name, wanted]) => [name, new Judge(wanted)]))
    for (const { id, action } of events) {
      const judge = byName.get(action)
      if (judge) judges.set(id, judge)
    }
  }
  return judges
}

/** Judges the events of one name. Events that meet the same goals share a verdict. */
class Judge {
  readonly #goals: readonly Goal[]
  readonly #indexes: ReadonlyMap<Goal, number>
  readonly #verdicts = new Map<string, Verdict>()

  constructor(goals: readonly Goal[]) {
    this.#goals = goals
    this.#indexes = new Map(goals.map((goal, index) => [goal, index]))
  }

  /** `attributes` is JSON. */
  judge(attributes: string): Verdict {
    const values = parseJsonText(attributes) as Readonly<Record<string, unknown>>
    const bits = new Uint8Array(Math.ceil(this.#goals.length / BITS))
    for (const [index, goal] of this.#goals.entries()) {
      if (!meetsConditions(goal, values)) continue
      const byte = index >> BITS_SHIFT
      bits[byte] = (bits[byte] as number) | (1 << (index % BITS))
    }
    const text = Buffer.from(bits).toString('latin1')
    const verdict = this.#verdicts.get(text) ?? new Verdict(this.#indexes, text)
    this.#verdicts.set(text, verdict)
    return verdict
  }
}

const BITS = 8
const BITS_SHIFT = 3

/**
 * The goals that an event meets, one bit each: there may be thousands of goals, and thousands of events that meet
 * different ones.
 */
class Verdict {
  readonly #indexes: ReadonlyMap<Goal, number>
  readonly #bits: string

  /** `bits` holds eight bits per character. */
  constructor(indexes: ReadonlyMap<Goal, number>, bits: string) {
    this.#indexes = indexes
    this.#bits = bits
  }

  has(goal: Goal): boolean {
    const index = this.#indexes.get(goal)
    return index !== undefined && ((this.#bits.charCodeAt(index >> BITS_SHIFT) >> (index % BITS)) & 1) === 1
  }
}

/** Reads the attributes of events in portions that fit into memory. */
async function* attributesOf(store: Store, ids: readonly number[]) {
  for (let first = 0; first < ids.length; first += EVENTS_AT_ONCE) {
    const measured = await measureAttributes(store, ids.slice(first, first + EVENTS_AT_ONCE))
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
