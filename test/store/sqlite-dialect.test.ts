// Checks how often SQLite compiles the statements of the store.
import { join } from 'node:path'
import SqliteFile from 'better-sqlite3'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Database, Store } from '../../src/store/store.ts'
import { makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'

let location: TestLocation
let database: Database

beforeEach(async () => {
  location = await makeStore('sqlite')
  database = await openTestDatabase(location)
})
afterEach(async () => {
  vi.restoreAllMocks()
  await database.close()
  await location.remove()
})

/** The library makes a function for the rows of a statement, and another one each time SQLite has recompiled it. */
function countCompiled(): () => number {
  const made = vi.spyOn(globalThis, 'Function')
  return () => made.mock.calls.length
}

it('SQLite recompiles a statement whose limit is a parameter each time the limit is bound', () => {
  const file = new SqliteFile(join(location.dataDir, 'other.db'))
  const statement = file.prepare('select name from sqlite_schema limit ?')
  file.exec('create table some (name text)')
  const compiled = countCompiled()
  for (const limit of [1, 2, 1, 1]) statement.all(limit)
  expect(compiled()).toBe(4)
  file.close()
})

/** Reads pages with one statement. */
async function readPages({ query }: Store): Promise<string[][]> {
  const page = async (limit: number, offset: number) => {
    const names = query.selectFrom('cursors').select('name').where('name', '<', 'd').orderBy('name')
    return (await names.limit(limit).offset(offset).execute()).map(({ name }) => name)
  }
  return [await page(2, 0), await page(2, 1), await page(1, 2), await page(5, 1)]
}

it.each([
  { what: 'reading', read: (database: Database) => readPages(database) },
  { what: 'writing', read: (database: Database) => database.write(readPages) },
])('SQLite compiles a statement of the store with a limit once, when $what', async ({ read }) => {
  const rows = ['a', 'b', 'c'].map((name) => ({ name, position: 1 }))
  await database.write(({ query }) => query.insertInto('cursors').values(rows).execute())
  const compiled = countCompiled()
  expect(await read(database)).toEqual([['a', 'b'], ['b', 'c'], ['c'], ['b', 'c']])
  expect(compiled()).toBe(1)
})

it('SQLite compiles a statement that searches a list once, however long the list is', async () => {
  const rows = ['a', 'b', 'c'].map((name, position) => ({ name, position }))
  await database.write(({ query }) => query.insertInto('cursors').values(rows).execute())
  const compiled = countCompiled()
  const find = async (names: readonly string[], positions: readonly number[]) => {
    const found = database.query.selectFrom('cursors').select('name').where('name', 'in', names)
    return (await found.where('position', 'in', positions).orderBy('name').execute()).map(({ name }) => name)
  }
  expect([
    await find(['a'], [0]),
    await find(['c', 'a'], [0, 1, 2]),
    await find(['c', 'b', '"', 'a'], [2, 1]),
    await find([], [0]),
  ]).toEqual([['a'], ['a', 'c'], ['b', 'c'], []])
  expect(compiled()).toBe(1)
})
