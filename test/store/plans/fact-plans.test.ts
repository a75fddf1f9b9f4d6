// Checks that facts of campaigns are read and stored along the keys of their tables on every store, with any number of facts.
import { sql, type Compilable } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { MESSAGE_KINDS, type Membership, type MessageEvent } from '../../../src/core/campaigns/facts.ts'
import {
  addEvents,
  findFrequentUserIds,
  listAttributes,
  listFirstEvents,
  listNamedEvents,
  listTrackedActions,
  type StoredEvent,
} from '../../../src/store/users/events.ts'
import { measureAttributes } from '../../../src/store/users/exported-events.ts'
import { listCampaignsOfPeriods } from '../../../src/store/campaigns/campaign-activity.ts'
import { addMemberships, listMemberships, listMembershipsOf } from '../../../src/store/campaigns/memberships.ts'
import {
  addMessageEvents,
  listMessageEvents,
  listMessageEventsOf,
  listTouches,
  moveStagedMessageEvents,
} from '../../../src/store/campaigns/message-events.ts'
import { openDatabase, type DatabaseOptions } from '../../../src/store/open-database.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import { findUsersWithAliases, listUserIdsAfter, saveUsers, type User } from '../../../src/store/users/users.ts'
import {
  expectIndexed,
  explain,
  explainAsCarriedOut,
  explainInSnapshot,
  type QueryPlan,
} from '../../support/query-plan.ts'
import { recordQueries } from '../../support/record-queries.ts'
import {
  describeEachStore,
  describeOnPostgres,
  makeStore,
  openTestDatabase,
  type TestLocation,
} from '../../support/stores.ts'

/** Enough that PostgreSQL has reason to prefer an index. */
const CUSTOMERS = 4_000
const CAMPAIGNS = 5
const EVENTS = 20_000
/** PostgreSQL quotes the name. */
const TIME = '"?time"?'

describeEachStore('Facts of campaigns', (kind) => {
  let location: TestLocation
  let database: Database

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    await database.write(async (store) => {
      await addMemberships(store, everywhere(toMembership))
      await addMessageEvents(store, everywhere(toMessage))
      await moveStagedMessageEvents(store, (CUSTOMERS * CAMPAIGNS) / 2)
      await addEvents(
        store,
        Array.from({ length: EVENTS }, (_, index) => toEvent(index)),
      )
      await sql`analyze`.execute(store.query)
    })
  }, 60_000)
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  const pairs = [1, 2, 3].map((customer) => ({ customer, campaign: 2 }))
  const periods = [1, 2].map((customer) => ({ customer, from: 0, until: 1_000 }))
  const touchPeriods = periods.map((period) => ({ ...period, campaign: 2 }))
  const action = { user_id: 1, action: 'A', from: 0, until: 1_000 }
  const actions = [action, { ...action, user_id: 2 }]
  const lookups: [what: string, narrowedBy: string[], work: (store: Store) => Promise<unknown>][] = [
    ['memberships in campaigns', ['campaign'], (store) => listMemberships(store, pairs)],
    ['memberships of customers', ['customer'], (store) => listMembershipsOf(store, [1, 2, 3])],
    ['campaigns of periods', ['week'], (store) => listCampaignsOfPeriods(store, periods)],
    ['message events in campaigns', ['campaign'], (store) => listMessageEvents(store, pairs)],
    ['message events of customers', ['customer'], (store) => listMessageEventsOf(store, [1, 2, 3])],
    ['touches of periods', [TIME], (store) => listTouches(store, touchPeriods)],
    ['events of periods', [TIME], (store) => listNamedEvents(store, actions)],
    ['the sizes of attributes', ['id'], (store) => measureAttributes(store, [1, 2, 3])],
    ['attributes', ['id'], (store) => listAttributes(store, [1, 2, 3])],
    ['the names of tracked events', ['action'], (store) => listTrackedActions(store, actions)],
    ['users with many events', [TIME], (store) => findFrequentUserIds(store, actions, 9)],
    ['the first events of one name', [TIME], (store) => listFirstEvents(store, action, 9)],
  ]
  it.each(lookups)('finds %s by an index', async (_what, narrowedBy, work) => {
    const queries = await recordQueries(database, work)
    expect(queries).toHaveLength(1)
    for (const query of queries) expectIndexed(await explain(database, query), ...narrowedBy)
  })

  /** On SQLite, new message events wait in a staging table. */
  const messageTables = kind === 'sqlite' ? 2 : 1
  const additions: [what: string, narrowedBy: string[], tables: number, work: (store: Store) => Promise<unknown>][] = [
    ['memberships', ['evaluated_at'], 1, (store) => addMemberships(store, [1, 2, 3].map(betterMembership))],
    [
      'message events',
      ['message_key', TIME],
      messageTables,
      (store) => addMessageEvents(store, [1, 2, 3].map(betterMessage)),
    ],
  ]
  it.each(additions)(
    'replaces %s by better reports along the key, in few statements',
    async (_what, keys, tables, work) => {
      const queries = await recordQueries(database, work)
      // One adds all as new, one reads the existing ones, and one for each table replaces those that lose.
      expect(queries).toHaveLength(2 + tables)
      for (const query of queries.slice(1)) expectIndexed(await explain(database, query), ...keys)
    },
  )
})

describeOnPostgres('Facts in tables that were never analyzed', () => {
  const readers: [
    who: string,
    options: DatabaseOptions,
    explain: (database: Database, query: Compilable) => Promise<QueryPlan>,
  ][] = [
    ['in a snapshot', {}, explainInSnapshot],
    ['by the pipeline', { readsByIndex: true }, explainAsCarriedOut],
  ]
  it.each(readers)(
    'are found by their indexes %s, which reads a few users at a time',
    async (_who, options, explain) => {
      const location = await makeStore('postgres')
      await (await openTestDatabase(location)).close()
      const database = openDatabase(location, options)
      const customers = Array.from({ length: 500 }, (_, index) => index + 1)
      const actions = customers.map((user_id) => ({ user_id, action: 'A', from: 0, until: 1_000 }))
      const periods = customers.map((customer) => ({ customer, from: 0, until: 1_000 }))
      await database.write(async (store) => {
        for (const table of [
          'memberships',
          'message_events',
          'campaign_activity',
          'events',
          'users',
          'user_identities',
        ]) {
          await sql`alter table ${sql.table(table)} set (autovacuum_enabled = off)`.execute(store.query)
        }
        await addMemberships(store, everywhere(toMembership))
        await addMessageEvents(store, everywhere(toMessage))
        await saveUsers(store, Array.from({ length: CUSTOMERS * CAMPAIGNS }, toUser))
      })
      const queries = await recordQueries(database, async (store) => {
        await listMembershipsOf(store, customers, 80_001)
        await listMessageEventsOf(store, customers, 80_001)
        await listNamedEvents(store, actions, 80_001)
        await findUsersWithAliases(store, customers)
        await listCampaignsOfPeriods(store, periods)
      })
      expect(queries).toHaveLength(6)
      for (const query of queries) expectIndexed(await explain(database, query), 'customer', 'user_id', 'merged_into')
      const page = { after: 5, max: 200 }
      const [users] = await recordQueries(database, (store) => listUserIdsAfter(store, 'main', page))
      if (!users) throw new Error('no query was recorded')
      const plan = await explain(database, users)
      expectIndexed(plan)
      // Sorting would need all users of the workspace for every page.
      expect(plan.text).not.toContain('Sort')
      await database.close()
      await location.remove()
    },
    60_000,
  )
})

function everywhere<Fact>(toFact: (customer: number, campaign: number) => Fact): Fact[] {
  return Array.from({ length: CUSTOMERS * CAMPAIGNS }, (_, index) => {
    return toFact(Math.floor(index / CAMPAIGNS) + 1, (index % CAMPAIGNS) + 1)
  })
}

function toMembership(customer: number, campaign: number): Membership {
  const evaluatedAt = customer * 10 + campaign
  const nothing = { variation: null, locale: null, removed: null }
  return { campaign, customer, platform: 'EMAIL', evaluatedAt, group: 'global_control', ...nothing }
}

function toUser(_: unknown, index: number): User {
  return { id: index + 1, workspaceId: 'main', customerId: null, attributes: {}, emailKey: null, createdAt: 0 }
}

function betterMembership(customer: number): Membership {
  return { ...toMembership(customer, 1), group: 'target' }
}

function toMessage(customer: number, campaign: number): MessageEvent {
  const kind = MESSAGE_KINDS[customer % MESSAGE_KINDS.length] ?? 'sent'
  const time = customer * 10 + campaign
  return { campaign, customer, platform: 'EMAIL', device: 'd', kind, time, messageId: `m${time}`, reason: 'z' }
}

function betterMessage(customer: number): MessageEvent {
  return { ...toMessage(customer, 1), reason: 'a' }
}

function toEvent(index: number): StoredEvent {
  return {
    id: index + 1,
    workspaceId: 'main',
    userId: (index % CUSTOMERS) + 1,
    givenId: null,
    action: index % 2 === 0 ? 'A' : 'B',
    attributes: '{}',
    platform: null,
    appVersion: null,
    deviceId: null,
    ip: null,
    projectCode: null,
    time: index,
    receivedAt: index,
  }
}
