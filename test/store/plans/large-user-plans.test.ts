// How large users are looked up: by index on every store, and without their cells where only those waiting are wanted.
import { sql, type Compilable } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  findKeptUserIds,
  removeKeptSeries,
  saveKeptSeries,
  streamKeptSeries,
  type KeptSeries,
} from '../../../src/store/statistics/kept-series.ts'
import {
  findLargeHistories,
  findLargeUserIds,
  hasLargeToRecount,
  removeLargeHistories,
  saveLargeHistories,
} from '../../../src/store/statistics/large-histories.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import {
  endCounting,
  findLongestWaiting,
  findOldestUncounted,
  findUncountedUsers,
  markCounting,
  markWaiting,
  removeUncountedUsers,
} from '../../../src/store/statistics/uncounted-users.ts'
import { expectEnteredAt, explain, expectIndexed } from '../../support/query-plan.ts'
import { recordQueries } from '../../support/record-queries.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestPlace } from '../../support/stores.ts'

/** So many that PostgreSQL has reason to prefer an index. */
const USERS = 20_000
const WORKSPACES = 4

describeEachStore('Large users', (kind) => {
  let place: TestPlace
  let database: Database

  beforeAll(async () => {
    place = await makeStore(kind)
    database = await openTestDatabase(place)
    await database.write(async (store) => {
      const userIds = Array.from({ length: USERS }, (_, index) => index + 1)
      await saveLargeHistories(store, userIds.map(toHistory))
      await saveKeptSeries(
        store,
        userIds.map((userId) => toKept(userId)),
      )
      await markWaiting(
        store,
        userIds.map((userId) => ({ userId, since: userId })),
      )
      await sql`analyze`.execute(store.query)
    })
  }, 60_000)
  afterAll(async () => {
    await database.close()
    await place.remove()
  })

  // `id` is also what SQLite calls any row's own number.
  const byUser = ['user_id', 'id']
  const lookups: [what: string, narrowedBy: string[], work: (store: Store) => Promise<unknown>][] = [
    ['who of users is large', byUser, (store) => findLargeUserIds(store, [1, 2])],
    ['what is kept of users', byUser, (store) => findLargeHistories(store, [1, 2])],
    ['whether there is one to recount', ['pending_generation'], (store) => hasLargeToRecount(store, 'w1', 3)],
    ['what is to be forgotten', byUser, (store) => removeLargeHistories(store, [1, 2])],
    ['of whom anything is kept', byUser, (store) => findKeptUserIds(store, [1, 2])],
    ['what is kept of campaigns', ['campaign'], (store) => firstOf(streamKeptSeries(store, 1, { after: 2, until: 5 }))],
    ['series to be forgotten', ['user_id', 'campaign'], (store) => removeKeptSeries(store, [toKept(1)])],
    ['who of users waits', byUser, (store) => findUncountedUsers(store, [1, 2])],
    ['a user to be counted', byUser, (store) => markCounting(store, 3)],
    ['a user that is counted', byUser, (store) => endCounting(store, 3)],
    ['who is not to wait', byUser, (store) => removeUncountedUsers(store, [1, 2])],
  ]
  it.each(lookups)('finds %s by an index', async (_what, narrowedBy, work) => {
    const queries = await recordQueries(database, work)
    expect(queries.length).toBeGreaterThan(0)
    for (const query of queries) expectIndexed(await explain(database, query), ...narrowedBy)
  })

  it('enters what is kept of campaigns where a page begins, and reads on in their order', async () => {
    const kept = Array.from({ length: 150 }, (_, index) => toKept(USERS + 1, index))
    await database.write((store) => saveKeptSeries(store, kept))
    const pages = await recordQueries(database, async (store) => {
      for await (const page of streamKeptSeries(store, USERS + 1, { after: 2, until: 999 }))
        expect(page).not.toEqual([])
    })
    expect(pages).toHaveLength(2)
    expectEnteredAt(await explain(database, pages[1] as Compilable), 'campaign, generation, name')
  })

  const looks: [what: string, work: (store: Store) => Promise<unknown>][] = [
    ['who waits longest', (store) => findLongestWaiting(store, [])],
    ['since when something waits', findOldestUncounted],
  ]
  it.each(looks)('sees %s from those alone who wait', async (_what, work) => {
    const [query, ...others] = await recordQueries(database, work)
    if (!query) throw new Error('nothing was asked')
    expect(others).toEqual([])
    const { accesses } = await explain(database, query)
    expect(accesses.map(({ table }) => table)).toEqual(['uncounted_users'])
  })
})

async function firstOf<Page>(pages: AsyncGenerator<Page>): Promise<void> {
  await pages.next()
}

function toKept(userId: number, campaign = 3): KeptSeries {
  const place = { platform: '', locale: '', variation: '' }
  return { userId, series: { campaign, generation: 0, group: '', metric: 'sent', ...place }, cells: '[1,0,1,1]' }
}

function toHistory(userId: number) {
  return { userId, workspaceId: `w${userId % WORKSPACES}`, pendingGeneration: 3, version: 1 }
}
