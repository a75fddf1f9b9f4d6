// The follower of the log waits while there is no work, and an append wakes it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openLog, openLogReader } from '../../src/log/open-log.ts'
import type { LogReader, LogWriter } from '../../src/log/event-log.ts'
import { LogFollower } from '../../src/pipeline/follower/follow-log.ts'
import { Wakeup, makeWakeupState, wakerOf } from '../../src/runtime/wakeup.ts'
import { createWorkspace } from '../../src/actions/create-workspace.ts'
import { idempotencyKeysIn } from '../../src/store/entries/idempotency-keys.ts'
import { findReceipt } from '../../src/store/entries/request-receipts.ts'
import type { Database } from '../../src/store/store.ts'
import { WriterLock } from '../../src/runtime/writer-lock.ts'
import { until } from '../support/server.ts'
import { makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'

const HOUR_MS = 60 * 60 * 1000

describe('A wait for a wakeup', () => {
  it('ends after its time', async () => {
    await expect(new Wakeup().wait(1)).resolves.toBeUndefined()
  })

  it('ends at a wakeup', async () => {
    const wakeup = new Wakeup()
    wakeup.listen()
    const waited = wakeup.wait(HOUR_MS)
    wakeup.wake()
    await expect(waited).resolves.toBeUndefined()
  })

  it('ends at once if a wakeup came since the thread listened', async () => {
    const wakeup = new Wakeup()
    wakeup.listen()
    wakeup.wake()
    await expect(wakeup.wait(HOUR_MS)).resolves.toBeUndefined()
  })

  it('gets one wakeup for many appends until the thread listens again', () => {
    const shared = makeWakeupState()
    const wakeup = new Wakeup(shared)
    let told = 0
    const wake = wakerOf(shared, () => told++)
    wake()
    expect(told).toBe(0)
    wakeup.listen()
    for (let count = 0; count < 3; count++) wake()
    expect(told).toBe(1)
    wakeup.listen()
    wake()
    expect(told).toBe(2)
  })
})

/** Waits longer than any test unless it is woken. */
class LongWait extends Wakeup {
  isWaiting = false

  override async wait(): Promise<void> {
    this.isWaiting = true
    await super.wait(HOUR_MS)
    this.isWaiting = false
  }
}

describe('A follower of the log', () => {
  let location: TestLocation
  let database: Database
  let log: LogWriter
  let logReader: LogReader
  let follower: LogFollower
  let wakeup: LongWait

  beforeEach(async () => {
    location = await makeStore('sqlite')
    database = await openTestDatabase(location)
    await createWorkspace(database, 'main', {}, Date.now())
    const shared = makeWakeupState()
    wakeup = new LongWait(shared)
    const wake = wakerOf(shared, () => wakeup.wake())
    log = await openLog({ ...location, natsUrl: undefined }, { onCommit: wake, keys: idempotencyKeysIn(database) })
    logReader = await openLogReader({ ...location, natsUrl: undefined })
    const writerLock = new WriterLock()
    const [onBatch, onFailure] = [() => {}, () => {}]
    follower = new LogFollower({ database, logReader, writerLock, wakeup, clock: Date.now, onBatch, onFailure })
    follower.start()
  })
  afterEach(async () => {
    await follower.stop()
    await log.close()
    await logReader.close()
    await database.close()
    await location.remove()
  })

  async function append(requestId: string): Promise<void> {
    const body = Buffer.from(JSON.stringify({ customer_id: 'anna', actions: [{ action: 'Order Placed' }] }))
    const entry = { kind: 'track_events', workspaceId: 'main', requestId, receivedAt: Date.now(), context: {} } as const
    await log.append({ ...entry, body, events: 1, partitionKey: 'anna' })
  }

  it('applies appended entries one by one while it waits', async () => {
    for (const requestId of ['first', 'second', 'third']) {
      await until('it waits', () => wakeup.isWaiting)
      await append(requestId)
      const receipt = await until('it is applied', () => findReceipt(database, 'main', requestId))
      expect(receipt).toMatchObject({ status: 'processed', events: 1 })
    }
  })

  it('stops at once while it waits', async () => {
    await until('it waits', () => wakeup.isWaiting)
    await expect(follower.stop()).resolves.toBeUndefined()
  })
})
