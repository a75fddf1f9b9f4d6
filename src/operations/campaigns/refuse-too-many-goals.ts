// Refuses goals that would not fit into memory beside all others of their workspace.
import { AppError } from '../../core/app-error.ts'
import type { Goal } from '../../core/campaigns/goal.ts'
import { GOALS_BYTES_MAX } from '../../store/campaigns/campaigns.ts'

/** How much the goals of a workspace may take, in words. */
export const GOALS_ROOM = `${GOALS_BYTES_MAX / (1024 * 1024)} MiB as JSON`

/** How much of what a workspace may have the goals of a campaign take. */
export function toGoalsBytes(goals: readonly Goal[]): number {
  return Buffer.byteLength(JSON.stringify(goals))
}

/** Throws AppError `conflict` when the goals of a workspace would take more than they may. */
export function refuseTooManyGoals(goalsBytes: number): void {
  if (goalsBytes <= GOALS_BYTES_MAX) return
  throw new AppError(
    'conflict',
    `The goals of all campaigns in the workspace would exceed ${GOALS_ROOM}. Send fewer or smaller goals.`,
  )
}
