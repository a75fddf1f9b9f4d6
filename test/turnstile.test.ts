// A writer that writes without pause lets others have their turn, and hears of what comes meanwhile.
import { expect, it } from 'vitest'
import { Turnstile } from '../src/store/turnstile.ts'

it('lets a timer and a message come between two pieces of work', async () => {
  const turnstile = new Turnstile()
  const heard = { stop: false }
  setTimeout(() => (heard.stop = true), 1)
  let pieces = 0
  while (!heard.stop && pieces < 1_000_000) {
    pieces++
    await turnstile.letOthersPass()
  }
  expect(heard.stop).toBe(true)
})

it('waits until nobody else wants to write', async () => {
  const turnstile = new Turnstile()
  const leave = new Turnstile(turnstile.shared).enter()
  let hasLeft = false
  setTimeout(() => {
    hasLeft = true
    leave()
  }, 20)
  await turnstile.letOthersPass()
  expect(hasLeft).toBe(true)
})

it('goes on when somebody wants to write for too long', async () => {
  const turnstile = new Turnstile()
  turnstile.enter()
  await expect(turnstile.letOthersPass()).resolves.toBeUndefined()
})
