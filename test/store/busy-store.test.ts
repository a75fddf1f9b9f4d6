// Checks that callers of a store that stays locked or has no free connection get 503 in time, and that nothing is lost.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openDatabase } from '../../src/store/open-database.ts'
import { openPostgresDatabase } from '../../src/store/postgres/postgres-database.ts'
import { WRITE_WAIT_MS, type Database } from '../../src/store/store.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'

/** Enough that the test times out if each change waits for the previous one. */
const CHANGES = 4
const LONGER_THAN_ANY_WAIT_MS = WRITE_WAIT_MS * 3
const UNAVAILABLE = { code: 'unavailable', retryAfterSeconds: 1 }

describeEachStore('A busy store', (kind) => {
  let location: TestLocation
  let database: Database
  let other: Database

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    other = openDatabase(location)
  })
  afterAll(async () => {
    await other.close()
    await database.close()
    await location.remove()
  })

  /** Holds a lock in a transaction of its own until the work is done. */
  async function whileLocked(holder: Database, work: () => Promise<void>): Promise<void> {
    const locked = Promise.withResolvers<void>()
    const done = Promise.withResolvers<void>()
    const holding = holder.write(async (store) => {
      // The transaction is idle for longer than the server allows by default.
      if (kind === 'postgres') await sql`set local idle_in_transaction_session_timeout = 0`.execute(store.query)
      await store.lock('busy')
      locked.resolve()
      await done.promise
    })
    await locked.promise
    try {
      await work()
    } finally {
      done.resolve()
      await holding
    }
  }

  it(
    'rejects changes as unavailable when the wait that they share times out',
    { timeout: LONGER_THAN_ANY_WAIT_MS },
    async () => {
      const change = () => {
        return database.write(async (store) => {
          if (kind === 'postgres') await sql`set local lock_timeout = '100ms'`.execute(store.query)
          await store.lock('busy')
        })
      }
      await whileLocked(other, async () => {
        const answers = await Promise.allSettled(Array.from({ length: CHANGES }, change))
        const refused = { status: 'rejected', reason: expect.objectContaining(UNAVAILABLE) as unknown }
        expect(answers).toEqual(Array.from({ length: CHANGES }, () => refused))
      })
      await expect(database.write((store) => store.lock('busy'))).resolves.toBeUndefined()
    },
  )

  if (kind === 'sqlite') return

  it('leaves connections to others while many changes wait for one lock, and carries out all of them', async () => {
    const narrow = openPostgresDatabase({ url: location.databaseUrl as string, connectionsMax: 3 })
    const done: number[] = []
    const changes = Array.from({ length: 20 }, (_, number) => number)
    const change = (number: number) => {
      return narrow.write(async (store) => {
        await store.lock('busy')
        done.push(number)
      })
    }
    let waiting: Promise<unknown> = Promise.resolve()
    await whileLocked(other, async () => {
      waiting = Promise.all(changes.map(change))
      await expect(sql`select 1`.execute(narrow.query)).resolves.toBeDefined()
      await expect(narrow.write((store) => store.lock('another'))).resolves.toBeUndefined()
      expect(done).toEqual([])
    })
    await waiting
    expect(done.toSorted((left, right) => left - right)).toEqual(changes)
    await narrow.close()
  })

  it('limits the time in the queue to the time limit for a lock', async () => {
    const hasty = openPostgresDatabase({ url: location.databaseUrl as string, writeWaitMs: 200 })
    const lock = () => hasty.write((store) => store.lock('busy'))
    await whileLocked(other, async () => {
      const answers = await Promise.allSettled(Array.from({ length: 10 }, lock))
      const refused = { status: 'rejected', reason: expect.objectContaining(UNAVAILABLE) as unknown }
      expect(answers).toEqual(Array.from({ length: 10 }, () => refused))
    })
    await expect(Promise.all(Array.from({ length: 10 }, lock))).resolves.toBeDefined()
    await hasty.close()
  })

  it(
    'rejects queries as unavailable when no connection becomes free in time',
    { timeout: LONGER_THAN_ANY_WAIT_MS },
    async () => {
      const narrow = openPostgresDatabase({ url: location.databaseUrl as string, connectionsMax: 1 })
      await whileLocked(narrow, async () => {
        await expect(sql`select 1`.execute(narrow.query)).rejects.toMatchObject(UNAVAILABLE)
      })
      await narrow.close()
    },
  )
})
