// Checks that events are read and users merged by index on every store, with any number of events.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  addEvents,
  findLastEventTime,
  listIdsOfNewest,
  listEventsOf,
  type StoredEvent,
} from '../../../src/store/users/events.ts'
import { findEventNames, searchEvents } from '../../../src/store/event-lists/listed-events.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import { saveIdentities } from '../../../src/store/users/user-identities.ts'
import { mergeUsers, saveUsers } from '../../../src/store/users/users.ts'
import { explain, expectIndexed, narrowsBy } from '../../support/query-plan.ts'
import { recordQueries } from '../../support/record-queries.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

/** Enough that PostgreSQL has reason to prefer an index. */
const EVENTS = 40_000
const USERS = 20_000
/** How many users, the last ones, are already merged into others. */
const MERGED = 10_000
/** Events of another workspace, which has few of all. */
const THEIRS = 2_000
const MANY = Array.from({ length: 150 }, (_, index) => index + 1)

describeEachStore('Events of users', (kind) => {
  let location: TestLocation
  let database: Database

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    await database.write(async (store) => {
      await addUsersWithEvents(store)
      await sql`analyze`.execute(store.query)
    })
  }, 60_000)
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  const before = { time: 5_000, id: 5_000 }
  const lists: [what: string, work: (store: Store) => Promise<unknown>][] = [
    ['the newest events of one user', (store) => listEventsOf(store, [1], { before: undefined, max: 51 })],
    ['a further page of one user', (store) => listEventsOf(store, [1], { before, max: 51 })],
    ['a page of a merged user', (store) => listEventsOf(store, [1, 2, 3], { before, max: 51 })],
    ['the ids with the newest events among very many', (store) => listIdsOfNewest(store, MANY, { before, max: 1 })],
    ['a page of the events of one name', (store) => listEventsOf(store, [1], { action: 'A', before, max: 51 })],
    ['the last event of a merged user', (store) => findLastEventTime(store, [1, 2, 3])],
  ]
  it.each(lists)('finds %s by index, without sorting', async (_what, work) => {
    for (const query of await recordQueries(database, work)) {
      const plan = await explain(database, query)
      expectIndexed(plan, 'user_id', 'id')
      expect(plan).toMatchObject({ sorts: false })
    }
  })

  it('enters the index of events at the start of a page', async () => {
    const [walk] = await recordQueries(database, (store) => listEventsOf(store, [1], { before, max: 51 }))
    if (!walk) throw new Error('no query was recorded')
    const { accesses } = await explain(database, walk)
    expect(accesses).toHaveLength(1)
    // PostgreSQL compares the pair in the index; SQLite compares the time there, and the id row by row.
    expect(accesses[0]?.condition).toMatch(/user_id.*time.*</)
  })

  it('reads the events of many users in few statements', async () => {
    const ids = Array.from({ length: 250 }, (_, index) => index + 1)
    const queries = await recordQueries(database, (store) => listEventsOf(store, ids, { before, max: 10 }))
    // One finds the ids, one walks the index, and one reads the events.
    expect(queries).toHaveLength(3)
  })

  it('walks the index only for those of thousands of users who have the newest events', async () => {
    const ids = Array.from({ length: 4_000 }, (_, index) => index + 1)
    const page = { before, max: 10 }
    expect(await recordQueries(database, (store) => listEventsOf(store, ids, page))).toHaveLength(4)
    const events = await listEventsOf(database, ids, page)
    expect(events.map(({ time }) => time)).toEqual(Array.from({ length: 10 }, (_, index) => 3_999 - index))
    expect(await listEventsOf(database, ids, { before: { time: 1, id: 0 }, max: 10 })).toHaveLength(1)
  })

  const own = { workspaceId: 'small' }
  const range = { before: EVENTS + THEIRS, max: 51, examinedMax: 10_000 }
  const [tv, named] = [
    { ...own, platform: 'TV' },
    { ...own, action: 'A' },
  ]
  const names = { prefix: 'A', after: 'A0', max: 101 }
  const received: [what: string, index: string, work: (store: Store) => Promise<unknown>][] = [
    ['all events of a workspace', 'events_by_receipt', (store) => searchEvents(store, own, range)],
    ['those of one name', 'events_by_name', (store) => searchEvents(store, named, { ...range, before: 2 })],
    ['those of a platform that no event has', 'events_by_receipt', (store) => searchEvents(store, tv, range)],
    ['the names of events', 'events_by_name', (store) => findEventNames(store, 'small', names)],
  ]
  it.each(received)('lists %s along %s, without sorting', async (_what, index, work) => {
    for (const query of await recordQueries(database, work)) {
      const { accesses, sorts, text } = await explain(database, query)
      const ways = accesses.filter(({ table }) => table === 'event')
      // PostgreSQL may as well sort the few that there are.
      const indexes = kind === 'sqlite' ? [index] : ['events_by_name', 'events_by_receipt']
      const others = ways.filter((way) => !indexes.includes(way.index ?? '') || !narrowsBy(way, 'workspace_id'))
      expect({ isRead: ways.length > 0, others, text }).toEqual({ isRead: true, others: [], text })
      // The names of a page are sorted by their number.
      expect({ sorts: sorts && !text.includes('names'), text }).toEqual({ sorts: false, text })
    }
  })

  it('merges users by index, in as many statements for a hundred as for one', async () => {
    const merges = Array.from({ length: 100 }, (_, index) => ({ from: USERS - MERGED - index, into: index + 1 }))
    const queries = await recordQueries(database, (store) => mergeUsers(store, merges))
    expect(queries).toHaveLength(3)
    for (const query of queries) {
      const { accesses, text } = await explain(database, query)
      const whole = accesses.filter((access) => !['merged_into', 'id', 'user_id'].some((key) => narrowsBy(access, key)))
      expect({ whole, text }).toEqual({ whole: [], text })
    }
  })
})

async function addUsersWithEvents(store: Store): Promise<void> {
  const ids = Array.from({ length: USERS }, (_, index) => index + 1)
  const users = ids.map((id) => {
    return { id, workspaceId: 'main', customerId: `c${id}`, attributes: {}, emailKey: null, createdAt: 1 }
  })
  await saveUsers(store, users)
  await saveIdentities(
    store,
    users.map(({ id, customerId: value }) => ({
      workspaceId: 'main',
      name: 'customer_id',
      value,
      userId: id,
      seenAt: 1,
      number: null,
      seenNumber: null,
      isSingleAlias: false,
    })),
  )
  const merged = Array.from({ length: MERGED }, (_, index) => ({ from: USERS - index, into: index + 1 }))
  await mergeUsers(store, merged)
  const events = Array.from({ length: EVENTS + THEIRS }, (_, index): StoredEvent => {
    return {
      id: index + 1,
      workspaceId: index < EVENTS ? 'main' : 'small',
      userId: index < EVENTS ? (index % USERS) + 1 : USERS + 1,
      givenId: null,
      action: 'A',
      attributes: '{}',
      platform: null,
      appVersion: null,
      deviceId: null,
      ip: null,
      projectCode: null,
      time: index,
      receivedAt: index,
    }
  })
  await addEvents(store, events)
}
