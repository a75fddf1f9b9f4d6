// What follows from a change of campaigns: copies of them are out of date, and changed goals are counted anew for all users
// ("One pure function, and sums"). Only marks what is to be counted; the pipeline counts.
import type { Goal } from '../../core/campaigns/goal.ts'
import { savePendingGeneration, type StoredCampaign } from '../../store/campaigns/campaigns.ts'
import {
  findGoalBackfill,
  firstBackfill,
  saveGoalBackfill,
  type GoalBackfill,
} from '../../store/campaigns/goal-backfills.ts'
import type { Store } from '../../store/store.ts'

/**
 * Marks copies of what the workspace's campaigns are counted by as out of date. To be called under the lock of `lockCampaigns`.
 */
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
  /** How many users there are to count. */
  readonly allUsers: number
  readonly now: number
}

/**
 * Begins to count anew, under a generation of its own, the campaign and every other whose conversions may change with it. A
 * recount that was running starts again from the first user, with all campaigns it had. To be called under the lock of
 * `lockCampaigns`; saves everything but the campaign itself, and returns the recount with the generation.
 */
export async function startRecount(store: Store, { before, goals, allUsers, now }: GoalChange): Promise<GoalBackfill> {
  const { workspaceId } = before
  const last = await raiseVersion(store, workspaceId)
  const generation = last.generation + 1
  // An event counts only for the campaign that had the last interaction, so a goal that gains or loses events changes the numbers
  // of every campaign with a goal on the same events.
  const events = [...before.goals, ...goals].map(({ event }) => event)
  await savePendingGeneration(store, { number: before.number, workspaceId, events }, generation)
  const progress = { isRunning: true, userCursor: 0, countedUsers: 0, allUsers, startedAt: now }
  const recount = { ...last, generation, ...progress }
  await saveGoalBackfill(store, recount)
  return recount
}
