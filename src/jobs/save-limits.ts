// Keeps what is used of the limits across restarts of a server that has its store to itself, where they are counted in memory
// ("Rate limits"). Processes that share a store count there anyway.
import type { FastifyBaseLogger } from 'fastify'
import { RateLimits } from '../http/limits/rate-limits.ts'
import { startRepeating } from '../runtime/repeat.ts'
import { describeError } from '../store/describe-error.ts'
import { listLimitWindows, saveLimitWindows, type UsedWindows } from '../store/workspaces/limit-windows.ts'
import type { Database } from '../store/store.ts'

/** What a crash may give back of the daily limits: the requests of this time. An orderly stop gives back nothing of any limit. */
const SAVE_EVERY_MS = 1_000

/** The limits as they were saved. From now on they are saved repeatedly; `stop` ends that, and saves for the last time. */
export async function keepRateLimits(
  database: Database,
  { clock, diagnostics }: { readonly clock: () => number; readonly diagnostics: FastifyBaseLogger },
): Promise<{ readonly rateLimits: RateLimits; readonly stop: () => Promise<void> }> {
  const rateLimits = new RateLimits(await listLimitWindows(database))
  const write = (windows: readonly UsedWindows[]) => database.write((store) => saveLimitWindows(store, windows))
  const onFailed = (error: unknown) => {
    diagnostics.error({ err: describeError(error) }, 'cannot save how much of each limit is used; retrying')
  }
  const stopRepeating = startRepeating(() => rateLimits.save(write), { everyMs: SAVE_EVERY_MS, onFailed })
  const stop = async () => {
    await stopRepeating()
    await rateLimits.saveAll(write, clock()).catch(onFailed)
  }
  return { rateLimits, stop }
}
