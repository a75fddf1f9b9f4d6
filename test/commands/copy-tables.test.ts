// Checks that tables are copied from an SQLite file into PostgreSQL, and that a comparison finds every difference.
import SqliteFile from 'better-sqlite3'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { compareTable, copyTable } from '../../src/commands/move/copy-tables.ts'
import { findMoveProgress } from '../../src/store/moves/moves.ts'
import type { Database } from '../../src/store/store.ts'
import { describeTable, type CopiedTable } from '../../src/store/moves/table-copy.ts'
import { describeOnPostgres, makeLocation, openTestDatabase, type TestLocation } from '../support/stores.ts'

/** More than two pages. */
const ROWS = 12_001
const SILENT = { show: () => {}, done: () => {}, clear: () => {} }

describeOnPostgres('A copied table', () => {
  let location: TestLocation
  let target: Database
  let file: SqliteFile.Database
  let table: CopiedTable

  beforeAll(async () => {
    location = await makeLocation('postgres')
    target = await openTestDatabase(location)
    await sql`
      create table things (name text collate "C", number bigint, words text, again bigint not null, primary key (name, number))
    `.execute(target.query)
  })
  afterAll(async () => {
    await target.close()
    await location.remove()
  })
  beforeEach(async () => {
    await sql`truncate things, move_progress`.execute(target.query)
    file = new SqliteFile(':memory:')
    file.exec('create table things (name text, number integer, words text, primary key (name, number)) without rowid')
    const addition = file.prepare('insert into things values (?, ?, ?)')
    const words = [null, '', 'plain', '"quoted" \\ {[', 'line\nfeed\ttab', 'ünïcödé 😀', '\\u0000']
    file.transaction(() => {
      for (let row = 0; row < ROWS; row++) {
        addition.run(`${['b', 'B', 'ä', '😀', '﹏'][row % 5]}${row % 700}`, row * 1_000_003, words[row % words.length])
      }
    })()
    table = describeTable({ file, source: 'things', target: 'things', added: { again: 1 } })
  })

  const copy = () => copyTable(table, target, SILENT)
  const compare = () => compareTable(table, target, SILENT)

  it('has the same rows in the same order', async () => {
    expect(await copy()).toBe(ROWS)
    const { source, target: found, isEqual } = await compare()
    expect({ isEqual, rows: source.rows, found }).toEqual({ isEqual: true, rows: ROWS, found: source })
    const { rows } = await sql<{ count: number }>`select count(*) as count from things where again = 1`.execute(
      target.query,
    )
    expect(rows).toEqual([{ count: ROWS }])
  })

  it('gets no row twice when it is copied again', async () => {
    await copy()
    expect(await copy()).toBe(0)
    expect((await compare()).isEqual).toBe(true)
  })

  it('equals an empty source when it is empty', async () => {
    file.exec('delete from things')
    expect(await copy()).toBe(0)
    expect(await compare()).toMatchObject({ isEqual: true, source: { rows: 0 }, target: { rows: 0 } })
  })

  it('is continued after the last page of an interrupted run', async () => {
    const interruption = {
      show: () => {
        throw new Error('cut off')
      },
      done: () => {},
      clear: () => {},
    }
    await expect(copyTable(table, target, interruption)).rejects.toThrow('cut off')
    const { rows = 0 } = (await findMoveProgress(target, 'things')) ?? {}
    expect(rows).toBeGreaterThan(0)
    expect(rows).toBeLessThan(ROWS)
    expect(await copy()).toBe(ROWS - rows)
    expect((await compare()).isEqual).toBe(true)
  })

  const changes: [what: string, change: string][] = [
    ['changed at its beginning', `update things set words = 'other' where number = 0`],
    ['got a row', `insert into things values ('b0', 1, null)`],
    ['lost a row', `delete from things where number = 1000003`],
    ['lost its last rows', `delete from things where number > 1000003`],
    ['lost all rows', `delete from things`],
  ]
  it.each(changes)('is copied again if the source has %s since', async (_what, change) => {
    await copy()
    file.exec(change)
    await copy()
    expect((await compare()).isEqual).toBe(true)
  })

  const faults: [what: string, change: string, rows: number][] = [
    ['another value', `update things set words = 'other' where number = 5000015000`, ROWS],
    ['a value instead of null', `update things set words = '' where number = 7000021`, ROWS],
    ['one row fewer', `delete from things where number = 3000009`, ROWS - 1],
    ['one more row in the middle', `insert into things values ('b0', 1, null, 1)`, ROWS + 1],
    ['one more row at the beginning', `insert into things values ('', 1, null, 1)`, ROWS + 1],
    ['two more rows at the end', `insert into things values ('😀~', 1, null, 1), ('😀~', 2, null, 1)`, ROWS + 2],
    ['another value in a column that only the copy has', `update things set again = 2 where number = 0`, ROWS],
    ['no rows', `truncate things`, 0],
  ]
  it.each(faults)('is reported as different with %s, and equal after another run', async (_what, change, rows) => {
    await copy()
    await sql.raw(change).execute(target.query)
    const compared = await compare()
    expect({ isEqual: compared.isEqual, rows: compared.target.rows }).toEqual({ isEqual: false, rows })
    expect(compared.source.rows).toBe(ROWS)
    expect(await copy()).toBe(ROWS)
    expect((await compare()).isEqual).toBe(true)
  })

  it('fails with the table and row at a value that PostgreSQL refuses, and keeps the rows before it', async () => {
    file.prepare('insert into things values (?, 1, null)').run('😀~\u0000')
    await expect(copy()).rejects.toThrow('in things, after the first 10000 rows')
    expect(await findMoveProgress(target, 'things')).toMatchObject({ rows: 10_000 })
  })

  it('is not copied by two runs at once', async () => {
    const [first, second] = await Promise.allSettled([copy(), copy()])
    const refused = [first, second].filter(({ status }) => status === 'rejected')
    expect(refused.length).toBeLessThan(2)
    await copy()
    expect((await compare()).isEqual).toBe(true)
  })
})
