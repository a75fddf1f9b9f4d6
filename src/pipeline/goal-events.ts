// Tracked events that goals name, and which goals each of them meets. Nothing else of them stays in memory: what an event says
// of itself may be a hundred kilobytes, and a user may have thousands of events.
import type { GoalEvent } from '../core/facts.ts'
import { goalsMet, type Goal } from '../core/goal.ts'
import {
  listAttributes,
  listNamedEvents,
  measureAttributes,
  pageNamedEvents,
  type ActionPeriod,
  type NamedEvent,
  type NamedEventPlace,
  type UserAction,
} from '../store/events.ts'
import type { Store } from '../store/store.ts'
import type { GoalBook } from './goal-books.ts'

/** Attributes that are in memory at one time, as JSON; of one event also more. */
const ATTRIBUTES_BYTES_MAX = 4 * 1024 * 1024
/** Events whose attributes are measured by one statement. */
const MEASURED_MAX = 5_000

/** A goal event of one user. */
export interface UserGoalEvent extends GoalEvent {
  readonly userId: number
}

/** The events of the given names, users and periods that meet a goal. */
export async function listGoalEvents(
  store: Store,
  book: GoalBook,
  periods: readonly ActionPeriod[],
): Promise<UserGoalEvent[]> {
  return judge(store, book, await listNamedEvents(store, periods))
}

/** Those that meet a goal among a page of the events of one name, by time, and where the next begins; undefined after the last. */
export async function pageGoalEvents(
  store: Store,
  book: GoalBook,
  tracked: UserAction,
  page: { readonly after: NamedEventPlace | undefined; readonly max: number },
): Promise<{ readonly events: UserGoalEvent[]; readonly next: NamedEventPlace | undefined }> {
  const { events, next } = await pageNamedEvents(store, tracked, page)
  return { events: await judge(store, book, events), next }
}

/** The goals that an event meets whose attributes are at hand, as JSON. */
export function goalsMetBy(
  book: GoalBook,
  { action, attributes }: { readonly action: string; readonly attributes: string },
): ReadonlySet<Goal> {
  const goals = goalsOn(book, action)
  if (!hasConditions(goals)) return goals
  const met = goalsMet(goals, { action, attributes: JSON.parse(attributes) as Readonly<Record<string, unknown>> })
  // Most events meet all goals on their name, and share what says so.
  return met.size === goals.size ? goals : met
}

/** Looks into those events only on whose name a goal has conditions. */
async function judge(store: Store, book: GoalBook, events: readonly NamedEvent[]): Promise<UserGoalEvent[]> {
  const unclear = new Map<number, NamedEvent>()
  for (const event of events) if (hasConditions(goalsOn(book, event.action))) unclear.set(event.id, event)
  const met = new Map<number, ReadonlySet<Goal>>()
  for await (const { id, attributes } of attributesOf(store, [...unclear.keys()])) {
    const { action } = unclear.get(id) as NamedEvent
    met.set(id, goalsMetBy(book, { action, attributes }))
  }
  const judged = events.map((event) => ({ ...event, met: met.get(event.id) ?? goalsOn(book, event.action) }))
  return judged.filter((event) => event.met.size > 0)
}

/** The attributes of events, as many at a time as fit into memory. */
async function* attributesOf(store: Store, ids: readonly number[]) {
  for (let first = 0; first < ids.length; first += MEASURED_MAX) {
    const measured = await measureAttributes(store, ids.slice(first, first + MEASURED_MAX))
    for (let start = 0; start < measured.length;) {
      let end = start
      let bytes = 0
      do bytes += measured[end++]?.bytes ?? 0
      while (end < measured.length && bytes + (measured[end]?.bytes ?? 0) <= ATTRIBUTES_BYTES_MAX)
      const portion = measured.slice(start, end).map(({ id }) => id)
      yield* await listAttributes(store, portion)
      start = end
    }
  }
}

const NO_GOALS: ReadonlySet<Goal> = new Set()

function goalsOn({ goalsOfEvent }: GoalBook, action: string): ReadonlySet<Goal> {
  return goalsOfEvent.get(action) ?? NO_GOALS
}

function hasConditions(goals: ReadonlySet<Goal>): boolean {
  for (const { where } of goals) if (where.length > 0) return true
  return false
}
