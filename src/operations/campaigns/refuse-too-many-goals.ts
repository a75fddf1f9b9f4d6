// Limits the total size of the goals of a workspace, because the pipeline holds all of them in memory.
import { AppError } from '../../core/app-error.ts'
import type { Goal } from '../../core/campaigns/goal.ts'
import { GOALS_BYTES_MAX } from '../../store/campaigns/campaigns.ts'

/** The limit in words. */
export const GOALS_SIZE_LIMIT = `${GOALS_BYTES_MAX / (1024 * 1024)} MiB as JSON`

/** The size of a campaign's goals, as counted against the limit. */
export function toGoalsBytes(goals: readonly Goal[]): number {
  return Buffer.byteLength(JSON.stringify(goals))
}

/** Throws AppError `conflict` if all goals of a workspace together would exceed the limit. */
export function refuseTooManyGoals(goalsBytes: number): void {
  if (goalsBytes <= GOALS_BYTES_MAX) return
  throw new AppError(
    'conflict',
    `The goals of all campaigns in the workspace would exceed ${GOALS_SIZE_LIMIT}. Send fewer or smaller goals.`,
  )
}
