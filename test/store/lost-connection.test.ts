// Checks that callers get 503 when the database goes away in the middle of their work, and that the process survives.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openPostgresDatabase } from '../../src/store/postgres/postgres-database.ts'
import type { Database } from '../../src/store/store.ts'
import { startProxy, type CuttableProxy } from '../support/cuttable-proxy.ts'
import { until } from '../support/server.ts'
import { describeOnPostgres, makeLocation, type TestLocation } from '../support/stores.ts'

/** Long enough for the database to notice that nobody reads its response. */
const LOCK_WAIT_MS = 45_000
const UNAVAILABLE = { code: 'unavailable', retryAfterSeconds: 1 }
const ifUnavailable = (error: unknown) => {
  expect(error).toMatchObject(UNAVAILABLE)
  return false
}

describeOnPostgres('A lost connection', () => {
  let location: TestLocation
  let proxy: CuttableProxy
  let database: Database
  let direct: Database

  beforeAll(async () => {
    location = await makeLocation('postgres')
    proxy = await startProxy(location.databaseUrl as string)
    database = openPostgresDatabase({ url: proxy.url })
    direct = openPostgresDatabase({ url: location.databaseUrl as string })
  })
  afterAll(async () => {
    await database.close()
    await direct.close()
    await proxy.stop()
    await location.remove()
  })

  const ask = () => sql<{ one: number }>`select 1 as one`.execute(database.query)
  const isAnswering = () => until('it is replaced', () => ask().then(({ rows }) => rows[0]?.one === 1, ifUnavailable))
  /** The result of a long statement, or its error. */
  const sleep = () => sql`select pg_sleep(60)`.execute(database.query).catch((error: unknown) => error)
  /** Resolves when a statement of the proxy's connections runs. */
  const isSleeping = () =>
    until('a statement runs', async () => {
      const found = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
      return (await found.execute(direct.query)).rows.length > 0
    })

  it('fails its query as unavailable, and is replaced', async () => {
    const slow = sleep()
    await isSleeping()
    proxy.cut()
    expect(await slow).toMatchObject(UNAVAILABLE)
    await expect(ask()).rejects.toMatchObject(UNAVAILABLE)
    proxy.restore()
    await isAnswering()
  })

  it('fails a change as unavailable between two of its statements', async () => {
    const change = database.write(async ({ query }) => {
      await sql`select 1`.execute(query)
      proxy.cut()
      await until('the connection is gone', () => sql`select 2`.execute(query).then(() => false))
    })
    await expect(change).rejects.toMatchObject(UNAVAILABLE)
    proxy.restore()
    await isAnswering()
  })

  it('is also replaced when the database itself ended it', async () => {
    const slow = sleep()
    await isSleeping()
    const others = sql`datname = current_database() and pid <> pg_backend_pid()`
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where ${others}`.execute(direct.query)
    expect(await slow).toMatchObject(UNAVAILABLE)
    await isAnswering()
  })

  it('is also replaced when the database ended it for an idle transaction', async () => {
    const inside: unknown[] = []
    const change = database.write(async ({ query }) => {
      await sql`set local idle_in_transaction_session_timeout = '50ms'`.execute(query)
      // The process reads nothing meanwhile, so the statement itself gets the error.
      blockThread(300)
      await sql`select 1`.execute(query).catch((error: unknown) => inside.push(error))
      throw new Error('a change that goes on all the same')
    })
    await expect(change).rejects.toMatchObject(UNAVAILABLE)
    expect(inside).toEqual([expect.objectContaining(UNAVAILABLE)])
    await isAnswering()
  })

  it(
    'is ended by the database, which releases its locks, when nobody reads the response',
    { timeout: 90_000 },
    async () => {
      const change = database.write(async (store) => {
        await store.lock('held')
        await sql`select repeat('x', 1000000) from pg_sleep(1), generate_series(1, 100)`.execute(store.query)
      })
      const lost = change.catch((error: unknown) => error)
      await isSleeping()
      proxy.hold()
      const takeLock = () => direct.write((store) => store.lock('held')).then(() => true, ifUnavailable)
      await until('the lock is free', takeLock, LOCK_WAIT_MS)
      proxy.cut()
      expect(await lost).toMatchObject(UNAVAILABLE)
      proxy.restore()
      await isAnswering()
    },
  )
})

describeOnPostgres('A database that does not respond in time', () => {
  const ANSWER_WAIT_MS = 4_000
  let location: TestLocation
  let proxy: CuttableProxy
  let database: Database

  beforeAll(async () => {
    location = await makeLocation('postgres')
    proxy = await startProxy(location.databaseUrl as string)
    database = openPostgresDatabase({ url: proxy.url, connectionsMax: 3, answerWaitMs: ANSWER_WAIT_MS })
  })
  afterAll(async () => {
    await database.close()
    await proxy.stop()
    await location.remove()
  })

  const ask = () => sql<{ one: number }>`select 1 as one`.execute(database.query)
  const askOnAll = () => Promise.allSettled([ask(), ask(), database.write((store) => store.lock('gone'))])

  it('makes each caller wait once when its machine is gone, and occupies no connection after a failover', async () => {
    expect((await askOnAll()).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
    proxy.hold()
    const startedAt = performance.now()
    for (const answer of await askOnAll()) expect(answer).toMatchObject({ status: 'rejected', reason: UNAVAILABLE })
    expect(performance.now() - startedAt).toBeLessThan(2 * ANSWER_WAIT_MS)
    proxy.takeOver()
    expect((await askOnAll()).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
  })

  it('is reported as busy when it cancels a statement itself', async () => {
    const late = sql`select pg_sleep(60)`
    await expect(late.execute(database.query)).rejects.toMatchObject({ reason: 'busy', driverCode: '57014' })
    await expect(database.write(({ query }) => late.execute(query))).rejects.toMatchObject(UNAVAILABLE)
  })
})

function blockThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
