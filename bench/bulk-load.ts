// Fills a store with months of campaigns in minutes, without HTTP, log and pipeline, and produces the same tables. It inserts facts
// with the store's own functions, in the order of their keys and in few large transactions; the statistics are the sum of
// `contributions` over all people, added once at the end. `tidings statistics verify` finds no difference afterwards.
//
// Facts are inserted in two rounds: those of the earlier campaigns, then those of the later ones. The facts of the second round go
// between those of the first, so the pages of the file are about as full as in a store that grew day by day. After a single round
// every page would be full, and every later insert would split one.
//
// Memory holds the people of one transaction and the sum of all cells, whose number does not depend on the number of people. Users
// and events get numbers as if log entries from `FIRST_POSITION` on had created them. The store must not be open elsewhere. A
// failure in the middle leaves facts without statistics, which `statistics rebuild` would count.
import { createWorkspace, type NewWorkspace } from '../src/actions/create-workspace.ts'
import { CellSum } from '../src/core/statistics/cells.ts'
import { contributions } from '../src/core/statistics/contributions.ts'
import { EVENTS_PER_ENTRY_MAX } from '../src/core/event.ts'
import { hasConditions, meetsConditions, type Goal } from '../src/core/campaigns/goal.ts'
import type { Rules } from '../src/core/statistics/rules.ts'
import { CUSTOMER_ID } from '../src/core/users/user.ts'
import { raiseVersion } from '../src/operations/campaigns/change-goals.ts'
import { GoalCatalogs } from '../src/statistics/goal-catalog.ts'
import { addCampaign, lockCampaigns } from '../src/store/campaigns/campaigns.ts'
import { addEvents, type StoredEvent } from '../src/store/users/events.ts'
import { addMemberships } from '../src/store/campaigns/memberships.ts'
import { addMessageEvents } from '../src/store/campaigns/message-events.ts'
import { migrate } from '../src/store/migrations.ts'
import { openDatabase } from '../src/store/open-database.ts'
import { addCells } from '../src/store/statistics/statistics.ts'
import type { Database, Store } from '../src/store/store.ts'
import { addIdentities } from '../src/store/users/user-identities.ts'
import { saveUsers } from '../src/store/users/users.ts'
import { CAMPAIGNS, GOALS, makePerson, TIMEZONE, type MadeEvent, type MadePerson } from './population.ts'

/**
 * People of one transaction, with some ten message events each. With more, V8 would move the garbage of a transaction to the old
 * generation.
 */
const PEOPLE_PER_WRITE = 1_000
/** Far beyond the positions that a server on this store will use. */
const FIRST_POSITION = 1_000_000
const ITEMS_PER_ENTRY = 1_000
/** Before all events of the people. */
const RECEIVED_AT = Date.parse('2026-04-30T00:00:00Z')
const LOAD_CACHE_KIB = 64 * 1024

export interface LoadOrder {
  readonly workspaceId: string
  /** At least this many message events: the last person is added with all of theirs. */
  readonly messageEvents: number
}

export interface Loaded {
  /** In the order of their numbers. */
  readonly campaignIds: readonly string[]
  readonly people: number
  readonly messageEvents: number
  /** Memberships, message events and goal events. */
  readonly facts: number
}

/** The workspace of a filled store, and what it holds. */
export interface FilledStore {
  readonly workspace: NewWorkspace
  readonly loaded: Loaded
}

/** Makes a store in an existing directory with at least so many message events; `more` adds what else a bench needs. */
export async function fillStore(
  dataDir: string,
  messageEvents: number,
  more: (database: Database, loaded: Loaded) => Promise<void> = async () => {},
): Promise<FilledStore> {
  const database = openDatabase({ dataDir, databaseUrl: undefined }, { durable: false, pageCacheKib: LOAD_CACHE_KIB })
  try {
    await migrate(database, Date.now())
    const workspace = await createWorkspace(database, 'bench', { timezone: TIMEZONE }, Date.now())
    const loaded = await bulkLoad(database, { workspaceId: workspace.id, messageEvents })
    await more(database, loaded)
    return { workspace, loaded }
  } finally {
    // The last connection to close moves the write-ahead log into the file.
    await database.close()
  }
}

/** Creates the campaigns of the bench in a workspace without campaigns, and people until there are enough message events. */
export async function bulkLoad(database: Database, { workspaceId, messageEvents }: LoadOrder): Promise<Loaded> {
  const campaignIds = await database.write((store) => addCampaigns(store, workspaceId))
  const book = await new GoalCatalogs().open(database, workspaceId)
  if (!book) throw new Error(`${workspaceId} has no campaigns after they were made`)
  const loader = new Loader(book.counted)
  while (loader.messageEvents < messageEvents) {
    const made = loader.makePeople(messageEvents)
    await database.write(async (store) => {
      await saveNames(store, workspaceId, made)
      await saveFacts(store, made, isEarly)
      await addEvents(
        store,
        made.flatMap((person) => person.orders.map((event) => toStored(event, person, workspaceId))),
      )
    })
  }
  for (let first = 0; first < loader.people; first += PEOPLE_PER_WRITE) {
    const last = Math.min(first + PEOPLE_PER_WRITE, loader.people)
    const again = Array.from({ length: last - first }, (_, index) => makePerson(first + index, numberOf(first + index)))
    await database.write((store) => saveFacts(store, again, (fact) => !isEarly(fact)))
  }
  await database.write((store) => addCells(store, loader.sum))
  const { people, facts } = loader
  return { campaignIds, people, messageEvents: loader.messageEvents, facts }
}

async function addCampaigns(store: Store, workspaceId: string): Promise<string[]> {
  await lockCampaigns(store, workspaceId)
  const ids: string[] = []
  for (let number = 1; number <= CAMPAIGNS; number++) {
    const name = `campaign-${number}`
    const made = {
      id: name,
      workspaceId,
      name,
      platforms: [],
      goals: GOALS,
      createdBy: 'bench',
      createdAt: RECEIVED_AT,
    }
    const campaign = await addCampaign(store, made)
    if (campaign.number !== number) throw new Error('the store had campaigns before')
    ids.push(campaign.id)
  }
  await raiseVersion(store, workspaceId)
  return ids
}

/** A person with its user id, which is also the number of its customer id. */
interface NumberedPerson extends MadePerson {
  readonly number: number
  readonly orders: readonly NumberedEvent[]
}

type NumberedEvent = MadeEvent & { readonly id: number }

class Loader {
  readonly sum = new CellSum()
  people = 0
  messageEvents = 0
  facts = 0
  readonly #rules: Rules
  readonly #goals: readonly Goal[]
  #orders = 0

  constructor(rules: Rules) {
    this.#rules = rules
    this.#goals = [...rules.campaigns.values()].flatMap(({ goals }) => goals)
  }

  /** Creates the people of one transaction, fewer if the message events are enough, and adds them to the sum. */
  makePeople(messageEvents: number): NumberedPerson[] {
    const made: NumberedPerson[] = []
    while (made.length < PEOPLE_PER_WRITE && this.messageEvents < messageEvents) {
      const number = numberOf(this.people)
      const { customerId, memberships, messages, orders: unnumbered } = makePerson(this.people, number)
      const orders = unnumbered.map((order) => ({ id: numberOf(this.#orders++), ...order }))
      const goalEvents = orders.map((order) => ({
        ...order,
        met: new Set(this.#goals.filter((goal) => isMet(goal, order))),
      }))
      this.sum.addAll(contributions({ memberships, messages, goalEvents }, this.#rules))
      this.people++
      this.messageEvents += messages.length
      this.facts += memberships.length + messages.length + orders.length
      made.push({ number, customerId, memberships, messages, orders })
    }
    return made
  }
}

function isMet(goal: Goal, { action, attributes }: MadeEvent): boolean {
  return hasConditions(goal) && goal.event === action && meetsConditions(goal, attributes)
}

function isEarly({ campaign }: { readonly campaign: number }): boolean {
  return campaign <= CAMPAIGNS / 2
}

async function saveNames(store: Store, workspaceId: string, people: readonly NumberedPerson[]): Promise<void> {
  const users = people.map(({ number: id, customerId }) => {
    return { id, workspaceId, customerId, attributes: {}, emailKey: null, createdAt: RECEIVED_AT }
  })
  const identities = people.map(({ number, customerId: value }) => {
    const seen = { seenAt: RECEIVED_AT, seenNumber: null }
    return { workspaceId, name: CUSTOMER_ID, value, userId: number, ...seen, number, isSingleAlias: true }
  })
  await saveUsers(store, users)
  await addIdentities(store, identities)
}

/** Saves the facts of people in the campaigns of one round. */
async function saveFacts(
  store: Store,
  people: readonly Pick<MadePerson, 'memberships' | 'messages'>[],
  isOfRound: (fact: { readonly campaign: number }) => boolean,
): Promise<void> {
  const memberships = people.flatMap((person) => person.memberships.filter(isOfRound))
  const messages = people.flatMap((person) => person.messages.filter(isOfRound))
  await addMemberships(store, memberships)
  await addMessageEvents(store, messages)
}

/** The number of the user or event with this index. */
export function numberOf(index: number): number {
  const position = FIRST_POSITION + Math.floor(index / ITEMS_PER_ENTRY)
  return position * EVENTS_PER_ENTRY_MAX + (index % ITEMS_PER_ENTRY)
}

function toStored(event: NumberedEvent, { number, customerId }: NumberedPerson, workspaceId: string): StoredEvent {
  return {
    id: event.id,
    workspaceId,
    userId: number,
    givenId: null,
    action: event.action,
    attributes: JSON.stringify(event.attributes),
    platform: 'WEB',
    appVersion: null,
    deviceId: customerId,
    ip: null,
    projectCode: null,
    time: event.time,
    receivedAt: event.time,
  }
}
