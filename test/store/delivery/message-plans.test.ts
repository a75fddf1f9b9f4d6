// SQLite finds messages by their indexes, however large a run is.
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../../src/store/store.ts'
import { wantedValues } from '../../../src/store/wanted-values.ts'
import { makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

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
