// Calls that gather what waits: in bounded groups, and nobody waits for the calls of everyone who came before.
import { expect, it } from 'vitest'
import { GroupedCalls } from '../src/log/grouped-calls.ts'
import { until } from './server.ts'

const WAIT_MS_MAX = 200
const UNAVAILABLE = { code: 'unavailable', retryAfterSeconds: 1 }

/** Calls that end when a test says so; each answers its items with the items themselves. */
function heldCalls(bounds: { itemsMax: number; bytesMax?: number }) {
  const groups: (readonly number[])[] = []
  const ends: (() => void)[] = []
  const calls = new GroupedCalls<number, number>({
    ...bounds,
    bytesOf: (item) => item,
    waitMsMax: WAIT_MS_MAX,
    call: (items) => {
      groups.push(items)
      return new Promise((resolve) => ends.push(() => resolve(items)))
    },
  })
  const hasBegun = (count: number) => until(`call ${count} has begun`, () => groups.length === count)
  return { calls, groups, endNext: () => ends.shift()?.(), hasBegun }
}

it('gathers what waits into groups of so many items, and of so many bytes', async () => {
  const { calls, groups, endNext, hasBegun } = heldCalls({ itemsMax: 3, bytesMax: 10 })
  const items = [1, 1, 1, 1, 9, 1, 99, 10]
  const answers = Promise.all(items.map((item) => calls.ask(item)))
  const expected = [[1, 1, 1], [1, 9], [1], [99], [10]]
  for (const place of expected.keys()) {
    await hasBegun(place + 1)
    endNext()
  }
  expect(groups).toEqual(expected)
  expect(await answers).toEqual(items)
})

it('tells what waits until it is answered', async () => {
  const { calls, endNext, hasBegun } = heldCalls({ itemsMax: 1 })
  const first = calls.ask(5)
  const second = calls.ask(7)
  expect([calls.size, calls.bytes, calls.oldest]).toEqual([2, 12, 5])
  await hasBegun(1)
  endNext()
  await first
  await hasBegun(2)
  expect([calls.size, calls.bytes, calls.oldest]).toEqual([1, 7, 7])
  endNext()
  await second
  await calls.whenIdle()
  expect([calls.size, calls.bytes, calls.oldest]).toEqual([0, 0, undefined])
})

it('refuses at once all who waited too long behind a call, and goes on with those who came later', async () => {
  const { calls, groups, endNext, hasBegun } = heldCalls({ itemsMax: 1 })
  const slow = calls.ask(1)
  await hasBegun(1)
  const late = Promise.allSettled([2, 3, 4].map((item) => calls.ask(item)))
  const cameAt = performance.now()
  await until('they have waited too long', () => performance.now() > cameAt + WAIT_MS_MAX)
  const fresh = calls.ask(5)
  endNext()
  expect(await slow).toBe(1)
  for (const answer of await late) expect(answer).toMatchObject({ status: 'rejected', reason: UNAVAILABLE })
  await hasBegun(2)
  endNext()
  expect(await fresh).toBe(5)
  expect(groups).toEqual([[1], [5]])
  expect([calls.size, calls.bytes]).toEqual([0, 0])
})
