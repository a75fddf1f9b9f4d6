// The memory of large responses: limits per response and in total, one prepared at a time, without blocking the event loop.
import { expect, it } from 'vitest'
import {
  RESPONSE_BYTES_MAX,
  ResponseMemory,
  WAITING_RESPONSES_MAX,
  WAITING_RESPONSES_PER_WORKSPACE_MAX,
} from '../../src/operations/response-memory.ts'
import { writePieces } from '../../src/operations/write-pieces.ts'

it('a response may take up to 72 MiB, and one more byte is refused', () => {
  const held = new ResponseMemory().open()
  held.add(RESPONSE_BYTES_MAX - 1)
  held.add(1)
  expect(() => held.add(1)).toThrow(expect.objectContaining({ code: 'conflict' }) as Error)
})

it('two responses of that size are allowed, and a third when one of them is released', () => {
  const memory = new ResponseMemory()
  const answers = [memory.open(), memory.open()]
  for (const held of answers) held.add(RESPONSE_BYTES_MAX)
  const next = memory.open()
  expect(() => next.add(1)).toThrow(expect.objectContaining({ code: 'unavailable', retryAfterSeconds: 1 }) as Error)
  answers[1]?.release()
  answers[1]?.release()
  next.add(RESPONSE_BYTES_MAX)
  expect(() => memory.open().add(1)).toThrow('too many large responses')
})

it('large responses are prepared sequentially, even after one failed', async () => {
  const memory = new ResponseMemory()
  const steps: string[] = []
  const work = (name: string, fails = false) =>
    memory.prepareLarge('main', async () => {
      steps.push(`${name} begins`)
      await new Promise(setImmediate)
      steps.push(`${name} ends`)
      if (fails) throw new Error(name)
      return name
    })
  const all = await Promise.allSettled([work('a'), work('b', true), work('c')])
  expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(steps).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
})

it('workspaces take turns, regardless of how many requests each has', async () => {
  const memory = new ResponseMemory()
  const order: string[] = []
  const work = (workspaceId: string) => memory.prepareLarge(workspaceId, async () => void order.push(workspaceId))
  await Promise.all(['a', 'a', 'a', 'a', 'b', 'c', 'b'].map(work))
  expect(order).toEqual(['a', 'a', 'b', 'c', 'a', 'b', 'a'])
})

it('eight requests of a workspace may wait, besides those of other workspaces', async () => {
  const memory = new ResponseMemory()
  const one = (workspaceId: string) => memory.prepareLarge(workspaceId, async () => 1)
  const turns = Array.from({ length: 1 + WAITING_RESPONSES_PER_WORKSPACE_MAX }, () => one('busy'))
  await expect(one('busy')).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 })
  expect(await one('other')).toBe(1)
  expect(await Promise.all(turns)).toHaveLength(9)
  expect(await one('busy')).toBe(1)
})

it('32 requests may wait in total', async () => {
  const memory = new ResponseMemory()
  const one = (index: number) => memory.prepareLarge(`workspace ${index}`, async () => 1)
  const turns = Array.from({ length: 1 + WAITING_RESPONSES_MAX }, (_, index) => one(index))
  await expect(one(WAITING_RESPONSES_MAX + 1)).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 })
  expect(await Promise.all(turns)).toHaveLength(33)
  expect(await one(0)).toBe(1)
})

it('a long text is written in pieces, and other work runs between them', async () => {
  let turns = 0
  let isWriting = true
  const takeTurns = () => {
    turns++
    if (isWriting) setImmediate(takeTurns)
  }
  setImmediate(takeTurns)
  const part = 'ü'.repeat(64 * 1024)
  const pieces = await writePieces(Array(40).fill(part) as string[], new ResponseMemory().open())
  isWriting = false
  expect(Buffer.concat(pieces).toString()).toBe(part.repeat(40))
  expect(pieces.map(({ byteLength }) => byteLength / (1024 * 1024))).toEqual([2, 2, 1])
  expect(turns).toBeGreaterThanOrEqual(10)
})

it('an empty text is written without a piece', async () => {
  expect(await writePieces([], new ResponseMemory().open())).toEqual([])
})
