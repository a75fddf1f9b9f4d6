// Holds the turn that requests of one workspace wait for, so that a test sees who need not wait for them.
import { expect } from 'vitest'
import type { TestServer } from './server.ts'

/** How many others are answered meanwhile: those in a burst that did not wait would be answered in that time. */
const OTHERS = 30

interface HeldBurst<Answer> {
  /** The key of the turn. */
  readonly turn: string
  readonly size: number
  send(index: number): Promise<Answer>
  /** Asks for something else, and expects the right answer. */
  askOther(): Promise<void>
}

/**
 * Sends a burst whose turn is held, expects that others are answered and nothing of the burst is, lets go of the turn and gives
 * the answers to the burst.
 */
export async function expectOthersFirst<Answer>({ queue }: TestServer, held: HeldBurst<Answer>): Promise<Answer[]> {
  const turn = Promise.withResolvers<void>()
  const holding = queue.run(held.turn, () => turn.promise)
  let answered = 0
  const burst = Array.from({ length: held.size }, (_, index) => held.send(index).finally(() => void answered++))
  try {
    for (let count = 0; count < OTHERS; count++) await held.askOther()
    expect(answered).toBe(0)
  } finally {
    turn.resolve()
    await holding
  }
  return Promise.all(burst)
}
