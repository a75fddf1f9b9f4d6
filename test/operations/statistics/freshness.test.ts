// `processed_until` when clocks were wrong, on a real store and log.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { DAY_MS } from '../../../src/core/time-zone.ts'
import { Freshness } from '../../../src/operations/statistics/freshness.ts'
import { NOW, openPipelineBench, type PipelineBench } from '../../support/pipeline-bench.ts'

let bench: PipelineBench

beforeEach(async () => {
  bench = await openPipelineBench('sqlite')
  await bench.makeWorkspace()
})
afterEach(() => bench.close())

it('processed_until stands still while an event waits that a clock ahead has dated', async () => {
  let now = NOW
  const freshness = new Freshness({ ...bench, clock: () => now })
  const body = { type: 'event', customer_id: 'c1', actions: [{ action: 'Opened' }] }
  expect(await freshness.processedUntil()).toBe(NOW)
  await bench.append({ body, receivedAt: NOW + 2 * DAY_MS }, { body, receivedAt: NOW + 1 })
  now = NOW + 2
  expect(await freshness.processedUntil()).toBe(NOW)
  await bench.follow()
  expect(await freshness.processedUntil()).toBe(NOW + 2)
})

it('processed_until never goes back when the clock is set back', async () => {
  let now = NOW
  const freshness = new Freshness({ ...bench, clock: () => now })
  await freshness.processedUntil()
  now = NOW - DAY_MS
  expect(await freshness.processedUntil()).toBe(NOW)
})
