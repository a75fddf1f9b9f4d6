// Waits for something at most a given time, and goes on without it.
import { pause } from '../../runtime/pause.ts'

/** Resolves with the outcome, or with undefined once the time is up. Rejects if the promise does so in time. */
export async function within<Value>(waitMs: number, promise: Promise<Value>): Promise<Value | undefined> {
  const settled = new AbortController()
  try {
    return await Promise.race([promise, pause(waitMs, settled.signal).then(() => undefined)])
  } finally {
    settled.abort()
  }
}
