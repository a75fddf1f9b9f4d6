// Deletes entries of the audit trail after thirteen months, in small transactions between which other writers get their turn.
import type { LogReader } from '../log/event-log.ts'
import { AUDIT_KEPT_MS, forgetAuditEntries, hasAuditEntriesBefore } from '../store/accounts/audit-entries.ts'
import type { Database } from '../store/store.ts'
import { listWorkspaces } from '../store/workspaces/workspaces.ts'
import type { Job } from './job.ts'

const FORGET_AUDIT_EVERY_MS = 10 * 60_000

export interface ForgetAuditOptions {
  readonly database: Database
  readonly logReader: Pick<LogReader, 'lowWatermark'>
  /** Milliseconds since the epoch. */
  readonly clock: () => number
}

export function forgetOldAuditEntries({ database, logReader, clock }: ForgetAuditOptions): Job {
  return {
    name: 'delete old entries of the audit trail',
    everyMs: FORGET_AUDIT_EVERY_MS,
    async run(isStopping) {
      // As for other old entries: a process whose clock is ahead must not delete what others still keep.
      const instant = (await logReader.lowWatermark(clock())) - AUDIT_KEPT_MS
      for (const { workspace } of await listWorkspaces(database)) {
        while (!isStopping() && (await hasAuditEntriesBefore(database, workspace.id, instant))) {
          await database.yieldToWriters()
          await database.write((store) => forgetAuditEntries(store, workspace.id, instant))
        }
      }
    },
  }
}
