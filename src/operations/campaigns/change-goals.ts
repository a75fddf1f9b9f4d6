// Records that campaigns were added or deleted, or that their goals changed: cached copies are reloaded, and a backfill counts all
// users by the changed goals ("One pure function, and sums"). Must not count: the pipeline does.
import type { Goal } from '../../core/campaigns/goal.ts'
import { savePendingGeneration, type StoredCampaign } from '../../store/campaigns/campaigns.ts'
import {
  findGoalBackfill,
  firstBackfill,
  saveGoalBackfill,
  type GoalBackfill,
} from '../../store/campaigns/goal-backfills.ts'
import type { Store } from '../../store/store.ts'

/** Invalidates all copies of the goals of the workspace's campaigns. The caller must hold the lock of `lockCampaigns`. */
export async function raiseVersion(store: Store, workspaceId: string): Promise<GoalBackfill> {
  const before = (await findGoalBackfill(store, workspaceId)) ?? firstBackfill(workspaceId)
  const raised = { ...before, version: before.version + 1 }
  await saveGoalBackfill(store, raised)
  return raised
}

export interface GoalChange {
  /** The campaign as it was. */
  readonly before: StoredCampaign
  readonly goals: readonly Goal[]
  /** The number of users that the backfill has to count. */
  readonly allUsers: number
  readonly now: number
}

/**
 * Starts a backfill, under a new generation, of the campaign and of every other campaign whose conversions may change with it. A
 * running backfill starts over from the first user, with all its campaigns. The caller must hold the lock of `lockCampaigns`, and
 * saves the campaign itself. Returns the backfill with its generation.
 */
export async function startBackfill(store: Store, { before, goals, allUsers, now }: GoalChange): Promise<GoalBackfill> {
  const { workspaceId } = before
  const last = await raiseVersion(store, workspaceId)
  const generation = last.generation + 1
  // An event counts only for the campaign with the last interaction. So a goal that gains or loses events changes the numbers of
  // every campaign that has a goal on the same events.
  const events = [...before.goals, ...goals].map(({ event }) => event)
  await savePendingGeneration(store, { number: before.number, workspaceId, events }, generation)
  const progress = { isRunning: true, userCursor: 0, countedUsers: 0, allUsers, startedAt: now }
  const backfill = { ...last, generation, ...progress }
  await saveGoalBackfill(store, backfill)
  return backfill
}
