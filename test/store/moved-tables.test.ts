// Checks that the list of tables for `tidings move` names every table of each store.
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { DATA_TABLES, MOVED_TABLES, TABLE_TREATMENTS } from '../../src/store/moves/moved-tables.ts'
import { findNonEmptyTables } from '../../src/store/moves/table-copy.ts'
import type { Database } from '../../src/store/store.ts'
import { describeEachStore, makeStore, openTestDatabase } from '../support/stores.ts'

const TABLE_NAMES = {
  sqlite: sql<{ name: string }>`select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'`,
  postgres: sql<{ name: string }>`select tablename as name from pg_tables where schemaname = current_schema()`,
}

async function inNewDatabase(kind: 'sqlite' | 'postgres', look: (database: Database) => Promise<void>): Promise<void> {
  const location = await makeStore(kind)
  const database = await openTestDatabase(location)
  try {
    await look(database)
  } finally {
    await database.close()
    await location.remove()
  }
}

describeEachStore('The list of moved tables', (kind) => {
  it('states for every table of a new database whether it is moved', async () => {
    await inNewDatabase(kind, async (database) => {
      const { rows } = await TABLE_NAMES[kind].execute(database.query)
      expect(rows.map(({ name }) => name).toSorted()).toEqual(Object.keys(TABLE_TREATMENTS).toSorted())
    })
  })

  it('separates data tables, which are empty in a new database, from counters, which are not', async () => {
    await inNewDatabase(kind, async (database) => {
      const counters = MOVED_TABLES.filter((table) => !DATA_TABLES.includes(table))
      expect(await findNonEmptyTables(database, MOVED_TABLES)).toEqual(counters)
    })
  })
})
