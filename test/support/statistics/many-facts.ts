// Stores many facts of one user directly in the tables, without a request for each.
import { MESSAGE_KINDS, type MessageEvent, type MessageKind } from '../../../src/core/campaigns/facts.ts'
import { addMessageEvents } from '../../../src/store/campaigns/message-events.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import { findUsersWithAliases, listUserIdsAfter, type UserWithAliases } from '../../../src/store/users/users.ts'
import type { StatisticsRun } from './statistics-run.ts'
import { DAY_MS } from '../../../src/core/time-zone.ts'

const FACTS_PER_WRITE = 10_000

/** The users of a run in order of creation. */
export async function usersOf({ database, workspaceId }: StatisticsRun): Promise<UserWithAliases[]> {
  const userIds = await listUserIdsAfter(database, workspaceId, { after: 0, max: 100 })
  const users = await findUsersWithAliases(database, userIds)
  return userIds.map((userId) => users.get(userId) as UserWithAliases)
}

export interface ManyFacts {
  readonly campaigns: readonly number[]
  readonly days: number
  readonly kinds?: readonly MessageKind[]
  /** Events of each kind per day; by default one. */
  readonly perDay?: number
}

/** Adds message events of each kind on each of the first days after 1970-01-01, in each campaign. Returns how many. */
export async function addManyFacts(database: Database, user: UserWithAliases, wanted: ManyFacts): Promise<number> {
  const { campaigns, days, kinds = MESSAGE_KINDS, perDay = 1 } = wanted
  const facts: MessageEvent[] = []
  for (const campaign of campaigns) {
    for (const kind of kinds) {
      for (let nth = 0; nth < days * perDay; nth++) {
        const time = (1 + Math.floor(nth / perDay)) * DAY_MS + (nth % perDay)
        facts.push(toMessage(user, { campaign, kind, time }))
      }
    }
  }
  for (let first = 0; first < facts.length; first += FACTS_PER_WRITE) {
    const portion = facts.slice(first, first + FACTS_PER_WRITE)
    await database.write(async (store) => void (await addMessageEvents(store, portion)))
  }
  return facts.length
}

/** Removes the message events of a campaign, as only tests do. */
export async function removeMessageEvents({ query }: Store, campaign: number): Promise<void> {
  for (const table of ['message_events', 'message_events_staging'] as const) {
    await query.deleteFrom(table).where('campaign', '=', campaign).execute()
  }
}

function toMessage(
  { customers }: UserWithAliases,
  fields: Pick<MessageEvent, 'campaign' | 'kind' | 'time'>,
): MessageEvent {
  const customer = customers[0] ?? 0
  return { customer, platform: 'EMAIL', device: 'ann', messageId: null, reason: null, ...fields }
}
