// How many messages begin in a second.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { SlidingRate } from '../../../src/delivery/smtp/sliding-rate.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** The times at which so many callers began. */
async function begun(rate: SlidingRate, count: number): Promise<number[]> {
  const start = performance.now()
  const times: number[] = []
  const all = Promise.all(
    Array.from({ length: count }, () => rate.take().then(() => times.push(performance.now() - start))),
  )
  await vi.runAllTimersAsync()
  await all
  return times
}

function mostInASecond(times: readonly number[]): number {
  return Math.max(...times.map((from) => times.filter((time) => time >= from && time <= from + 1_000).length))
}

describe('a sliding rate', () => {
  it('lets at most n begin in any second, and n in most', async () => {
    const times = await begun(new SlidingRate(14), 100)
    expect(mostInASecond(times)).toBe(14)
    expect(times.at(-1)).toBeLessThan((100 / 14) * 1_100)
  })

  it('counts seconds that begin between those of the clock', async () => {
    const rate = new SlidingRate(2)
    const first = await begun(rate, 1)
    await vi.advanceTimersByTimeAsync(900)
    const others = await begun(rate, 4)
    expect(mostInASecond([...first, ...others.map((time) => time + 900)])).toBe(2)
  })

  it('lets callers begin in their order', async () => {
    const rate = new SlidingRate(1)
    const order: number[] = []
    const all = Promise.all([1, 2, 3].map((number) => rate.take().then(() => order.push(number))))
    await vi.runAllTimersAsync()
    await all
    expect(order).toEqual([1, 2, 3])
  })

  it.each([
    ['faster', 4, 6],
    ['slower', 1, 1],
  ])('takes a %s rate at once', async (_how, changed, inTheFirstSeconds) => {
    const rate = new SlidingRate(2)
    let count = 0
    const all = Promise.all(Array.from({ length: 8 }, () => rate.take().then(() => count++)))
    await vi.advanceTimersByTimeAsync(0)
    expect(count).toBe(2)
    rate.rate = changed
    await vi.advanceTimersByTimeAsync(1_100)
    expect(count - 2).toBe(inTheFirstSeconds)
    await vi.runAllTimersAsync()
    await all
  })

  it('begins a second later where somebody else may have used it', async () => {
    const rate = new SlidingRate(2)
    rate.hold()
    const times = await begun(rate, 3)
    expect(times[0]).toBeGreaterThan(1_000)
    expect(times[1]).toBe(times[0])
    expect(mostInASecond(times)).toBe(2)
  })

  it('refuses the caller that would be the 1,001st to wait', async () => {
    const rate = new SlidingRate(1)
    const waiting = Array.from({ length: 1_001 }, () => rate.take())
    expect(() => rate.take()).toThrow('at most 1000')
    await vi.runAllTimersAsync()
    await Promise.all(waiting)
  })
})
