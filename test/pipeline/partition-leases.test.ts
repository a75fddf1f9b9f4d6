// Checks which process leases which partitions of a log in PostgreSQL, also when the clock of the database changes.
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { PartitionLeases } from '../../src/pipeline/follower/partition-leases.ts'
import { countPipelines, releaseLeases, renewLeases } from '../../src/store/entries/partition-leases.ts'
import type { Database } from '../../src/store/store.ts'
import { describeOnPostgres, makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'

const PARTITIONS = 8
const HOUR_MS = 60 * 60 * 1000
const byNumber = (left: number, right: number) => left - right

describeOnPostgres('Leases of partitions', () => {
  let location: TestLocation
  let database: Database

  beforeEach(async () => {
    location = await makeStore('postgres')
    database = await openTestDatabase(location)
  })
  afterEach(async () => {
    await database.close()
    await location.remove()
  })

  const renew = (holder: string) => {
    return database.write((store) => renewLeases(store, { holder, partitions: PARTITIONS, keptMs: 5_000 }))
  }
  const moveExpiries = (byMs: number) => {
    const moved = sql<number>`expires_at + ${byMs}`
    return database.write(({ query }) => query.updateTable('pipeline_members').set({ expires_at: moved }).execute())
  }
  /** Changes the table as if the clock had been set back. */
  const setClockBack = () => moveExpiries(HOUR_MS)

  it('belong to exactly one process each, however many processes there are', async () => {
    const holders = ['first', 'second', 'third']
    for (const holder of [...holders, ...holders]) await renew(holder)
    const held = await Promise.all(holders.map(renew))
    expect(held.map(({ length }) => length).toSorted(byNumber)).toEqual([2, 3, 3])
    expect(held.flat().toSorted(byNumber)).toEqual(Array.from({ length: PARTITIONS }, (_, partition) => partition))
  })

  it('are free at once when their process stops', async () => {
    await renew('stopping')
    await renew('staying')
    await renew('stopping')
    expect(await renew('staying')).toHaveLength(PARTITIONS / 2)
    await database.write((store) => releaseLeases(store, 'stopping'))
    expect(await renew('staying')).toHaveLength(PARTITIONS)
  })

  it('are free before the next renewal when their process is asked to stop', async () => {
    // Pauses no longer end.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const failures: unknown[] = []
    const leases = new PartitionLeases({ database, partitions: PARTITIONS, onFailure: (error) => failures.push(error) })
    leases.start()
    while (leases.held().length < PARTITIONS) await new Promise(setImmediate)
    await new Promise(setImmediate)
    await leases.stop()
    expect(leases.held()).toEqual([])
    expect(await renew('next')).toHaveLength(PARTITIONS)
    expect(failures).toEqual([])
  })

  it('are shared among the processes that renewed theirs in time', async () => {
    await renew('dead')
    await moveExpiries(-HOUR_MS)
    expect(await countPipelines(database)).toBe(0)
    await renew('living')
    expect(await countPipelines(database)).toBe(1)
  })

  it('are free after their process died, even if the clock was set back since', async () => {
    expect(await renew('dead')).toHaveLength(PARTITIONS)
    await setClockBack()
    expect(await renew('living')).toHaveLength(PARTITIONS)
    // Leases that were taken over are no longer free.
    expect(await renew('second')).toEqual([])
  })

  it('stay with their process when the clock is set back', async () => {
    await renew('living')
    await setClockBack()
    expect(await renew('living')).toHaveLength(PARTITIONS)
    expect(await renew('second')).toEqual([])
    expect(await renew('living')).toHaveLength(PARTITIONS / 2)
    expect(await renew('second')).toHaveLength(PARTITIONS / 2)
  })
})
