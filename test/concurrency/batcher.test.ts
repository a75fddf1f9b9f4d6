// The contract of Batcher: bounded batches, and no item waits for the calls of all items before it.
import { expect, it } from 'vitest'
import { Batcher } from '../../src/concurrency/batcher.ts'
import { until } from '../support/server.ts'

const WAIT_MS_MAX = 200
const UNAVAILABLE = { code: 'unavailable', retryAfterSeconds: 1 }

/** A batcher whose calls end when the test says so; the result of each item is the item itself. */
function heldBatcher(bounds: { itemsMax: number; bytesMax?: number }) {
  const batches: (readonly number[])[] = []
  const ends: (() => void)[] = []
  const batcher = new Batcher<number, number>({
    ...bounds,
    bytesOf: (item) => item,
    waitMsMax: WAIT_MS_MAX,
    call: (items) => {
      batches.push(items)
      return new Promise((resolve) => ends.push(() => resolve(items)))
    },
  })
  const hasBegun = (count: number) => until(`call ${count} has begun`, () => batches.length === count)
  return { batcher, batches, endNext: () => ends.shift()?.(), hasBegun }
}

it('combines waiting items into batches bounded in items and in bytes', async () => {
  const { batcher, batches, endNext, hasBegun } = heldBatcher({ itemsMax: 3, bytesMax: 10 })
  const items = [1, 1, 1, 1, 9, 1, 99, 10]
  const answers = Promise.all(items.map((item) => batcher.add(item)))
  const expected = [[1, 1, 1], [1, 9], [1], [99], [10]]
  for (const location of expected.keys()) {
    await hasBegun(location + 1)
    endNext()
  }
  expect(batches).toEqual(expected)
  expect(await answers).toEqual(items)
})

it('counts each item, its bytes and the oldest until it has its result', async () => {
  const { batcher, endNext, hasBegun } = heldBatcher({ itemsMax: 1 })
  const first = batcher.add(5)
  const second = batcher.add(7)
  expect([batcher.size, batcher.bytes, batcher.oldest]).toEqual([2, 12, 5])
  await hasBegun(1)
  endNext()
  await first
  await hasBegun(2)
  expect([batcher.size, batcher.bytes, batcher.oldest]).toEqual([1, 7, 7])
  endNext()
  await second
  await batcher.whenIdle()
  expect([batcher.size, batcher.bytes, batcher.oldest]).toEqual([0, 0, undefined])
})

it('refuses all items that waited too long for a call, and continues with later ones', async () => {
  const { batcher, batches, endNext, hasBegun } = heldBatcher({ itemsMax: 1 })
  const slow = batcher.add(1)
  await hasBegun(1)
  const late = Promise.allSettled([2, 3, 4].map((item) => batcher.add(item)))
  const cameAt = performance.now()
  await until('they have waited too long', () => performance.now() > cameAt + WAIT_MS_MAX)
  const fresh = batcher.add(5)
  endNext()
  expect(await slow).toBe(1)
  for (const answer of await late) expect(answer).toMatchObject({ status: 'rejected', reason: UNAVAILABLE })
  await hasBegun(2)
  endNext()
  expect(await fresh).toBe(5)
  expect(batches).toEqual([[1], [5]])
  expect([batcher.size, batcher.bytes]).toEqual([0, 0])
})
