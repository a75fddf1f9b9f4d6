// Keeps what is used of a day's limits over restarts of a server whose store is its own, where they are counted in memory
// ("Rate limits"). Processes that share a store count there anyway.
import type { FastifyBaseLogger } from 'fastify'
import { RateLimits } from './http/rate-limits.ts'
import { startRepeating } from './repeat.ts'
import { describeError } from './store/describe-error.ts'
import { listLimitWindows, saveLimitWindows } from './store/limit-windows.ts'
import type { Database } from './store/store.ts'

/** What a crash may give back: the requests of so long. An orderly stop gives back none. */
const SAVE_EVERY_MS = 1_000

/** The limits as they were saved, and what saves them from now on: the function stops, and saves for the last time. */
export async function keepRateLimits(
  database: Database,
  diagnostics: FastifyBaseLogger,
): Promise<{ readonly rateLimits: RateLimits; readonly stop: () => Promise<void> }> {
  const rateLimits = new RateLimits(await listLimitWindows(database))
  const save = () => rateLimits.save((windows) => database.write((store) => saveLimitWindows(store, windows)))
  const onFailed = (error: unknown) => {
    diagnostics.error({ err: describeError(error) }, 'what is used of the limits cannot be saved; trying again')
  }
  const stopRepeating = startRepeating(save, { everyMs: SAVE_EVERY_MS, onFailed })
  const stop = async () => {
    await stopRepeating()
    await save().catch(onFailed)
  }
  return { rateLimits, stop }
}
