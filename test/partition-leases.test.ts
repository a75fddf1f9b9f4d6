// Which process follows which partitions of a log in PostgreSQL, and what the clock of the database does to that.
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { renewLeases } from '../src/store/partition-leases.ts'
import type { Database } from '../src/store/store.ts'
import { describeOnPostgres, makePlace, openTestDatabase, type TestPlace } from './stores.ts'

const PARTITIONS = 8
const HOUR_MS = 60 * 60 * 1000

describeOnPostgres('Leases of partitions', () => {
  let place: TestPlace
  let database: Database

  beforeEach(async () => {
    place = await makePlace('postgres')
    database = await openTestDatabase(place)
  })
  afterEach(async () => {
    await database.close()
    await place.remove()
  })

  const renew = (holder: string) => {
    return database.write((store) => renewLeases(store, { holder, partitions: PARTITIONS, keptMs: 5_000 }))
  }
  /** Leaves the table as a clock that is set back does. */
  const setClockBack = () => {
    const later = sql<number>`expires_at + ${HOUR_MS}`
    return database.write(({ query }) => query.updateTable('pipeline_members').set({ expires_at: later }).execute())
  }

  it('of a process that died are free for others, also where the clock was set back since', async () => {
    expect(await renew('dead')).toHaveLength(PARTITIONS)
    await setClockBack()
    expect(await renew('living')).toHaveLength(PARTITIONS)
  })

  it('stay with the process that has them where the clock was set back', async () => {
    await renew('living')
    await setClockBack()
    expect(await renew('living')).toHaveLength(PARTITIONS)
    expect(await renew('second')).toEqual([])
    expect(await renew('living')).toHaveLength(PARTITIONS / 2)
    expect(await renew('second')).toHaveLength(PARTITIONS / 2)
  })
})
