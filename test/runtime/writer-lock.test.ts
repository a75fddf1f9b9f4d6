// A continuous writer yields to other writers, timers and messages.
import { expect, it } from 'vitest'
import { WriterLock } from '../../src/runtime/writer-lock.ts'

it('lets timers and messages run between two writes', async () => {
  const writerLock = new WriterLock()
  const heard = { stop: false }
  setTimeout(() => (heard.stop = true), 1)
  let pieces = 0
  while (!heard.stop && pieces < 1_000_000) {
    pieces++
    await writerLock.yieldToWriters()
  }
  expect(heard.stop).toBe(true)
})

it('waits until no other writer waits', async () => {
  const writerLock = new WriterLock()
  const leave = new WriterLock(writerLock.shared).enter()
  let hasLeft = false
  setTimeout(() => {
    hasLeft = true
    leave()
  }, 20)
  await writerLock.yieldToWriters()
  expect(hasLeft).toBe(true)
})

it('continues when another writer waits for too long', async () => {
  const writerLock = new WriterLock()
  writerLock.enter()
  await expect(writerLock.yieldToWriters()).resolves.toBeUndefined()
})
