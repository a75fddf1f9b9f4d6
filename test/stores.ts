// Runs a suite over every store: SQLite always; PostgreSQL where one is found, otherwise the suite says so and is skipped.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { describe } from 'vitest'
import { migrate } from '../src/store/migrations.ts'
import { openDatabase, type DatabasePlace } from '../src/store/open-database.ts'
import type { Database } from '../src/store/store.ts'

export type StoreKind = 'sqlite' | 'postgres'

const DEFAULT_URL = 'postgres://postgres@127.0.0.1:5432/postgres'
const CONNECT_WAIT_MS = 2_000

/** Where PostgreSQL answers; undefined when there is none. */
async function findPostgres(): Promise<string | undefined> {
  const url = process.env['TEST_DATABASE_URL'] ?? DEFAULT_URL
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_WAIT_MS })
  try {
    await client.connect()
    await client.end()
    return url
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    if (process.env['REQUIRE_POSTGRES'] === '1') {
      throw new Error(`PostgreSQL is required and not there: ${reason}`, { cause: error })
    }
    process.stderr.write(`skipped on PostgreSQL: none answers (${reason}); set TEST_DATABASE_URL\n`)
    return undefined
  }
}

const postgresUrl = await findPostgres()

/** Declares the same suite once for each store. */
export function describeEachStore(name: string, declare: (kind: StoreKind) => void): void {
  describe(`${name} on sqlite`, () => {
    declare('sqlite')
  })
  describeOnPostgres(name, () => declare('postgres'))
}

/** Declares a suite about what only several processes with one store can do, or only a store across a network. */
export function describeOnPostgres(name: string, declare: () => void): void {
  describe.skipIf(postgresUrl === undefined)(`${name} on postgres`, () => {
    declare()
  })
}

export interface TestPlace extends DatabasePlace {
  /** Removes everything; the database must be closed. */
  remove(): Promise<void>
}

/** An empty place for a store of this kind: a temporary folder, and for PostgreSQL a database of its own. */
export async function makePlace(kind: StoreKind): Promise<TestPlace> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tidings-test-'))
  const removeFolder = () => rmSync(dataDir, { recursive: true, force: true })
  if (kind === 'sqlite') return { dataDir, databaseUrl: undefined, remove: async () => removeFolder() }
  const name = `tidings_test_${randomBytes(6).toString('hex')}`
  await administer(`create database ${name}`)
  const url = new URL(postgresUrl as string)
  url.pathname = `/${name}`
  return {
    dataDir,
    databaseUrl: url.href,
    async remove() {
      removeFolder()
      await administer(`drop database ${name} with (force)`)
    },
  }
}

/** A migrated store of this kind, opened on this thread. */
export async function openTestDatabase(place: DatabasePlace): Promise<Database> {
  const database = openDatabase(place)
  await migrate(database, Date.now())
  return database
}

async function administer(statement: string): Promise<void> {
  const client = new Client({ connectionString: postgresUrl as string })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
