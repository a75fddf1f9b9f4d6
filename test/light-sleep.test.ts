// How the follower of the log sleeps while all is quiet, and is woken.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openLog, openLogReader } from '../src/log/open-log.ts'
import type { LogReader, LogWriter } from '../src/log/event-log.ts'
import { LogFollower } from '../src/pipeline/follower/follow-log.ts'
import { LightSleep, makeSleep, wakerOf } from '../src/pipeline/follower/light-sleep.ts'
import { createWorkspace } from '../src/store/workspaces/create-workspace.ts'
import { idempotencyKeysIn } from '../src/store/entries/idempotency-keys.ts'
import { findReceipt } from '../src/store/entries/request-receipts.ts'
import type { Database } from '../src/store/store.ts'
import { Turnstile } from '../src/store/turnstile.ts'
import { until } from './server.ts'
import { makeStore, openTestDatabase, type TestPlace } from './stores.ts'

const HOUR_MS = 60 * 60 * 1000

describe('A light sleep', () => {
  it('ends when it has lasted long enough', async () => {
    await expect(new LightSleep().sleep(1)).resolves.toBeUndefined()
  })

  it('ends when the sleeper is woken', async () => {
    const sleep = new LightSleep()
    sleep.listen()
    const slept = sleep.sleep(HOUR_MS)
    sleep.wake()
    await expect(slept).resolves.toBeUndefined()
  })

  it('does not begin where the sleeper was woken since it listened', async () => {
    const sleep = new LightSleep()
    sleep.listen()
    sleep.wake()
    await expect(sleep.sleep(HOUR_MS)).resolves.toBeUndefined()
  })

  it('is told of what is new once, however often there is something, until the sleeper listens again', () => {
    const shared = makeSleep()
    const sleep = new LightSleep(shared)
    let told = 0
    const wake = wakerOf(shared, () => told++)
    wake()
    expect(told).toBe(0)
    sleep.listen()
    for (let count = 0; count < 3; count++) wake()
    expect(told).toBe(1)
    sleep.listen()
    wake()
    expect(told).toBe(2)
  })
})

/** A sleep that lasts longer than any test unless it is woken. */
class DeepSleep extends LightSleep {
  isAsleep = false

  override async sleep(): Promise<void> {
    this.isAsleep = true
    await super.sleep(HOUR_MS)
    this.isAsleep = false
  }
}

describe('A follower of the log', () => {
  let place: TestPlace
  let database: Database
  let log: LogWriter
  let logReader: LogReader
  let follower: LogFollower
  let sleep: DeepSleep

  beforeEach(async () => {
    place = await makeStore('sqlite')
    database = await openTestDatabase(place)
    await createWorkspace(database, 'main', {}, Date.now())
    const shared = makeSleep()
    sleep = new DeepSleep(shared)
    const wake = wakerOf(shared, () => sleep.wake())
    log = await openLog({ ...place, natsUrl: undefined }, { onCommit: wake, keys: idempotencyKeysIn(database) })
    logReader = await openLogReader({ ...place, natsUrl: undefined })
    const turnstile = new Turnstile()
    const [onBatch, onFailure] = [() => {}, () => {}]
    follower = new LogFollower({ database, logReader, turnstile, sleep, clock: Date.now, onBatch, onFailure })
    follower.start()
  })
  afterEach(async () => {
    await follower.stop()
    await log.close()
    await logReader.close()
    await database.close()
    await place.remove()
  })

  async function append(requestId: string): Promise<void> {
    const body = Buffer.from(JSON.stringify({ customer_id: 'anna', actions: [{ action: 'Order Placed' }] }))
    const entry = { kind: 'track_events', workspaceId: 'main', requestId, receivedAt: Date.now(), context: {} } as const
    await log.append({ ...entry, body, events: 1, partitionKey: 'anna' })
  }

  it('that sleeps applies what is appended, one entry after the other', async () => {
    for (const requestId of ['first', 'second', 'third']) {
      await until('it sleeps', () => sleep.isAsleep)
      await append(requestId)
      const receipt = await until('it is applied', () => findReceipt(database, 'main', requestId))
      expect(receipt).toMatchObject({ status: 'processed', events: 1 })
    }
  })

  it('that sleeps stops at once', async () => {
    await until('it sleeps', () => sleep.isAsleep)
    await expect(follower.stop()).resolves.toBeUndefined()
  })
})
