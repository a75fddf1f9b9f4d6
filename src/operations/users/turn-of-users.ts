// Makes reads of what a workspace knows of its users follow one another.
import type { Workspace } from '../../core/workspace.ts'
import type { KeyedQueue } from '../../concurrency/keyed-queue.ts'

/** How many operations read users; each of them has the limit to itself. */
const OPERATIONS = 4

/**
 * Reads users when no other such read of the workspace runs. A user may hold megabytes, and so may a page of what the user did;
 * one who was found to be thousands of users is looked for under all of their numbers. As many reads as a workspace may ask for
 * at once would keep all others waiting for the one thread that reads the embedded store, and take gigabytes.
 */
export function inTurnOfUsers<Result>(queue: KeyedQueue, workspace: Workspace, read: () => Promise<Result>) {
  return queue.run(`users ${workspace.id}`, read, OPERATIONS * workspace.limits.management_per_minute)
}
