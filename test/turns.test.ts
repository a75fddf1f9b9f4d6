// Changes to the same thing that follow one another.
import { expect, it } from 'vitest'
import { Turns, TURNS_WAITING_MAX } from '../src/operations/turns.ts'

/** Work that ends when its gate opens, and notes when it begins. */
function gated(noted: string[], name: string) {
  const gate = Promise.withResolvers<string>()
  const work = () => {
    noted.push(name)
    return gate.promise
  }
  return { work, open: () => gate.resolve(name), fail: () => gate.reject(new Error(name)) }
}

it('takes one after the other for one key, whatever becomes of each, and others beside', async () => {
  const turns = new Turns()
  const noted: string[] = []
  const [first, second, third, other] = ['first', 'second', 'third', 'other'].map((name) => gated(noted, name)) as [
    ReturnType<typeof gated>,
    ReturnType<typeof gated>,
    ReturnType<typeof gated>,
    ReturnType<typeof gated>,
  ]
  const taken = [first, second, third].map(({ work }) => turns.take('a', work))
  const beside = turns.take('b', other.work)
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

it('refuses who would be one too many to wait, until another is over', async () => {
  const turns = new Turns()
  const running = gated([], 'running')
  const taken = [running, ...Array.from({ length: TURNS_WAITING_MAX }, () => running)].map(({ work }) => {
    return turns.take('a', work)
  })
  await expect(turns.take('a', async () => 'late')).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 })
  running.open()
  await Promise.all(taken)
  expect(await turns.take('a', async () => 'again')).toBe('again')
})

it('lets as many wait as is said', async () => {
  const turns = new Turns()
  const running = gated([], 'running')
  const taken = [turns.take('a', running.work, 1), turns.take('a', running.work, 1)]
  await expect(turns.take('a', running.work, 1)).rejects.toMatchObject({ code: 'unavailable' })
  running.open()
  expect(await Promise.all(taken)).toEqual(['running', 'running'])
})
