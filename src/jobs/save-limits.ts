// Saves how much of each rate limit is used, so that it survives a restart ("Rate limits"). Only for a server that counts its limits
// in memory; processes that share a store count them in PostgreSQL.
import type { Database } from '../store/store.ts'
import { saveLimitWindows, type UsedWindows } from '../store/workspaces/limit-windows.ts'
import type { Job } from './job.ts'

/** A crash may give back the requests of this time. An orderly stop gives back none (`saveAllLimits`). */
const SAVE_EVERY_MS = 1_000

type Write = (windows: readonly UsedWindows[]) => Promise<void>

/** Limits counted in memory. */
export interface SavableLimits {
  /** Writes the windows that changed since the last call and outlive a crash. */
  save(write: Write): Promise<void>
  /** Writes all windows that are open at `now`. */
  saveAll(write: Write, now: number): Promise<void>
}

export interface SaveLimitsOptions {
  readonly database: Database
  readonly rateLimits: SavableLimits
}

export function saveLimits({ database, rateLimits }: SaveLimitsOptions): Job {
  return {
    name: 'save how much of each limit is used',
    everyMs: SAVE_EVERY_MS,
    run: () => rateLimits.save(writeTo(database)),
  }
}

/** The last save of an orderly stop, when no request can come any more. */
export function saveAllLimits({ database, rateLimits }: SaveLimitsOptions, now: number): Promise<void> {
  return rateLimits.saveAll(writeTo(database), now)
}

function writeTo(database: Database): Write {
  return (windows) => database.write((store) => saveLimitWindows(store, windows))
}
