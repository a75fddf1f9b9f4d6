// Tables that another process brings up to date: whoever starts meanwhile waits, and a program older than the tables takes
// nothing more.
import SqliteFile from 'better-sqlite3'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { PartitionLeases } from '../src/pipeline/follower/partition-leases.ts'
import { CHANGES_TABLES, migrate, TablesAreNewer } from '../src/store/migrations.ts'
import { openDatabase, statePathOf } from '../src/store/open-database.ts'
import { openPostgresDatabase } from '../src/store/postgres/postgres-database.ts'
import type { Database, Store } from '../src/store/store.ts'
import { makeOlder } from './older-tables.ts'
import { expectRefusal, startServer, until } from './server.ts'
import { describeEachStore, describeOnPostgres, makePlace, openTestDatabase, type TestPlace } from './stores.ts'

const LATER = { name: '9999-later', applied_at: 1 }
const addLater = ({ query }: Store) => query.insertInto('migrations').values(LATER).execute()
const removeLater = ({ query }: Store) => query.deleteFrom('migrations').where('name', '=', LATER.name).execute()

const PARTITIONS = 32
/** The time after which a statement of an operation is ended, and the time that a statement of a migration takes. */
const ANSWER_WAIT_MS = 1_050
const SLOW_SECONDS = 1.2

let place: TestPlace
let database: Database
const closers: (() => Promise<unknown> | void)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

describeEachStore('Tables that another process is changing', (kind) => {
  beforeEach(async () => {
    place = await makePlace(kind)
    closers.push(() => place.remove())
    database = openDatabase(place, { writeWaitMs: 50 })
    closers.push(() => database.close())
  })

  /** Takes the lock that the other process holds while it changes tables; the end of the connection gives it back. */
  async function lockTables(): Promise<() => Promise<unknown> | void> {
    if (place.databaseUrl === undefined) {
      const file = new SqliteFile(statePathOf(place))
      file.exec('begin immediate')
      return () => void file.close()
    }
    const client = new Client({ connectionString: place.databaseUrl })
    await client.connect()
    await client.query(`begin; select pg_advisory_xact_lock(hashtextextended('migrations', 0))`)
    return () => client.end()
  }

  it('are waited for, however long that takes, and then brought up to date', async () => {
    const unlock = await lockTables()
    let waited = 0
    const migrated = migrate(database, 1, () => void waited++)
    await until('it has waited in vain three times', () => waited >= 3)
    await unlock()
    await migrated
    await expect(migrate(database, 1)).resolves.toBeUndefined()
  })
})

describeEachStore('Tables of another version', (kind) => {
  beforeEach(async () => {
    place = await makePlace(kind)
    closers.push(() => place.remove())
    database = openDatabase(place)
    closers.push(() => database.close())
  })

  it('are changed with a word about it, unless they are new or up to date', async () => {
    const told: string[] = []
    const bringUpToDate = () => migrate(database, 1, (what) => void told.push(what))
    await bringUpToDate()
    await bringUpToDate()
    expect(told).toEqual([])
    await makeOlder(place)
    await bringUpToDate()
    expect(told).toEqual([CHANGES_TABLES])
  })

  it('are refused in words, and left as they are, where the first steps were others', async () => {
    await migrate(database, 1)
    const steps = () => database.query.selectFrom('migrations').selectAll().orderBy('name').execute()
    await database.write(({ query }) =>
      query.deleteFrom('migrations').where('name', '=', '0002-user-identities').execute(),
    )
    const before = await steps()
    const refused = migrate(database, 2)
    await expect(refused).rejects.toMatchObject({ code: 'conflict', message: expect.stringMatching(/made by a draft/) })
    expect(await steps()).toEqual(before)
  })
})

describeEachStore('A server beside tables that are newer', (kind) => {
  it('is not ready, and says why', async () => {
    const server = await startServer(kind, {}, { withPipeline: false })
    closers.push(() => server.stop())
    const ready = () => server.call('GET', '/readyz', { as: null })
    expect((await ready()).status).toBe(200)
    await server.database.write(addLater)
    const refused = await ready()
    expectRefusal(refused, 503, 'unavailable')
    const message = 'Not ready: the database is newer than this program: it has the migration 9999-later.'
    expect(refused.body).toMatchObject({ error: { message } })
    await server.database.write(removeLater)
    expect((await ready()).status).toBe(200)
  })
})

describeOnPostgres('A pipeline beside tables that are newer', () => {
  it('gives up its partitions, and takes none', async () => {
    place = await makePlace('postgres')
    closers.push(() => place.remove())
    database = await openTestDatabase(place)
    closers.push(() => database.close())
    const failures: unknown[] = []
    const onFailure = (error: unknown) => void failures.push(error)
    const leases = new PartitionLeases({ database, partitions: PARTITIONS, onFailure })
    leases.start()
    closers.push(() => leases.stop())
    await until('it has all partitions', () => leases.held().length === PARTITIONS)
    await database.write(addLater)
    await until('it has none', () => leases.held().length === 0)
    expect(failures.every((error) => error instanceof TablesAreNewer)).toBe(true)
    await database.write(removeLater)
    await until('it has all partitions again', () => leases.held().length === PARTITIONS)
  })
})

describeOnPostgres('Changes of tables', () => {
  it('may take longer than any statement of an operation', async () => {
    place = await makePlace('postgres')
    closers.push(() => place.remove())
    const client = new Client({ connectionString: place.databaseUrl })
    await client.connect()
    await client.query(`
      create function wait_once() returns event_trigger language plpgsql as $$ begin
        if to_regclass('workspaces') is not null and to_regclass('users') is null then perform pg_sleep(${SLOW_SECONDS}); end if;
      end $$;
      create event trigger slow on ddl_command_start when tag in ('CREATE TABLE') execute function wait_once();`)
    await client.end()
    database = openPostgresDatabase({ url: place.databaseUrl as string, answerWaitMs: ANSWER_WAIT_MS })
    closers.push(() => database.close())
    await expect(migrate(database, 1)).resolves.toBeUndefined()
  })
})
