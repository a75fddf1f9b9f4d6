// Counts conversions anew after goals were changed, a few users at a time beside the batches: under a generation of their own, so
// that the old numbers stay in use, and are kept up to date, until the new ones are complete.
import { CellSum } from '../core/statistics/cells.ts'
import { addContributions } from '../core/statistics/contributions.ts'
import { listRecountedGenerations, lockCampaigns, standByNewGoals } from '../store/campaigns/campaigns.ts'
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

/** Users of one step, which holds up the batches for some milliseconds. */
const USERS_PER_STEP = 200
/** Cells that are in memory at one time. */
const CELLS_AT_ONCE_MAX = 100_000

interface Turn {
  /** The workspace that had the last step; the one after it has the next, so that none keeps the others waiting. */
  readonly lastWorkspace: string
  readonly usersPerStep?: number | undefined
  /** Workspaces that are not to be tried yet. */
  readonly pausing?: ReadonlySet<string>
  /** Hears of a workspace whose step has failed, before the next one has its turn. Throws if the next one is not to be tried. */
  readonly onFailure?: (error: unknown, workspaceId: string) => void
}

/** Takes one step of a running recount, and gives its workspace; undefined when there is nothing to do. */
export async function backfillGoals(
  database: Database,
  catalogs: GoalCatalogs,
  { lastWorkspace, usersPerStep = USERS_PER_STEP, pausing, onFailure = rethrow }: Turn,
): Promise<string | undefined> {
  const running = (await listRunningBackfills(database)).map(({ workspaceId }) => workspaceId)
  const workspaceIds = running.filter((workspaceId) => !pausing?.has(workspaceId))
  const later = workspaceIds.filter((id) => id > lastWorkspace)
  const others = workspaceIds.filter((id) => id <= lastWorkspace)
  for (const workspaceId of [...later, ...others]) {
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
 * One step, in one transaction: counts some users, or puts the new numbers into use when all are counted, or deletes some of the
 * old ones. False when there is nothing to do.
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

/** Adds what users contribute by the new goals. */
async function addPending(
  store: Store,
  catalog: GoalCatalog & { readonly pending: PendingGoals },
  users: readonly UserWithAliases[],
): Promise<void> {
  const { rules, campaigns } = catalog.pending
  const sum = new CellSum()
  const keepSmall = async (cellsMax: number) => {
    if (sum.sizeMax <= cellsMax) return
    await addCells(store, sum)
    sum.clear()
  }
  const wanted = users.map((user) => ({ user }))
  for await (const [, history] of inPortions(wanted, (portion) => loadHistories(store, catalog, portion))) {
    addContributions(sum, history, { rules, scope: pendingScope(campaigns, history), times: 1 })
    await keepSmall(CELLS_AT_ONCE_MAX)
  }
  await keepSmall(0)
}

/** Puts the numbers of the new goals into use. */
async function complete(store: Store, backfill: GoalBackfill): Promise<boolean> {
  await standByNewGoals(store, backfill.workspaceId)
  await saveGoalBackfill(store, { ...backfill, version: backfill.version + 1 })
  return true
}

/** Deletes a bounded number of cells that count by past goals; the recount ends when there are none. */
async function removeOld(store: Store, backfill: GoalBackfill): Promise<boolean> {
  const standing = await listRecountedGenerations(store, backfill.workspaceId)
  if (!(await removeGenerations(store, standing))) await saveGoalBackfill(store, { ...backfill, isRunning: false })
  return true
}
