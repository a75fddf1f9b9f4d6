// Counts one user from all its facts, however many these are: they are read in small portions, between which others write,
// and joined where no number tells them apart.
import { CellSum } from '../core/cells.ts'
import { Condenser } from '../core/condense.ts'
import {
  listTrackedActions,
  pageNamedEvents,
  type NamedEvent,
  type NamedEventPlace,
  type UserAction,
} from '../store/events.ts'
import { listMembershipsOf } from '../store/memberships.ts'
import { pageMessageEvents, type MessageEventPlace } from '../store/message-events.ts'
import type { Store } from '../store/store.ts'
import type { Person } from '../store/users.ts'
import { addHistory } from './difference.ts'
import type { GoalBook } from './goal-books.ts'
import { judgeEvents } from './goal-events.ts'

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
  const named: NamedEvent[] = []
  for await (const page of namedEventsOf(store, book, person, portions)) named.push(...page)
  const condenser = new Condenser({ memberships, goalEvents: named }, book.counted.timezone)
  const campaigns = new Set(memberships.map(({ campaign }) => campaign))
  let facts = memberships.length + named.length
  for await (const page of messagesOf(store, person, portions)) {
    const known = page.filter(isKnown)
    for (const message of known) {
      condenser.add(message)
      campaigns.add(message.campaign)
    }
    facts += known.length
  }
  const [goalEvents = []] = await judgeEvents(store, book, [{ events: named, campaigns }], {
    eventsAtOnce: portions.factsPerPortion ?? FACTS_PER_PORTION,
    goesOn: () => goesOn(portions),
  })
  if (portions.signal?.aborted) return undefined
  const counted = new CellSum()
  const history = { person, memberships, messages: condenser.messages(), goalEvents, campaigns: 'all' } as const
  addHistory(counted, book, history, 1)
  return { counted, facts }
}

/** All tracked events of a user that some goal names; fewer when it was given up. */
async function* namedEventsOf(store: Store, book: GoalBook, { userIds }: Person, portions: Portions) {
  const names = [...book.eventNames]
  const wanted = userIds.flatMap((user_id) => names.map((action): UserAction => ({ user_id, action })))
  for (const tracked of await listTrackedActions(store, wanted)) {
    yield* pagesOf<NamedEvent, NamedEventPlace>(portions, (page) => pageNamedEvents(store, tracked, page))
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
    const { events, next } = await read({ after, max: factsPerPortion })
    yield events
    after = next
  } while ((await goesOn({ signal })) && after !== undefined)
}

/** A turn of the event loop for others; false when the count is to be given up. */
async function goesOn({ signal }: Portions): Promise<boolean> {
  await new Promise(setImmediate)
  return !signal?.aborted
}
