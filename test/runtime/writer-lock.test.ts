// A writer that writes without pause lets others have their turn, and hears of what comes meanwhile.
import { expect, it } from 'vitest'
import { WriterLock } from '../../src/runtime/writer-lock.ts'

it('lets a timer and a message come between two pieces of work', async () => {
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

it('waits until nobody else wants to write', async () => {
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

it('goes on when somebody wants to write for too long', async () => {
  const writerLock = new WriterLock()
  writerLock.enter()
  await expect(writerLock.yieldToWriters()).resolves.toBeUndefined()
})
