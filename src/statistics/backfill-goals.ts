// Counts conversions again after goals change, a few users per step, between the batches. The new counts have a generation of their
// own: answers use the old counts, which batches keep up to date, until the new ones are complete.
import { CellSum } from '../core/statistics/cells.ts'
import { addContributions } from '../core/statistics/contributions.ts'
import { listBackfilledGenerations, lockCampaigns, putNewGoalsIntoUse } from '../store/campaigns/campaigns.ts'
import {
  findGoalBackfill,
  listRunningBackfills,
  saveGoalBackfill,
  type GoalBackfill,
} from '../store/campaigns/goal-backfills.ts'
import { addCells, removeGenerations } from '../store/statistics/statistics.ts'
import type { Database, Store } from '../store/store.ts'
import { findUsersWithAliases, listUserIdsAfter, type UserWithAliases } from '../store/users/users.ts'
import { lockTables } from '../store/entries/lock-tables.ts'
import { pendingScope } from './difference.ts'
import type { GoalCatalog, GoalCatalogs, PendingGoals } from './goal-catalog.ts'
import { loadHistories } from './histories.ts'
import { inPortions } from './portions.ts'

/** Users per step. A step delays the batches by some milliseconds. */
const USERS_PER_STEP = 200
/** The most cells held in memory before they are written. */
const CELLS_AT_ONCE_MAX = 100_000

interface Turn {
  /** The workspace of the previous step. The next one in order has its turn, so that no workspace delays the others. */
  readonly lastWorkspace: string
  readonly usersPerStep?: number | undefined
  /** Workspaces that pause after a failure. */
  readonly pausing?: ReadonlySet<string>
  /** Called when the step of a workspace fails, before the next workspace has its turn. To stop there, it throws. */
  readonly onFailure?: (error: unknown, workspaceId: string) => void
}

/** Takes one step of a running backfill and returns its workspace. Returns undefined when there is nothing to do. */
export async function backfillGoals(
  database: Database,
  catalogs: GoalCatalogs,
  { lastWorkspace, usersPerStep = USERS_PER_STEP, pausing, onFailure = rethrow }: Turn,
): Promise<string | undefined> {
  const running = (await listRunningBackfills(database)).map(({ workspaceId }) => workspaceId)
  const workspaceIds = running.filter((workspaceId) => !pausing?.has(workspaceId))
  const following = workspaceIds.filter((id) => id > lastWorkspace)
  const preceding = workspaceIds.filter((id) => id <= lastWorkspace)
  for (const workspaceId of [...following, ...preceding]) {
    try {
      if (await takeStep(database, catalogs, { workspaceId, usersPerStep })) return workspaceId
    } catch (error) {
      onFailure(error, workspaceId)
    }
  }
  return undefined
}

function rethrow(error: unknown): never {
  throw error
}

interface Step {
  readonly workspaceId: string
  readonly usersPerStep: number
}

/**
 * One step, in one transaction: counts some users; or, when all are counted, puts the new counts into use; or deletes
 * some of the old ones. Returns false when there is nothing to do.
 */
function takeStep(database: Database, catalogs: GoalCatalogs, { workspaceId, usersPerStep }: Step): Promise<boolean> {
  return database.write(async (store) => {
    await lockTables(store)
    await lockCampaigns(store, workspaceId)
    const backfill = await findGoalBackfill(store, workspaceId)
    if (!backfill?.isRunning) return false
    const catalog = await catalogs.open(store, backfill.workspaceId)
    if (!catalog?.pending) return removeOld(store, backfill)
    const { userCursor } = backfill
    const userIds = await listUserIdsAfter(store, backfill.workspaceId, { after: userCursor, max: usersPerStep })
    const last = userIds.at(-1)
    if (last === undefined) return complete(store, backfill)
    const users = await findUsersWithAliases(store, userIds)
    await addPending(store, { ...catalog, pending: catalog.pending }, [...users.values()])
    await saveGoalBackfill(store, {
      ...backfill,
      userCursor: last,
      countedUsers: backfill.countedUsers + userIds.length,
    })
    return true
  })
}

/** Adds the contributions of users by the new goals. */
async function addPending(
  store: Store,
  catalog: GoalCatalog & { readonly pending: PendingGoals },
  users: readonly UserWithAliases[],
): Promise<void> {
  const { rules, campaigns } = catalog.pending
  const sum = new CellSum()
  const writeAbove = async (cellsMax: number) => {
    if (sum.sizeMax <= cellsMax) return
    await addCells(store, sum)
    sum.clear()
  }
  const wanted = users.map((user) => ({ user }))
  for await (const [, history] of inPortions(wanted, (portion) => loadHistories(store, catalog, portion))) {
    addContributions(sum, history, { rules, scope: pendingScope(campaigns, history), times: 1 })
    await writeAbove(CELLS_AT_ONCE_MAX)
  }
  await writeAbove(0)
}

/** Puts the counts by the new goals into use. */
async function complete(store: Store, backfill: GoalBackfill): Promise<boolean> {
  await putNewGoalsIntoUse(store, backfill.workspaceId)
  await saveGoalBackfill(store, { ...backfill, version: backfill.version + 1 })
  return true
}

/** Deletes a bounded number of cells that count by past goals. The backfill ends when none is left. */
async function removeOld(store: Store, backfill: GoalBackfill): Promise<boolean> {
  const current = await listBackfilledGenerations(store, backfill.workspaceId)
  if (!(await removeGenerations(store, current))) await saveGoalBackfill(store, { ...backfill, isRunning: false })
  return true
}
