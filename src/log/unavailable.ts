// The error of a log that may work again soon, and the check of what may wait for its commit.
import { AppError, serverStops } from '../core/app-error.ts'
import type { NewEntry, WaitingBounds } from './event-log.ts'

const RETRY_AFTER_SECONDS = 1

/** The log does not work at the moment. The message is for operators: it may name the log's database or server, and their codes. */
export class LogUnavailable extends AppError {}

export function unavailable(message: string): LogUnavailable {
  return new LogUnavailable('unavailable', message, [], RETRY_AFTER_SECONDS)
}

/** Entries that a log has accepted and not written yet. */
interface Waiting {
  readonly isClosed: boolean
  readonly entries: number
  readonly bytes: number
}

/** Why a log refuses an entry; undefined if it accepts it. */
export function findRefusal(entry: NewEntry, waiting: Waiting, bounds: WaitingBounds): AppError | undefined {
  if (waiting.isClosed) return serverStops()
  if (waiting.entries >= bounds.entries || waiting.bytes + entry.body.byteLength > bounds.bytes) {
    return tooManyWaiting()
  }
  return undefined
}

function tooManyWaiting(): AppError {
  const message = 'Too many requests are waiting for the log. Retry after 1 second.'
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
