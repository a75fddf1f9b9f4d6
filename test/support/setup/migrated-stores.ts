// Before all suites: makes one store of each kind with its tables, for tests to copy. Making the tables takes 0.25 s of processor time on
// PostgreSQL, and there are hundreds of stores.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { migrate } from '../../../src/store/migrations.ts'
import { openDatabase, statePathOf, type DatabaseLocation } from '../../../src/store/open-database.ts'
import { administer, besideDatabase, findPostgres } from '../find-postgres.ts'

export interface MigratedStores {
  /** The file of an embedded store. */
  readonly stateFile: string
  /** The name of a database, to which nobody may be connected while it is copied; undefined without PostgreSQL. */
  readonly database: string | undefined
}

declare module 'vitest' {
  export interface ProvidedContext {
    migratedStores: MigratedStores
  }
}

/** Called by Vitest before all suites; what it returns is called after them. */
export default async function setUp({ provide }: TestProject): Promise<() => Promise<void>> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tidings-test-'))
  const embedded = { dataDir, databaseUrl: undefined }
  await makeTables(embedded)
  const url = await findPostgres()
  const database = url && (await addDatabase(url))
  provide('migratedStores', { stateFile: statePathOf(embedded), database })
  return async () => {
    rmSync(dataDir, { recursive: true, force: true })
    if (url !== undefined) await administer(url, `drop database ${database} with (force)`)
  }
}

async function addDatabase(url: string): Promise<string> {
  const name = `tidings_test_migrated_${randomBytes(6).toString('hex')}`
  await administer(url, `create database ${name}`)
  await makeTables({ dataDir: '', databaseUrl: besideDatabase(url, name) })
  return name
}

async function makeTables(location: DatabaseLocation): Promise<void> {
  const database = openDatabase(location)
  await migrate(database, Date.now())
  await database.close()
}
