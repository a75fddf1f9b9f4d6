// Checks the contract of every store on SQLite and PostgreSQL, then the rules that only one of them has.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import SqliteFile from 'better-sqlite3'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findCursor, moveCursor } from '../../src/store/entries/cursors.ts'
import { insertRows } from '../../src/store/insert-rows.ts'
import { findTables, migrate, MIGRATIONS } from '../../src/store/migrations.ts'
import { openDatabase, STATE_FILE } from '../../src/store/open-database.ts'
import { SqliteConnection } from '../../src/store/sqlite/sqlite-connection.ts'
import { isUniqueViolation, StoreError, type Database, type Store } from '../../src/store/store.ts'
import { WriterLock } from '../../src/runtime/writer-lock.ts'
import {
  describeEachStore,
  describeOnPostgres,
  makeLocation,
  openTestDatabase,
  type TestLocation,
} from '../support/stores.ts'

const insertCursor = ({ query }: Store, name: string, position: number) => {
  return query.insertInto('cursors').values({ name, position }).execute()
}

const MIB = 1024 * 1024

/** A promise that the test resolves. */
const gate = () => Promise.withResolvers<void>()

describeEachStore('The store', (kind) => {
  let location: TestLocation
  let database: Database

  beforeAll(async () => {
    location = await makeLocation(kind)
    database = await openTestDatabase(location)
  })
  afterEach(() => database.write(({ query }) => query.deleteFrom('cursors').execute()))
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  describe('a transaction', () => {
    it('commits all its changes, and returns the result of its function', async () => {
      const given = await database.write(async (store) => {
        await insertCursor(store, 'a', 1)
        await insertCursor(store, 'b', 2)
        return 'given'
      })
      expect(given).toBe('given')
      expect([await findCursor(database, 'a'), await findCursor(database, 'b')]).toEqual([1, 2])
    })

    it('changes nothing when its function throws', async () => {
      const failing = database.write(async (store) => {
        await insertCursor(store, 'a', 1)
        throw new Error('on purpose')
      })
      await expect(failing).rejects.toThrow('on purpose')
      expect(await findCursor(database, 'a')).toBe(0)
    })

    it('sees its own changes, which others see only after it ends', async () => {
      const [inside, end] = [gate(), gate()]
      const writing = database.write(async (store) => {
        await insertCursor(store, 'a', 1)
        expect(await findCursor(store, 'a')).toBe(1)
        inside.resolve()
        await end.promise
      })
      await inside.promise
      expect(await findCursor(database, 'a')).toBe(0)
      end.resolve()
      await writing
      expect(await findCursor(database, 'a')).toBe(1)
    })

    it('loses no update of concurrent transactions that read and write under a lock', async () => {
      await database.write((store) => insertCursor(store, 'count', 1))
      const increments = Array.from({ length: 20 }, () =>
        database.write(async (store) => {
          await store.lock('count')
          const position = await findCursor(store, 'count')
          await store.query
            .updateTable('cursors')
            .set({ position: position + 1 })
            .where('name', '=', 'count')
            .execute()
        }),
      )
      await Promise.all(increments)
      expect(await findCursor(database, 'count')).toBe(21)
    })

    it('recognises a unique violation by the error code of the driver', async () => {
      await database.write((store) => insertCursor(store, 'a', 1))
      const again = database.write((store) => insertCursor(store, 'a', 2))
      const error: unknown = await again.catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(StoreError)
      expect(isUniqueViolation(error)).toBe(true)
      const broken: unknown = await sql`select * from nowhere`
        .execute(database.query)
        .catch((caught: unknown) => caught)
      expect(isUniqueViolation(broken)).toBe(false)
    })
  })

  describe('rows in one parameter', () => {
    const columns = { name: 'text', position: 'integer' } as const

    it('are returned unchanged, with any text', async () => {
      const rows = [
        { name: 'plain', position: 1 },
        { name: `quotes ' " \\ and {"json":[1]}`, position: -(2 ** 53) + 1 },
        { name: 'ä 😀 \u2028', position: 2 ** 53 - 1 },
        { name: '', position: 0 },
      ]
      const source = database.rowsOf('fresh', columns, rows)
      expect(await database.query.selectFrom(source).selectAll().execute()).toEqual(rows)
    })

    it('keep nulls, and JSON with an escaped NUL', async () => {
      const rows = [{ name: JSON.stringify({ text: '\u0000' }), position: null }]
      const source = database.rowsOf('fresh', columns, rows)
      expect(await database.query.selectFrom(source).selectAll().execute()).toEqual(rows)
    })

    it('may be thousands or none', async () => {
      const rows = Array.from({ length: 20_000 }, (_, position) => ({ name: `n${position}`, position }))
      const count = async (given: typeof rows) => {
        const source = database.rowsOf('fresh', columns, given)
        const row = await database.query
          .selectFrom(source)
          .select((select) => [select.fn.countAll<number>().as('count'), select.fn.sum<number>('position').as('sum')])
          .executeTakeFirstOrThrow()
        return [row.count, row.sum ?? 0].map(Number)
      }
      expect(await count(rows)).toEqual([20_000, 199_990_000])
      expect(await count([])).toEqual([0, 0])
    })
  })

  it('inserts rows unchanged, including values that many of them share', async () => {
    const columns = { id: 'integer', text: 'text', number: 'integer', nothing: 'text', some: 'text' } as const
    for (const [text, number] of [
      [`quotes ' " \\ ? :a and $1`, 2 ** 53 - 1],
      ['', -(2 ** 53) + 1],
      ['5', 0],
    ] as const) {
      const rows = Array.from({ length: 200 }, (_, id) => {
        return { id, text, number, nothing: null, some: id === 150 ? null : 'some' }
      })
      const source = database.newRows(columns, rows)
      expect(await database.query.selectFrom(source).selectAll().orderBy('id').execute()).toEqual(rows)
    }
    const rows = Array.from({ length: 200 }, (_, index) => ({ name: `n${index}`, position: 2 ** 53 - 1 }))
    const cursors = { name: 'text', position: 'integer' } as const
    await database.write(
      async (store) => void (await insertRows(store, 'cursors', { columns: cursors, rows }).execute()),
    )
    const stored = await database.query
      .selectFrom('cursors')
      .selectAll()
      .where('position', '=', 2 ** 53 - 1)
      .execute()
    expect(stored).toHaveLength(200)
  })

  it('orders texts by code point', async () => {
    const names = ['b', 'B', 'ä', 'a', '😀', 'z', '\ufb01', '1', '_']
    await database.write(async (store) => {
      for (const name of names) await insertCursor(store, name, 1)
    })
    const rows = await database.query.selectFrom('cursors').select('name').orderBy('name').execute()
    const byCodePoint = names.toSorted((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
    expect(rows.map(({ name }) => name)).toEqual(byCodePoint)
  })

  it('moves a cursor only from its current position', async () => {
    const move = (from: number, to: number) => database.write((store) => moveCursor(store, 'a', from, to))
    expect([await move(0, 5), await move(0, 7), await move(5, 9)]).toEqual([true, false, true])
    expect(await findCursor(database, 'a')).toBe(9)
  })

  describe('migrations', () => {
    let fresh: TestLocation
    const opened: Database[] = []

    beforeEach(async () => void (fresh = await makeLocation(kind)))
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((other) => other.close()))
      await fresh.remove()
    })

    const open = () => {
      const other = openDatabase(fresh)
      opened.push(other)
      return other
    }

    it('are applied once when several processes start them at the same time, and later again', async () => {
      await Promise.all([open(), open(), open()].map((other) => migrate(other, 1)))
      const applied = async () => (await opened[0]?.query.selectFrom('migrations').selectAll().execute())?.length
      const before = await applied()
      expect(before).toBe(Object.keys(MIGRATIONS).length)
      await migrate(open(), 2)
      expect(await applied()).toBe(before)
    })

    it('refuse a database that is newer than the program', async () => {
      const other = open()
      await migrate(other, 1)
      const later = { name: '9999-later', applied_at: 1 }
      await other.write(({ query }) => query.insertInto('migrations').values(later).execute())
      await expect(migrate(other, 2)).rejects.toThrow(
        'migrated by a newer version of Tidings: it has the migration 9999-later',
      )
    })
  })
})

describe('The SQLite store', () => {
  let location: TestLocation
  beforeEach(async () => void (location = await makeLocation('sqlite')))
  afterEach(() => location.remove())

  it('lets writers on several threads and connections take turns, and loses no update', async () => {
    const writerLock = new WriterLock()
    const databases = [
      openDatabase(location, { ownThread: true, writerLock }),
      openDatabase(location, { writerLock, durable: false }),
      openDatabase(location),
    ]
    const [first] = databases as [Database]
    await migrate(first, 1)
    await first.write((store) => insertCursor(store, 'count', 1))
    const increments = databases.flatMap((database) =>
      Array.from({ length: 30 }, () =>
        database.write(async ({ query }) => {
          await query
            .updateTable('cursors')
            .set({ position: sql`position + 1` })
            .execute()
        }),
      ),
    )
    await Promise.all(increments)
    expect(await findCursor(first, 'count')).toBe(91)
    for (const database of databases) await database.close()
  })

  it('syncs each commit to disk before it returns, unless the log holds the same data', async () => {
    const levels = [{}, { ownThread: true }, { durable: false }].map(async (options) => {
      const database = openDatabase(location, options)
      const { rows } = await database.write(({ query }) => sql`pragma synchronous`.execute(query))
      await database.close()
      return rows
    })
    const [full, normal] = [[{ synchronous: 2 }], [{ synchronous: 1 }]]
    expect(await Promise.all(levels)).toEqual([full, full, normal])
  })

  it('shrinks a write-ahead log that grew during a long read', async () => {
    const path = join(location.dataDir, STATE_FILE)
    const [writer, reader] = [new SqliteConnection(path, { durable: false }), new SqliteFile(path)]
    writer.execute('create table things (bytes)', [])
    const commit = () => writer.execute('insert into things values (zeroblob(?))', [10 * MIB])
    const walMib = () => statSync(`${path}-wal`).size / MIB
    reader.exec('begin; select * from things')
    for (let count = 0; count < 14; count++) commit()
    expect(walMib()).toBeGreaterThan(140)
    reader.exec('commit')
    // The first commit checkpoints everything, the second restarts the write-ahead log.
    for (let count = 0; count < 2; count++) commit()
    expect(walMib()).toBeLessThanOrEqual(128)
    for (const connection of [writer, reader]) connection.close()
  })

  it('makes a continuous writer wait for other writers', async () => {
    const writerLock = new WriterLock()
    const shared = new WriterLock(writerLock.shared)
    const leave = shared.enter()
    let hasPassed = false
    const passing = writerLock.yieldToWriters().then(() => (hasPassed = true))
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(hasPassed).toBe(false)
    leave()
    await passing
    expect(hasPassed).toBe(true)
  })
})

describeOnPostgres('The PostgreSQL store', () => {
  let location: TestLocation
  let database: Database

  beforeEach(async () => {
    location = await makeLocation('postgres')
    database = openDatabase(location)
  })
  afterEach(async () => {
    await database.close()
    await location.remove()
  })

  it('uses read committed isolation, even if the database has another default', async () => {
    const change = sql.raw(
      `format('alter database %I set default_transaction_isolation = serializable', current_database())`,
    )
    await sql`do $$ begin execute ${change}; end $$`.execute(database.query)
    const later = openDatabase(location)
    const ask = async ({ query }: Store) => {
      const { rows } = await sql`select current_setting('transaction_isolation') as isolation`.execute(query)
      return rows
    }
    const committed = [{ isolation: 'read committed' }]
    expect([await ask(later), await later.write(ask)]).toEqual([committed, committed])
    await later.close()
  })

  it('turns off JIT compilation, which takes longer than it saves', async () => {
    const ask = async ({ query }: Store) => (await sql`select current_setting('jit') as jit`.execute(query)).rows
    const off = [{ jit: 'off' }]
    expect([await ask(database), await database.write(ask), await database.readSnapshot(ask)]).toEqual([off, off, off])
  })

  it('changes tables without a time limit, even if the database limits statements by default', async () => {
    const change = sql.raw(`format('alter database %I set statement_timeout = 50', current_database())`)
    await sql`do $$ begin execute ${change}; end $$`.execute(database.query)
    const take = async ({ query }: Store) => void (await sql`select pg_sleep(0.2)`.execute(query))
    await expect(database.changeTables(take)).resolves.toBeUndefined()
  })

  it('refuses a database whose encoding cannot store every text', async () => {
    const url = new URL(location.databaseUrl as string)
    const name = `${url.pathname.slice(1)}_latin1`
    const made = `create database ${name} encoding 'LATIN1' locale 'C' template template0`
    await sql.raw(made).execute(database.query)
    url.pathname = `/${name}`
    const narrow = openDatabase({ ...location, databaseUrl: url.href })
    try {
      await expect(migrate(narrow, 1)).rejects.toThrow('has the encoding LATIN1, which cannot store every character')
      expect(await findTables(narrow)).toBe('none')
    } finally {
      await narrow.close()
      await sql.raw(`drop database ${name}`).execute(database.query)
    }
  })

  it('allows a snapshot a longer pause between two statements than a change', async () => {
    const ask = async ({ query }: Store) => {
      const { rows } = await sql<{ idle: string }>`
        select current_setting('idle_in_transaction_session_timeout') as idle`.execute(query)
      return rows[0]?.idle
    }
    expect([await database.write(ask), await database.readSnapshot(ask), await ask(database)]).toEqual([
      '5s',
      '10min',
      '5s',
    ])
  })
})
