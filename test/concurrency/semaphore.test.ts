// The contract of Semaphore: bounded slots in total and per key, bounded queues, fair turns of keys, and bounded waits.
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { Semaphore, type SemaphoreOptions } from '../../src/concurrency/semaphore.ts'
import { until } from '../support/server.ts'

const REFUSED = 'no slot'
const make = (options: Omit<SemaphoreOptions, 'refusal'>) =>
  new Semaphore({ ...options, refusal: () => new Error(REFUSED) })

it('bounds the slots of each key, and of all keys together', () => {
  const semaphore = make({ slotsMax: 3, slotsPerKeyMax: 2 })
  const taken = ['a', 'a', 'a', 'b', 'b'].map((key) => semaphore.tryAcquire(key))
  expect(taken).toEqual([true, true, false, true, false])
  semaphore.release('a')
  expect(semaphore.tryAcquire('b')).toBe(true)
})

it('gives a slot to the caller that has waited longest, before any later one', async () => {
  const semaphore = make({ slotsPerKeyMax: 1 })
  const order: string[] = []
  await semaphore.acquire('a')
  const waiting = ['first', 'second'].map(async (name) => {
    await semaphore.acquire('a')
    order.push(name)
  })
  semaphore.release('a')
  expect(semaphore.tryAcquire('a')).toBe(false)
  await waiting[0]
  semaphore.release('a')
  await waiting[1]
  expect(order).toEqual(['first', 'second'])
})

it('lets keys take turns, however many callers of each wait', async () => {
  const semaphore = make({ slotsMax: 1 })
  const order: string[] = []
  const work = (key: string) => semaphore.run(key, async () => void order.push(key))
  await Promise.all(['a', 'a', 'a', 'a', 'b', 'c', 'b'].map(work))
  expect(order).toEqual(['a', 'a', 'b', 'c', 'a', 'b', 'a'])
})

it('skips a key that has all of its slots', async () => {
  const semaphore = make({ slotsMax: 2, slotsPerKeyMax: 1 })
  await semaphore.acquire('a')
  await semaphore.acquire('b')
  const [again, other] = [semaphore.acquire('a'), semaphore.acquire('c')]
  semaphore.release('b')
  await other
  semaphore.release('a')
  await expect(again).resolves.toBeUndefined()
})

it('refuses a caller when too many callers wait, of its key or of all keys', async () => {
  const semaphore = make({ slotsMax: 1, waitingMax: 3, waitingPerKeyMax: 2 })
  const gate = Promise.withResolvers<void>()
  const work = (key: string) => semaphore.run(key, () => gate.promise)
  const running = ['a', 'a', 'a'].map(work)
  await expect(work('a')).rejects.toThrow(REFUSED)
  await expect(semaphore.acquire('b', { waitingPerKeyMax: 0 })).rejects.toThrow(REFUSED)
  running.push(work('b'))
  await expect(work('c')).rejects.toThrow(REFUSED)
  gate.resolve()
  await Promise.all(running)
  await expect(work('c')).resolves.toBeUndefined()
})

it('refuses a caller whose wait timed out, and gives its turn to the next', async () => {
  const semaphore = make({ slotsMax: 1, waitingMax: 2 })
  await semaphore.acquire('a')
  const late = semaphore.acquire('b', { waitMs: 1 })
  const patient = semaphore.acquire('b')
  await expect(late).rejects.toThrow(REFUSED)
  // The queue accepts a caller again.
  const another = semaphore.acquire('c')
  semaphore.release('a')
  await patient
  semaphore.release('b')
  await expect(another).resolves.toBeUndefined()
})

it('releases the slot when the task fails', async () => {
  const semaphore = make({ slotsMax: 1, waitingMax: 0 })
  const failing = semaphore.run('a', () => Promise.reject(new Error('broken')))
  await expect(failing).rejects.toThrow('broken')
  await expect(semaphore.run('b', async () => 'done')).resolves.toBe('done')
})

it('never exceeds its bounds, and runs everything eventually', async () => {
  const jobs = fc.array(fc.record({ key: fc.constantFrom('a', 'b', 'c'), ticks: fc.nat(3) }), { maxLength: 30 })
  const bounds = fc.record({ slotsMax: fc.integer({ min: 1, max: 4 }), slotsPerKeyMax: fc.integer({ min: 1, max: 3 }) })
  await fc.assert(
    fc.asyncProperty(jobs, bounds, async (all, limits) => {
      const semaphore = make(limits)
      const running: string[] = []
      let done = 0
      const work = async ({ key, ticks }: { key: string; ticks: number }) => {
        running.push(key)
        expect(running.length).toBeLessThanOrEqual(limits.slotsMax)
        expect(running.filter((other) => other === key).length).toBeLessThanOrEqual(limits.slotsPerKeyMax)
        for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
        running.splice(running.indexOf(key), 1)
        done++
      }
      const ended = Promise.all(all.map((job) => semaphore.run(job.key, () => work(job))))
      await until('all work is done', () => done === all.length)
      await ended
    }),
  )
})
