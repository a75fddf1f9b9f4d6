// Runs a suite over every store: SQLite always; PostgreSQL where one is found, otherwise the suite says so and is skipped.
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, inject } from 'vitest'
import { migrate } from '../../src/store/migrations.ts'
import { openDatabase, statePathOf, type DatabaseLocation } from '../../src/store/open-database.ts'
import type { Database } from '../../src/store/store.ts'
import { administer, besideDatabase, findPostgres } from './find-postgres.ts'

export type StoreKind = 'sqlite' | 'postgres'

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

export interface TestLocation extends DatabaseLocation {
  /** Removes everything; the database must be closed. */
  remove(): Promise<void>
}

/** Makes an empty store of this kind: a temporary folder, and for PostgreSQL a database of its own. */
export async function makeLocation(kind: StoreKind): Promise<TestLocation> {
  const location = makeFolder()
  return kind === 'sqlite' ? location : addDatabase(location)
}

/** Makes a store with all tables, as after a start of the program: a copy of the one that was made before all suites. */
export async function makeStore(kind: StoreKind): Promise<TestLocation> {
  const location = makeFolder()
  const { stateFile, database } = inject('migratedStores')
  if (kind === 'postgres') return addDatabase(location, `template ${database}`)
  copyFileSync(stateFile, statePathOf(location))
  return location
}

function makeFolder(): TestLocation {
  const dataDir = mkdtempSync(join(tmpdir(), 'tidings-test-'))
  return { dataDir, databaseUrl: undefined, remove: async () => rmSync(dataDir, { recursive: true, force: true }) }
}

async function addDatabase(folder: TestLocation, options = ''): Promise<TestLocation> {
  const url = postgresUrl as string
  const name = `tidings_test_${randomBytes(6).toString('hex')}`
  await administer(url, `create database ${name} ${options}`)
  return {
    ...folder,
    databaseUrl: besideDatabase(url, name),
    async remove() {
      await folder.remove()
      await administer(url, `drop database ${name} with (force)`)
    },
  }
}

/** A migrated store of this kind, opened on this thread. */
export async function openTestDatabase(location: DatabaseLocation): Promise<Database> {
  const database = openDatabase(location)
  await migrate(database, Date.now())
  return database
}
