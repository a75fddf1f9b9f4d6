// Deletes the events of erased persons that their request left, and the events that workspaces no longer keep.
import { deleteOldEvents } from '../statistics/deletions/delete-old-events.ts'
import { removeErasedEvents } from '../statistics/deletions/erase-person.ts'
import type { Database } from '../store/store.ts'
import { listWorkspaces } from '../store/workspaces/workspaces.ts'
import type { Job } from './job.ts'

/** A new setting applies this soon. */
const LOOK_EVERY_MS = 10_000
/** How often all users of a workspace are looked through. */
const PASS_EVERY_MS = 60 * 60 * 1000

export interface DeleteEventsOptions {
  readonly database: Database
  /** Milliseconds since the epoch. */
  readonly clock: () => number
}

export function deleteEventsInTime({ database, clock }: DeleteEventsOptions): Job {
  /** Workspace id → its last pass. */
  const passes = new Map<string, { readonly days: number; readonly at: number }>()
  return {
    name: 'delete events that are no longer kept',
    everyMs: LOOK_EVERY_MS,
    async run(isStopping) {
      while (!isStopping() && (await removeErasedEvents(database)));
      for (const { workspace } of await listWorkspaces(database)) {
        const { id, eventRetentionDays: days } = workspace
        const last = passes.get(id)
        const now = clock()
        if (days === null || (last?.days === days && now - last.at < PASS_EVERY_MS)) continue
        await deleteOldEvents(database, { workspaceId: id, days, now }, isStopping)
        if (isStopping()) return
        passes.set(id, { days, at: now })
      }
    },
  }
}
