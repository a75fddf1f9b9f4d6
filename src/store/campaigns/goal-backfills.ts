// The table of goal backfills, one row for each workspace that has campaigns: how far the pipeline has counted all users by changed
// goals. Change it only under `lockCampaigns`.
import type { Selectable } from 'kysely'
import { FIRST_GENERATION } from './campaigns.ts'
import type { SqlTypes, Store } from '../store.ts'

interface GoalBackfillRow {
  workspace_id: string
  version: number
  generation: number
  is_running: number
  user_cursor: number
  counted_users: number
  all_users: number
  started_at: number | null
}

declare module '../tables.ts' {
  interface Tables {
    goal_backfills: GoalBackfillRow
  }
}

export interface GoalBackfill {
  readonly workspaceId: string
  /** Grows with every new or deleted campaign and every change of goals or counted goals: shows whether copies are outdated. */
  readonly version: number
  /** The last assigned generation. Changed goals get one of their own. */
  readonly generation: number
  readonly isRunning: boolean
  /** The backfill has counted the users up to this id; 0 before the first. */
  readonly userCursor: number
  readonly countedUsers: number
  /** How many users there were when it started. */
  readonly allUsers: number
  /** Null if none ever ran. */
  readonly startedAt: number | null
}

export async function createGoalBackfills({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('goal_backfills')
    .addColumn('workspace_id', text, (column) => column.primaryKey())
    .addColumn('version', integer, (column) => column.notNull())
    .addColumn('generation', integer, (column) => column.notNull())
    .addColumn('is_running', integer, (column) => column.notNull())
    .addColumn('user_cursor', integer, (column) => column.notNull())
    .addColumn('counted_users', integer, (column) => column.notNull())
    .addColumn('all_users', integer, (column) => column.notNull())
    .addColumn('started_at', integer)
    .execute()
}

/** The state of a workspace before its first campaign. */
export function firstBackfill(workspaceId: string): GoalBackfill {
  const nothing = { isRunning: false, userCursor: 0, countedUsers: 0, allUsers: 0, startedAt: null }
  return { workspaceId, version: 0, generation: FIRST_GENERATION, ...nothing }
}

/** Undefined for a workspace that never had a campaign. */
export async function findGoalBackfill({ query }: Store, workspaceId: string): Promise<GoalBackfill | undefined> {
  const rows = query.selectFrom('goal_backfills').selectAll().where('workspace_id', '=', workspaceId)
  const row = await rows.executeTakeFirst()
  return row && toGoalBackfill(row)
}

/** The backfills that are running, at most one for each workspace, in the order of workspaces. */
export async function listRunningBackfills({ query }: Store): Promise<GoalBackfill[]> {
  const rows = query.selectFrom('goal_backfills').selectAll().where('is_running', '=', 1)
  return (await rows.orderBy('workspace_id').execute()).map(toGoalBackfill)
}

/** Adds or replaces the backfill of its workspace. The caller has read it under `lockCampaigns`. */
export async function saveGoalBackfill({ query }: Store, backfill: GoalBackfill): Promise<void> {
  const columns = {
    version: backfill.version,
    generation: backfill.generation,
    is_running: backfill.isRunning ? 1 : 0,
    user_cursor: backfill.userCursor,
    counted_users: backfill.countedUsers,
    all_users: backfill.allUsers,
    started_at: backfill.startedAt,
  }
  await query
    .insertInto('goal_backfills')
    .values({ workspace_id: backfill.workspaceId, ...columns })
    .onConflict((conflict) => conflict.column('workspace_id').doUpdateSet(columns))
    .execute()
}

function toGoalBackfill(row: Selectable<GoalBackfillRow>): GoalBackfill {
  return {
    workspaceId: row.workspace_id,
    version: row.version,
    generation: row.generation,
    isRunning: row.is_running === 1,
    userCursor: row.user_cursor,
    countedUsers: row.counted_users,
    allUsers: row.all_users,
    startedAt: row.started_at,
  }
}
