// Adds the differences between the facts and the statistics table to the table, while the server goes on counting.
import { AppError } from '../core/app-error.ts'
import { withAnything } from '../core/statistics/anything.ts'
import { FACT_CAPS } from '../core/campaigns/facts.ts'
import { findCursor, moveCursor } from '../store/entries/cursors.ts'
import { ExpectedCells } from '../store/statistics/expected-cells.ts'
import { addCells } from '../store/statistics/statistics.ts'
import type { Database, Store } from '../store/store.ts'
import { lockTables } from '../store/entries/lock-tables.ts'
import { haveSameGoals, GoalCatalogs } from './goal-catalog.ts'
import { verifyIn, type CountProgress, type Verification, type VerifyOptions } from './verify-statistics.ts'

/** Counts the rebuilds, so that of two at the same time only one adds the differences. */
const REBUILD_CURSOR = 'statistics rebuild'

export interface RebuildOptions {
  readonly caps?: VerifyOptions['caps']
  /** Called last in each transaction that corrects cells. */
  readonly record?: (store: Store, cells: number) => Promise<void>
}

/**
 * Compares the statistics of a workspace with its facts, and writes the differences. The table is a sum, so a difference
 * stays the same while batches add to the table. Throws AppError `conflict` when another rebuild or a change of goals
 * interrupts this one; the differences written until then are correct.
 */
export async function rebuildStatistics(
  database: Database,
  workspaceId: string,
  onProgress: (progress: CountProgress) => void,
  { caps = FACT_CAPS, record = async () => {} }: RebuildOptions = {},
): Promise<Verification> {
  const expected = new ExpectedCells()
  try {
    return await rebuild(database, workspaceId, { expected, onProgress, caps, record })
  } finally {
    expected.close()
  }
}

async function rebuild(
  database: Database,
  workspaceId: string,
  options: VerifyOptions & Required<Pick<RebuildOptions, 'record'>>,
): Promise<Verification> {
  const catalogs = new GoalCatalogs({ caps: options.caps })
  const { verification, rebuilds, catalog } = await database.readSnapshot(async (store) => ({
    rebuilds: await findCursor(store, REBUILD_CURSOR),
    catalog: await catalogs.open(store, workspaceId),
    verification: await verifyIn(store, workspaceId, options),
  }))
  let claimed = rebuilds
  for (const part of options.expected.missing()) {
    await database.write(async (store) => {
      await lockTables(store)
      const current = await catalogs.open(store, workspaceId)
      const isUnchanged = catalog && current && haveSameGoals(catalog, current)
      if (!isUnchanged || !(await moveCursor(store, REBUILD_CURSOR, claimed, claimed + 1))) throw overtaken()
      await addCells(store, part)
      await options.record(store, withAnything(part).length)
    })
    claimed++
    await database.yieldToWriters()
  }
  return verification
}

function overtaken(): AppError {
  return new AppError('conflict', 'Another rebuild or a change of goals interrupted this rebuild. Run it again.')
}
