// The time of the last change of a resource. A client sends it back to change only what it has seen (`if_updated_at`).
import { AppError } from '../app-error.ts'
import { toIso } from '../time-value.ts'

/** Anything with the time of its last change, in milliseconds since the epoch. */
export interface Changing {
  readonly updatedAt: number
}

/**
 * The time of a change. Always after the last one, even within a millisecond or after the clock was set back: two states of a
 * resource never have the same time.
 */
export function changedAt({ updatedAt }: Changing, now: number): number {
  return Math.max(now, updatedAt + 1)
}

/** Throws AppError `conflict` if the resource has changed since `seenAt`. Call it in the transaction that changes the resource. */
export function refuseIfChanged({ updatedAt }: Changing, seenAt: number | undefined): void {
  if (seenAt === undefined || seenAt === updatedAt) return
  const problem = `is ${toIso(seenAt)}, but the last change was at ${toIso(updatedAt)}`
  throw new AppError('conflict', 'Someone else has changed this meanwhile. Read the current state, then try again.', [
    { field: 'if_updated_at', problem },
  ])
}
