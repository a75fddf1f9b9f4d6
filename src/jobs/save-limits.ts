// Saves the used units of each rate limit, so that they survive a restart ("Rate limits"). Only for an embedded server, which
// counts in memory; processes over PostgreSQL count there.
import type { Database } from '../store/store.ts'
import { saveLimitWindows, type UsedWindows } from '../store/workspaces/limit-windows.ts'
import type { Job } from './job.ts'

/** A crash forgets the units of at most this time. An orderly stop forgets none (`saveAllLimits`). */
const SAVE_EVERY_MS = 1_000

type Write = (windows: readonly UsedWindows[]) => Promise<void>

/** Limits counted in memory. */
export interface SavableLimits {
  /** Writes the changed windows that must survive a crash. */
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

/** The last save of an orderly stop, after the last request. */
export function saveAllLimits({ database, rateLimits }: SaveLimitsOptions, now: number): Promise<void> {
  return rateLimits.saveAll(writeTo(database), now)
}

function writeTo(database: Database): Write {
  return (windows) => database.write((store) => saveLimitWindows(store, windows))
}
