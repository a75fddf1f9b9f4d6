// What a log says when it cannot take or give entries now, but may soon be able to.
import { AppError } from '../core/app-error.ts'
import type { NewEntry, WaitingBounds } from './event-log.ts'

const RETRY_AFTER_SECONDS = 1

export function unavailable(message: string): AppError {
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}

/** What a log has taken and not yet written. */
interface Waiting {
  readonly isClosed: boolean
  readonly entries: number
  readonly bytes: number
}

/** Why an entry may not join those that wait; undefined when it may. */
export function findRefusal(entry: NewEntry, waiting: Waiting, bounds: WaitingBounds): AppError | undefined {
  if (waiting.isClosed) return unavailable('The server is stopping. Retry after 1 second.')
  if (waiting.entries >= bounds.entries || waiting.bytes + entry.body.byteLength > bounds.bytes) {
    return unavailable('Too many requests are waiting for the log. Retry after 1 second.')
  }
  return undefined
}
