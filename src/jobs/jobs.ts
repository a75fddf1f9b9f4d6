// Lists all jobs of a server and starts them.
import type { FastifyBaseLogger } from 'fastify'
import { startRepeating } from '../runtime/repeat.ts'
import { describeError } from '../store/describe-error.ts'
import type { DatabaseLocation } from '../store/open-database.ts'
import { forgetOldAuditEntries } from './forget-audit-entries.ts'
import { forgetOld, type ForgetOptions } from './forget-old.ts'
import { deleteEventsInTime } from './delete-events-in-time.ts'
import type { Job } from './job.ts'
import { recountCampaigns } from './recount-campaigns.ts'
import { saveNotedUses, type SaveKeyUsesOptions } from './save-key-uses.ts'
import { saveLimits, type SaveLimitsOptions } from './save-limits.ts'
import { watchFiles, type OpenedFiles } from './watch-files.ts'

export interface JobsOptions {
  readonly forget: ForgetOptions
  readonly keyUses: SaveKeyUsesOptions
  /** Of the store. */
  readonly location: DatabaseLocation
  /** Absent if processes share their limits in PostgreSQL. */
  readonly limits?: SaveLimitsOptions | undefined
  /** Absent if the store is not embedded. */
  readonly files?: OpenedFiles | undefined
}

export function listJobs({ forget, keyUses, location, limits, files }: JobsOptions): Job[] {
  return [
    forgetOld(forget),
    deleteEventsInTime(forget),
    saveNotedUses(keyUses),
    forgetOldAuditEntries(forget),
    recountCampaigns({ ...forget, location }),
    ...(limits ? [saveLimits(limits)] : []),
    ...(files ? [watchFiles(files)] : []),
  ]
}

/**
 * Starts each job; the first run follows after `everyMs`. The returned function stops all jobs and resolves when no run is in
 * progress.
 */
export function startJobs(jobs: readonly Job[], diagnostics: FastifyBaseLogger): () => Promise<void> {
  const stops = jobs.map(({ name, everyMs, run }) => {
    const onFailed = (error: unknown) => diagnostics.error({ err: describeError(error) }, `cannot ${name}; retrying`)
    return startRepeating(run, { everyMs, onFailed })
  })
  return async () => {
    await Promise.all(stops.map((stop) => stop()))
  }
}
