// Queues the reads of a workspace's users, so that they run one at a time.
import type { Workspace } from '../../core/workspace.ts'
import type { KeyedQueue } from '../../concurrency/keyed-queue.ts'

/** How many operations read users. Each has its own rate limit. */
const OPERATIONS = 7

/**
 * Runs `read` when no other such read of the workspace runs. A user, or a page of events, may take megabytes, and a user merged
 * from thousands is read under all their numbers. Without the queue, one workspace could block the only thread that reads the
 * embedded store, and take gigabytes of memory.
 */
export function queueUserRead<Result>(queue: KeyedQueue, workspace: Workspace, read: () => Promise<Result>) {
  return queue.run(`users ${workspace.id}`, read, OPERATIONS * workspace.limits.management_per_minute)
}
