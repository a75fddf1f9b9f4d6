// What the messages of a run come to, from their number in each state.
import type { MessageState } from '../../../../src/core/delivery/message-state.ts'

type Counts = Readonly<Record<string, number>>

/** People who are sent a message, and whose message has its end or waits for a decision. */
const DONE: readonly MessageState[] = ['sent', 'failed', 'in_doubt']
const OPEN: readonly MessageState[] = ['queued', 'sending', 'deferred']

/** Without removed people and control groups, who are sent nothing. */
export function countMessages(states: Counts): { readonly done: number; readonly open: number; readonly all: number } {
  const done = countIn(states, DONE)
  const open = countIn(states, OPEN)
  return { done, open, all: done + open }
}

export function countIn(states: Counts, which: readonly MessageState[]): number {
  return which.reduce((sum, state) => sum + (states[state] ?? 0), 0)
}
