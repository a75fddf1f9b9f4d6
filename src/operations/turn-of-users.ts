// Reading what a workspace knows of its users.
import type { Workspace } from '../core/workspace.ts'
import type { Turns } from './turns.ts'

/** Operations that do so, each of which has the limit for itself. */
const OPERATIONS = 4

/**
 * Reads of users, when no other such reading of the workspace runs. A user may hold megabytes, so may a page of what it did, and
 * one who was found to be thousands of users is looked for under all of their numbers: as many as a workspace may ask for at once
 * would keep all others waiting for the one thread that reads the embedded store, and take gigabytes.
 */
export function inTurnOfUsers<Result>(turns: Turns, workspace: Workspace, read: () => Promise<Result>) {
  return turns.take(`users ${workspace.id}`, read, OPERATIONS * workspace.limits.management_per_minute)
}
