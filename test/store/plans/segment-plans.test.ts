// Checks that the users of segments are found by index on every store, with any number of users and events.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { SegmentCondition } from '../../../src/core/segments/condition.ts'
import { DEFAULT_SETTINGS } from '../../../src/core/workspace.ts'
import { addCampaign } from '../../../src/store/campaigns/campaigns.ts'
import { addMessageEvents } from '../../../src/store/campaigns/message-events.ts'
import { countMatches, listMatches } from '../../../src/store/segments/matches.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import { addEvents } from '../../../src/store/users/events.ts'
import { addIdentities } from '../../../src/store/users/user-identities.ts'
import { mergeUsers, saveUsers } from '../../../src/store/users/users.ts'
import { explain, expectIndexed } from '../../support/query-plan.ts'
import { recordQueries } from '../../support/record-queries.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

/** Enough that PostgreSQL has reason to prefer an index. */
const USERS = 20_000
const MERGED = 2_000
const WORKSPACE = {
  ...DEFAULT_SETTINGS,
  id: 'main',
  name: 'Main',
  createdAt: 0,
  globalControlSeed: 'seed',
  linkKey: 'key',
}

describeEachStore('The people of segments', (kind) => {
  let location: TestLocation
  let database: Database

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    await database.write(async (store) => {
      const campaign = { id: 'c', workspaceId: 'main', name: 'c', platforms: ['EMAIL'], goals: [], createdBy: 'a' }
      await addCampaign(store, { ...campaign, createdAt: 0 })
      await addPeople(store)
      await sql`analyze`.execute(store.query)
    })
  }, 60_000)
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  const conditions: [what: string, condition: SegmentCondition][] = [
    ['an attribute', { attribute: 'plan', operator: 'is', value: 'premium' }],
    ['an event', { event: 'Order', did: true, within_days: 30 }],
    ['an event that did not happen', { event: 'Order', did: false }],
    ['a number of events', { event: 'Order', did: true, times: { exactly: 2 } }],
    ['a campaign', { campaign: 'c', did: 'click' }],
    ['a category', { preference: { category: 'news', is: true } }],
  ]
  it.each(conditions)('are found by index, with a condition on %s', async (_what, condition) => {
    for (const query of await queriesOf(condition)) {
      const columns = ['workspace_id', 'user_id', 'merged_into', 'customer', 'id', 'email_key']
      expectIndexed(await explain(database, query), ...columns)
    }
  })

  it('an event is looked up by user, name and time', async () => {
    const queries = await queriesOf({ event: 'Order', did: true, within_days: 30 })
    const plans = await Promise.all(queries.map((query) => explain(database, query)))
    const lookups = plans.flatMap(({ accesses }) => accesses.filter(({ table }) => table.startsWith('event')))
    // One for the user itself and one for those merged into it, to list and to count.
    expect(lookups).toHaveLength(4)
    for (const access of lookups) {
      expect(access.index).toContain('events_by_action')
      expect(access.condition).toMatch(/user_id.*action.*time/)
    }
  })

  async function queriesOf(condition: SegmentCondition) {
    const slice = { workspace: WORKSPACE, condition, now: 1_000_000, after: 0, max: 1_000 }
    const queries = await recordQueries(database, async (store) => {
      await listMatches(store, slice)
      await countMatches(store, slice)
    })
    // Campaigns are found by their ids; the one campaign here is no reason to use an index.
    return queries.filter((query) => !query.compile().sql.includes('from "campaigns"'))
  }
})

async function addPeople(store: Store): Promise<void> {
  const ids = Array.from({ length: USERS }, (_, index) => index + 1)
  const user = { workspaceId: 'main', customerId: null, emailKey: null, createdAt: 1, attributes: {} }
  await saveUsers(
    store,
    ids.map((id) => ({ ...user, id })),
  )
  const identity = { workspaceId: 'main', name: 'customer_id', seenAt: 1, seenNumber: null, isSingleAlias: true }
  await addIdentities(
    store,
    ids.map((id) => ({ ...identity, value: `c${id}`, userId: id, number: id })),
  )
  const event = {
    workspaceId: 'main',
    givenId: null,
    attributes: '{}',
    platform: null,
    appVersion: null,
    deviceId: null,
  }
  await addEvents(
    store,
    [...ids, ...ids].map((userId, index) => {
      const named = { ...event, id: index + 1, userId, action: index % 2 === 0 ? 'Order' : 'Opened' }
      return { ...named, ip: null, projectCode: null, time: index, receivedAt: 1 }
    }),
  )
  const fact = { campaign: 1, kind: 'click', platform: 'EMAIL', device: 'd', messageId: null, reason: null } as const
  await addMessageEvents(
    store,
    ids.map((customer) => ({ ...fact, customer, time: customer })),
  )
  await mergeUsers(
    store,
    ids.slice(0, MERGED).map((id) => ({ from: USERS - id, into: id })),
  )
}
