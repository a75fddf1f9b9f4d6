// Messages are found by their indexes, however large a run is.
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  findMessagesTo,
  searchMessages,
  type MessageTraits,
} from '../../../src/store/delivery/lists/searched-messages.ts'
import { addMessages, type FrozenMessage } from '../../../src/store/delivery/messages.ts'
import type { Database } from '../../../src/store/store.ts'
import { wantedValues } from '../../../src/store/wanted-values.ts'
import { explain, expectIndexed } from '../../support/query-plan.ts'
import { recordQueries } from '../../support/record-queries.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

const RUNS = 4
const MESSAGES = 10_000

describe('the messages of a run on SQLite', () => {
  let location: TestLocation
  let database: Database
  beforeAll(async () => {
    location = await makeStore('sqlite')
    database = await openTestDatabase(location)
  })
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  it.each([
    ['email_key', 'messages_by_address (run=? AND email_key=?)'],
    ['user_id', 'messages_by_user (user_id=? AND run=?)'],
    ['number', 'PRIMARY KEY (run=? AND number=?)'],
  ])('are found by %s without reading the run', async (column, index) => {
    const wanted = wantedValues(database, column, 'text', ['1'])
    const { rows } = await sql<{ detail: string }>`
      explain query plan select message.* from messages as message inner join ${wanted}
      on ${sql.ref(`wanted.${column}`)} = ${sql.ref(`message.${column}`)} where message.run = 1`.execute(database.query)
    expect(rows.map(({ detail }) => detail).join('; ')).toContain(index)
  })
})

describeEachStore('Messages of a run', (kind) => {
  let location: TestLocation
  let database: Database
  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    await database.write(async (store) => {
      for (let run = 1; run <= RUNS; run++) await addMessages(store, manyMessages(run))
      if (kind === 'postgres') await sql`analyze`.execute(store.query)
    })
  })
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  const range = { before: 5_000, max: 51, examinedMax: 1_000 }
  const searches: [what: string, narrowedBy: string, traits: MessageTraits][] = [
    ['a part of the id', 'number', {}],
    ['a part of the id and the state', 'number', { state: 'failed' }],
    ['a part of the id and the reason', 'number', { reason: 'gave_up' }],
    ['a group', 'number', { group: 'global_control', state: 'control' }],
  ]
  it.each(searches)('are searched by %s only in the examined range', async (_, narrowedBy, traits) => {
    const search = { ...traits, idPart: 'x', without: [1] }
    const queries = await recordQueries(database, (store) => searchMessages(store, 1, search, range))
    expect(queries.length).toBeGreaterThan(0)
    for (const query of queries) {
      const plan = await explain(database, query)
      expectIndexed(plan, narrowedBy)
      expect(plan.sorts).toBe(false)
    }
  })

  it('to a person or an address are found by index', async () => {
    const person = { userId: 7, emailKey: 'c7@shop.example' }
    const queries = await recordQueries(database, (store) => findMessagesTo(store, 1, person, {}))
    expect(queries).toHaveLength(2)
    for (const query of queries) expectIndexed(await explain(database, query), 'user_id', 'email_key')
  })
})

function manyMessages(run: number): FrozenMessage[] {
  return Array.from({ length: MESSAGES }, (_, index) => {
    const number = index + 1
    const [state, reason] = number % 10 === 0 ? (['failed', 'gave_up'] as const) : (['sent', null] as const)
    const person = { userId: number, customerId: `c${number}`, emailKey: `c${number}@shop.example` }
    return { run, number, ...person, group: 'target', variation: 'A', locale: null, state, reason }
  })
}
