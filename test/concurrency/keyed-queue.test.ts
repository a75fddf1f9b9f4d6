// The contract of KeyedQueue: one task per key at a time, and a bounded number that wait.
import { expect, it } from 'vitest'
import { KeyedQueue, QUEUED_PER_KEY_MAX } from '../../src/concurrency/keyed-queue.ts'

/** A task that records when it begins, and ends when its gate opens. */
function gated(noted: string[], name: string) {
  const gate = Promise.withResolvers<string>()
  const work = () => {
    noted.push(name)
    return gate.promise
  }
  return { work, open: () => gate.resolve(name), fail: () => gate.reject(new Error(name)) }
}

it('runs tasks of one key one after the other, even after a failure, and other keys concurrently', async () => {
  const queue = new KeyedQueue()
  const noted: string[] = []
  const [first, second, third, other] = ['first', 'second', 'third', 'other'].map((name) => gated(noted, name)) as [
    ReturnType<typeof gated>,
    ReturnType<typeof gated>,
    ReturnType<typeof gated>,
    ReturnType<typeof gated>,
  ]
  const taken = [first, second, third].map(({ work }) => queue.run('a', work))
  const beside = queue.run('b', other.work)
  other.open()
  expect(await beside).toBe('other')
  expect(noted).toEqual(['first', 'other'])
  first.fail()
  await expect(taken[0]).rejects.toThrow('first')
  second.open()
  expect(await taken[1]).toBe('second')
  third.open()
  expect(await taken[2]).toBe('third')
  expect(noted).toEqual(['first', 'other', 'second', 'third'])
})

it('refuses a task when too many wait, until one is done', async () => {
  const queue = new KeyedQueue()
  const running = gated([], 'running')
  const taken = [running, ...Array.from({ length: QUEUED_PER_KEY_MAX }, () => running)].map(({ work }) => {
    return queue.run('a', work)
  })
  await expect(queue.run('a', async () => 'late')).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 })
  running.open()
  await Promise.all(taken)
  expect(await queue.run('a', async () => 'again')).toBe('again')
})

it('lets as many tasks wait as the caller specifies', async () => {
  const queue = new KeyedQueue()
  const running = gated([], 'running')
  const taken = [queue.run('a', running.work, 1), queue.run('a', running.work, 1)]
  await expect(queue.run('a', running.work, 1)).rejects.toMatchObject({ code: 'unavailable' })
  running.open()
  expect(await Promise.all(taken)).toEqual(['running', 'running'])
})

it('does not begin a task that is no longer wanted at its turn', async () => {
  const queue = new KeyedQueue()
  const running = gated([], 'running')
  let isWanted = true
  const noted: string[] = []
  const first = queue.run('a', running.work)
  const unwanted = queue.whileWanted(() => isWanted).run('a', gated(noted, 'unwanted').work)
  const wanted = queue.run('a', async () => void noted.push('wanted'))
  isWanted = false
  running.open()
  await first
  await expect(unwanted).rejects.toMatchObject({ code: 'invalid_request' })
  await wanted
  expect(noted).toEqual(['wanted'])
})

it('refuses tasks that wait once it is closed, and finishes those that run', async () => {
  const queue = new KeyedQueue()
  const running = gated([], 'running')
  const taken = [queue.run('a', running.work), queue.run('b', running.work)]
  const waiting = ['a', 'a', 'b'].map((key) => queue.run(key, running.work))
  queue.close()
  const late = queue.run('a', running.work)
  for (const refused of [...waiting, late]) await expect(refused).rejects.toMatchObject({ code: 'unavailable' })
  running.open()
  expect(await Promise.all(taken)).toEqual(['running', 'running'])
})
