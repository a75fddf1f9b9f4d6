// Checks the staging table of message events on SQLite: readers find the facts of both tables, and no report counts twice.
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MESSAGE_KINDS, messageIdentity, type MessageEvent } from '../../../src/core/campaigns/facts.ts'
import {
  addMessageEvents,
  listMessageEvents,
  listMessageEventsOf,
  listTouches,
  moveStagedMessageEvents,
} from '../../../src/store/campaigns/message-events.ts'
import { STAGED_FACTS_MAX } from '../../../src/store/campaigns/staging-table.ts'
import type { Database } from '../../../src/store/store.ts'
import { expectIndexed, explain } from '../../support/query-plan.ts'
import { recordQueries } from '../../support/record-queries.ts'
import { describeOnPostgres, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

const ALL = Number.MAX_SAFE_INTEGER

describe('Staged message events on SQLite', () => {
  let location: TestLocation
  let database: Database

  beforeEach(async () => {
    location = await makeStore('sqlite')
    database = await openTestDatabase(location)
  })
  afterEach(async () => {
    await database.close()
    await location.remove()
  })

  const add = (...facts: MessageEvent[]) => database.write((store) => addMessageEvents(store, facts))
  const moveStaged = (max: number) => database.write((store) => moveStagedMessageEvents(store, max))
  const count = async (table: 'message_events' | 'message_events_staging') => {
    const rows = await database.query.selectFrom(table).select('customer').orderBy('customer').execute()
    return rows.map(({ customer }) => customer)
  }
  const counters = () => database.query.selectFrom('staging_tables').selectAll().execute()

  it('are all found after each step in which they are moved', async () => {
    const customers = [3, 1, 2]
    const facts = customers.flatMap((customer) => factsOf(customer))
    const pairs = customers.flatMap((customer) => [1, 2].map((campaign) => ({ customer, campaign })))
    const everything = async () => ({
      ofCustomers: (await listMessageEventsOf(database, customers)).map(messageIdentity).toSorted(),
      inCampaigns: (await listMessageEvents(database, pairs)).map(messageIdentity).toSorted(),
      touches: (
        await listTouches(
          database,
          pairs.map((pair) => ({ ...pair, from: 0, until: 1_000 })),
        )
      ).length,
      limited: (await listMessageEventsOf(database, customers, 5)).length,
    })
    await add(...facts)
    const before = await everything()
    expect(before.ofCustomers).toEqual(facts.map(messageIdentity).toSorted())
    expect(before.inCampaigns).toEqual(before.ofCustomers)
    expect([before.touches > 0, before.limited]).toEqual([true, 5])
    const left: number[] = []
    do {
      left.push(await moveStaged(5))
      expect(await everything()).toEqual(before)
      expect(await add(...facts)).toEqual(new Set())
    } while (left.at(-1) !== 0)
    expect(left.slice(0, 3)).toEqual([facts.length - 5, facts.length - 10, facts.length - 15])
    expect([(await count('message_events')).length, await count('message_events_staging')]).toEqual([facts.length, []])
  })

  it('are replaced by better reports in either table', async () => {
    await add(fact(1, { reason: 'z' }), fact(2, { reason: 'z' }))
    await moveStaged(1)
    expect([await count('message_events'), await count('message_events_staging')]).toEqual([[1], [2]])
    expect(await add(fact(1, { reason: 'a' }), fact(2, { reason: 'a' }), fact(3, { reason: 'z' }))).toHaveProperty(
      'size',
      1,
    )
    const stored = await listMessageEventsOf(database, [1, 2, 3])
    expect(stored.map(({ customer, reason }) => `${customer} ${reason}`).toSorted()).toEqual(['1 a', '2 a', '3 z'])
    expect([await count('message_events'), await count('message_events_staging')]).toEqual([[1], [2, 3]])
  })

  it('are moved in the order of customers, starting over after the last', async () => {
    await add(...[5, 3, 1, 4, 2].map((customer) => fact(customer)))
    await moveStaged(3)
    expect([await count('message_events'), await count('message_events_staging')]).toEqual([
      [1, 2, 3],
      [4, 5],
    ])
    await add(fact(1, { time: 2 }))
    // The first customer has its next turn after the last one.
    expect(await moveStaged(3)).toBe(1)
    expect(await count('message_events_staging')).toEqual([1])
    expect(await moveStaged(3)).toBe(0)
    expect(await count('message_events')).toEqual([1, 1, 2, 3, 4, 5])
  })

  it('are moved in batches even when they belong to one customer', async () => {
    await add(...Array.from({ length: 10 }, (_, time) => fact(7, { time })), fact(8))
    for (const left of [7, 4, 1]) expect(await moveStaged(4 - 1)).toBe(left + 1)
    expect(await count('message_events_staging')).toEqual([7, 8])
    expect(await moveStaged(1)).toBe(1)
    expect(await count('message_events_staging')).toEqual([8])
  })

  it('are moved when the staging table is full, at most twice as many as are added', async () => {
    const setFactCount = (facts: number) =>
      database.write(({ query }) => query.updateTable('staging_tables').set({ facts }).execute())
    await add(...Array.from({ length: 20 }, (_, index) => fact(index + 1)))
    await setFactCount(STAGED_FACTS_MAX - 2)
    await add(fact(101), fact(102))
    expect(await count('message_events')).toEqual([])
    await add(fact(103), fact(104), fact(105))
    expect(await count('message_events')).toEqual([1, 2, 3])
    expect(await counters()).toEqual([{ name: 'message_events_staging', facts: STAGED_FACTS_MAX, customer: 3 }])
    await setFactCount(STAGED_FACTS_MAX + 1_000)
    await add(fact(106), fact(107))
    expect(await count('message_events')).toEqual([1, 2, 3, 4, 5, 6, 7])
    // Repeated reports add nothing, so nothing moves.
    await add(fact(106), fact(107))
    expect(await count('message_events')).toHaveLength(7)
  })

  it('are counted exactly, and in the same transaction', async () => {
    await add(...factsOf(1), ...factsOf(2))
    await moveStaged(3)
    await add(...factsOf(2), ...factsOf(3))
    const [before] = await counters()
    expect(before?.facts).toBe((await count('message_events_staging')).length)
    const failed = database.write(async (store) => {
      await addMessageEvents(store, factsOf(4))
      await moveStagedMessageEvents(store, ALL)
      throw new Error('the batch fails')
    })
    await expect(failed).rejects.toThrow('the batch fails')
    expect(await counters()).toEqual([before])
    expect(await count('message_events_staging')).toHaveLength(before?.facts ?? 0)
  })

  it('are moved along the keys of both tables', async () => {
    await add(...Array.from({ length: 200 }, (_, index) => fact(index + 1)))
    const queries = await recordQueries(database, (store) => moveStagedMessageEvents(store, 50))
    // They find where to continue and the last fact to move, move in two statements, and count the rest.
    expect(queries).toHaveLength(5)
    for (const query of queries) expectIndexed(await explain(database, query), 'customer', 'name')
  })
})

describeOnPostgres('Message events on PostgreSQL', () => {
  it('skip the staging table, since several transactions may add the same event', async () => {
    const location = await makeStore('postgres')
    const database = await openTestDatabase(location)
    await database.write((store) => addMessageEvents(store, factsOf(1)))
    const waiting = await sql`select 1 from message_events_staging`.execute(database.query)
    expect(waiting.rows).toEqual([])
    expect(await database.write((store) => moveStagedMessageEvents(store, ALL))).toBe(0)
    expect(await listMessageEventsOf(database, [1])).toHaveLength(factsOf(1).length)
    await database.close()
    await location.remove()
  })
})

/** Two facts of each kind in each of two campaigns, in key order. */
function factsOf(customer: number): MessageEvent[] {
  return [1, 2].flatMap((campaign) => {
    return MESSAGE_KINDS.flatMap((kind) => [10, 20].map((time) => fact(customer, { campaign, kind, time })))
  })
}

function fact(customer: number, fields: Partial<MessageEvent> = {}): MessageEvent {
  const nothing = { messageId: null, reason: null }
  return { campaign: 1, customer, platform: 'EMAIL', device: 'd', kind: 'failed', time: 1, ...nothing, ...fields }
}
