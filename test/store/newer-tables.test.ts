// Checks tables that another process migrates: a process that starts meanwhile waits, and a program older than the tables is not
// ready and applies nothing.
import SqliteFile from 'better-sqlite3'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { beginBatch } from '../../src/pipeline/apply-batch.ts'
import { lockTables } from '../../src/store/entries/lock-tables.ts'
import { LogFollower } from '../../src/pipeline/follower/follow-log.ts'
import { PartitionLeases } from '../../src/pipeline/follower/partition-leases.ts'
import { listParkedEntries } from '../../src/store/entries/parked-entries.ts'
import {
  MIGRATING_TABLES,
  findTables,
  migrate,
  MIGRATIONS,
  TablesAreNewer,
  WAITING_FOR_TABLES,
} from '../../src/store/migrations.ts'
import { openDatabase, statePathOf } from '../../src/store/open-database.ts'
import { openPostgresDatabase } from '../../src/store/postgres/postgres-database.ts'
import type { Database, Store } from '../../src/store/store.ts'
import { WriterLock } from '../../src/runtime/writer-lock.ts'
import { openPipelineBench, type PipelineBench } from '../support/pipeline-bench.ts'
import { makeDraft } from './older-tables.ts'
import { expectRefusal, startServer, until } from '../support/server.ts'
import {
  describeEachStore,
  describeOnPostgres,
  makeLocation,
  openTestDatabase,
  type TestLocation,
} from '../support/stores.ts'

const LATER = { name: '9999-later', applied_at: 1 }
const addLater = ({ query }: Store) => query.insertInto('migrations').values(LATER).execute()
const removeLater = ({ query }: Store) => query.deleteFrom('migrations').where('name', '=', LATER.name).execute()

/** The migrations of a newer version of this program. */
const MORE_MIGRATIONS = { ...MIGRATIONS, '0002-more': async () => {} }

const PARTITIONS = 32
/** The time limit for statements of operations, and the longer time that a statement of the migration takes. */
const ANSWER_WAIT_MS = 1_050
const SLOW_SECONDS = 1.2

let location: TestLocation
let database: Database
const closers: (() => Promise<unknown> | void)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

describeEachStore('Tables that another process is migrating', (kind) => {
  beforeEach(async () => {
    location = await makeLocation(kind)
    closers.push(() => location.remove())
    database = openDatabase(location, { writeWaitMs: 50 })
    closers.push(() => database.close())
  })

  /** Takes the lock that a process holds while it migrates tables. Returns a function that releases it. */
  async function holdTables(): Promise<() => Promise<unknown> | void> {
    if (location.databaseUrl === undefined) {
      const file = new SqliteFile(statePathOf(location))
      file.exec('begin immediate')
      return () => void file.close()
    }
    const client = new Client({ connectionString: location.databaseUrl })
    await client.connect()
    await client.query(`begin; select pg_advisory_xact_lock(hashtextextended('migrations', 0))`)
    return () => client.end()
  }

  it('are migrated once the other process has finished, however long that takes', async () => {
    const unlock = await holdTables()
    let waited = 0
    const migrated = migrate(database, 1, () => void waited++)
    await until('it has waited three times without success', () => waited >= 3)
    await unlock()
    await migrated
    await expect(migrate(database, 1)).resolves.toBeUndefined()
  })
})

describeEachStore('Tables of another version', (kind) => {
  beforeEach(async () => {
    location = await makeLocation(kind)
    closers.push(() => location.remove())
    database = openDatabase(location)
    closers.push(() => database.close())
  })

  it('are migrated with a message, or without one if they are new or up to date', async () => {
    const messages: string[] = []
    const migrateTo = (migrations = MIGRATIONS) => migrate(database, 1, (what) => void messages.push(what), migrations)
    await migrateTo()
    await migrateTo()
    expect(messages).toEqual([])
    await migrateTo(MORE_MIGRATIONS)
    expect(messages).toEqual([MIGRATING_TABLES])
    await migrateTo(MORE_MIGRATIONS)
    expect(messages).toEqual([MIGRATING_TABLES])
  })

  it('are refused with advice, and left unchanged, if an unreleased draft made them', async () => {
    await migrate(database, 1)
    const steps = () => database.query.selectFrom('migrations').selectAll().orderBy('name').execute()
    await makeDraft(location)
    const before = await steps()
    const message =
      'The store was made by an unreleased draft of Tidings and cannot be upgraded. ' +
      'Start with an empty DATA_DIR or an empty database.'
    for (const refused of [migrate(database, 2), findTables(database)]) {
      await expect(refused).rejects.toMatchObject({ code: 'conflict', message })
    }
    expect(await steps()).toEqual(before)
  })
})

describeEachStore('A server whose tables are newer than the program', (kind) => {
  it('is not ready, and says why', async () => {
    const server = await startServer(kind, {}, { withPipeline: false })
    closers.push(() => server.stop())
    const ready = () => server.call('GET', '/readyz', { as: null })
    expect((await ready()).status).toBe(200)
    await server.database.write(addLater)
    const refused = await ready()
    expectRefusal(refused, 503, 'unavailable')
    const message =
      'Not ready: the database was migrated by a newer version of Tidings: it has the migration 9999-later.'
    expect(refused.body).toMatchObject({ error: { message } })
    await server.database.write(removeLater)
    expect((await ready()).status).toBe(200)
  })
})

describeOnPostgres('A pipeline whose tables are newer than the program', () => {
  it('releases its partitions, and leases none', async () => {
    location = await makeLocation('postgres')
    closers.push(() => location.remove())
    database = await openTestDatabase(location)
    closers.push(() => database.close())
    const failures: unknown[] = []
    const onFailure = (error: unknown) => void failures.push(error)
    const leases = new PartitionLeases({ database, partitions: PARTITIONS, onFailure })
    leases.start()
    closers.push(() => leases.stop())
    await until('it has all partitions', () => leases.held().length === PARTITIONS)
    await database.write(addLater)
    await until('it has none', () => leases.held().length === 0)
    const members = () => database.query.selectFrom('pipeline_members').select('holder').execute()
    await until('others need not wait for its leases to expire', async () => (await members()).length === 0)
    expect(failures.every((error) => error instanceof TablesAreNewer)).toBe(true)
    await database.write(removeLater)
    await until('it has all partitions again', () => leases.held().length === PARTITIONS)
  })
})

describeEachStore('Entries of the log while the tables are newer than the program', (kind) => {
  let bench: PipelineBench

  beforeEach(async () => {
    bench = await openPipelineBench(kind)
    closers.push(() => bench.close())
    await bench.makeWorkspace()
  })

  const entry = { kind: 'track_user', body: { customer_id: 'ada', attributes: { city: 'Bonn' } } } as const

  it('stay in the log until a program that supports the tables applies them', async () => {
    const start = await bench.cursor()
    const [requestId] = await bench.append(entry)
    await bench.database.write(addLater)
    const failures: unknown[] = []
    const follower = new LogFollower({
      database: bench.database,
      logReader: bench.logReader,
      writerLock: new WriterLock(),
      clock: Date.now,
      onBatch: () => {},
      onFailure: (error, what) => void failures.push([error instanceof TablesAreNewer, what]),
    })
    follower.start()
    closers.push(() => follower.stop())
    await until('it has tried twice', () => failures.length >= 2)
    const again = [true, 'cannot apply the log; retrying']
    expect(failures).toEqual(failures.map(() => again))
    expect(await bench.cursor()).toBe(start)
    expect(await listParkedEntries(bench.database, 0, 1)).toEqual([])
    await bench.database.write(removeLater)
    await until('it is applied', async () => (await bench.receipt(requestId))?.status === 'processed')
  })

  it('are not recounted, replayed or dropped', async () => {
    await bench.database.write(addLater)
    await expect(bench.database.write(lockTables)).rejects.toThrow(TablesAreNewer)
    await bench.database.write(removeLater)
    await expect(bench.database.write(lockTables)).resolves.toBeUndefined()
  })

  it('delay a migration until the batch that applies them is complete', async () => {
    const own = openDatabase(bench.location, { writeWaitMs: 50 })
    closers.push(() => own.close())
    const applied = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const applying = bench.database.write(async (store) => {
      await beginBatch(store, { lastPositions: new Map(), revisions: new Map() }, [])
      begun.resolve()
      await applied.promise
    })
    await begun.promise
    let waited = 0
    const migrated = migrate(own, 1, (what) => void (waited += what === WAITING_FOR_TABLES ? 1 : 0), MORE_MIGRATIONS)
    await until('it has waited twice without success', () => waited >= 2)
    applied.resolve()
    await applying
    await expect(migrated).resolves.toBeUndefined()
  })
})

describeOnPostgres('Migrations', () => {
  it('may take longer than a statement of an operation', async () => {
    location = await makeLocation('postgres')
    closers.push(() => location.remove())
    const client = new Client({ connectionString: location.databaseUrl })
    await client.connect()
    await client.query(`
      create function wait_once() returns event_trigger language plpgsql as $$ begin
        if to_regclass('workspaces') is not null and to_regclass('users') is null then perform pg_sleep(${SLOW_SECONDS}); end if;
      end $$;
      create event trigger slow on ddl_command_start when tag in ('CREATE TABLE') execute function wait_once();`)
    await client.end()
    database = openPostgresDatabase({ url: location.databaseUrl as string, answerWaitMs: ANSWER_WAIT_MS })
    closers.push(() => database.close())
    await expect(migrate(database, 1)).resolves.toBeUndefined()
  })
})
