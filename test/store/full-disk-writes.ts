// Runs three transactions that wait for each other: one too large for the disk, one that throws, and an ordinary one. Prints the
// outcome of each and the rows afterwards. Arguments: the file, and which thread runs the statements.
import { sql } from 'kysely'
import { openSqliteDatabase } from '../../src/store/sqlite/sqlite-database.ts'
import { StoreError, type Database } from '../../src/store/store.ts'

export type WriteOutcome = 'written' | { reason: string; driverCode: string } | { message: string }

/** More than the test's limit, but less than the pages that SQLite keeps in memory until the commit. */
const LARGE_BYTES = 3 * 1024 * 1024

const [path = '', thread] = process.argv.slice(2)
const database = openSqliteDatabase({ path, ownThread: thread === 'own' })
await database.write(async ({ query }) => void (await sql`create table notes (text text, filling blob)`.execute(query)))
const outcomes = await Promise.all([
  outcomeOf(write(database, 'first', LARGE_BYTES)),
  outcomeOf(write(database, 'second', 0, new Error('changed its mind'))),
  outcomeOf(write(database, 'third', 0)),
])
const { rows } = await sql<{ text: string }>`select text from notes`.execute(database.query)
await database.close()
process.stdout.write(JSON.stringify({ outcomes, stored: rows.map(({ text }) => text) }))

function write(to: Database, text: string, bytes: number, failure?: Error): Promise<void> {
  return to.write(async ({ query }) => {
    await sql`insert into notes values (${text}, zeroblob(${bytes}))`.execute(query)
    if (failure) throw failure
  })
}

async function outcomeOf(writing: Promise<void>): Promise<WriteOutcome> {
  try {
    await writing
    return 'written'
  } catch (error) {
    if (error instanceof StoreError) return { reason: error.reason, driverCode: error.driverCode }
    return { message: (error as Error).message }
  }
}
