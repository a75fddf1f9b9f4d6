// Counts one user from all its facts, however many these are: they are read in small portions, between which others write,
// and joined where no number tells them apart.
import { CellSum } from '../core/cells.ts'
import { Condenser } from '../core/condense.ts'
import { listTrackedActions, type NamedEventPlace, type UserAction } from '../store/events.ts'
import { listMembershipsOf } from '../store/memberships.ts'
import { pageMessageEvents, type MessageEventPlace } from '../store/message-events.ts'
import type { Store } from '../store/store.ts'
import type { Person } from '../store/users.ts'
import { addHistory } from './difference.ts'
import type { GoalBook } from './goal-books.ts'
import { pageGoalEvents, type UserGoalEvent } from './goal-events.ts'

/** Facts of one portion: reading them holds up the batches for a few milliseconds. */
const FACTS_PER_PORTION = 2_000

export interface Portions {
  readonly factsPerPortion?: number | undefined
  /** Gives the count up between two portions. */
  readonly signal?: AbortSignal | undefined
}

export interface LargeCount {
  readonly counted: CellSum
  /** How many facts that is made of. */
  readonly facts: number
}

/**
 * What a user contributes by the goals of a book; undefined when it was given up. Facts of campaigns that are not in the
 * book are left out: they were stored after it was read, by a batch that has noted that the user is to be counted.
 */
export async function countLarge(
  store: Store,
  book: GoalBook,
  person: Person,
  portions: Portions = {},
): Promise<LargeCount | undefined> {
  const isKnown = ({ campaign }: { readonly campaign: number }) => book.counted.campaigns.has(campaign)
  const memberships = (await listMembershipsOf(store, person.customers)).filter(isKnown)
  const goalEvents: UserGoalEvent[] = []
  for await (const page of goalEventsOf(store, book, person, portions)) {
    goalEvents.push(...page)
  }
  const condenser = new Condenser({ memberships, goalEvents }, book.counted.timezone)
  let facts = memberships.length + goalEvents.length
  for await (const page of messagesOf(store, person, portions)) {
    const known = page.filter(isKnown)
    for (const message of known) condenser.add(message)
    facts += known.length
  }
  if (portions.signal?.aborted) return undefined
  const counted = new CellSum()
  const history = { person, memberships, messages: condenser.messages(), goalEvents, campaigns: 'all' } as const
  addHistory(counted, book, history, 1)
  return { counted, facts }
}

/** All tracked events of a user that some goal names; fewer when it was given up. */
async function* goalEventsOf(store: Store, book: GoalBook, { userIds }: Person, portions: Portions) {
  const names = [...book.goalsOfEvent.keys()]
  const wanted = userIds.flatMap((user_id) => names.map((action): UserAction => ({ user_id, action })))
  for (const tracked of await listTrackedActions(store, wanted)) {
    yield* pagesOf<UserGoalEvent, NamedEventPlace>(portions, (page) => pageGoalEvents(store, book, tracked, page))
  }
}

async function* messagesOf(store: Store, { customers }: Person, portions: Portions) {
  for (const customer of customers) {
    yield* pagesOf(portions, (page: Page<MessageEventPlace>) => pageMessageEvents(store, customer, page))
  }
}

interface Page<Place> {
  readonly after: Place | undefined
  readonly max: number
}

/** Page after page, with a turn of the event loop between two. */
async function* pagesOf<Fact, Place>(
  { factsPerPortion = FACTS_PER_PORTION, signal }: Portions,
  read: (page: Page<Place>) => Promise<{ readonly events: Fact[]; readonly next: Place | undefined }>,
): AsyncGenerator<readonly Fact[], void, undefined> {
  let after: Place | undefined
  do {
    if (signal?.aborted) return
    const { events, next } = await read({ after, max: factsPerPortion })
    yield events
    after = next
    await new Promise(setImmediate)
  } while (after !== undefined)
}
