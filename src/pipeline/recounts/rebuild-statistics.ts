// Writes what the table of statistics should hold and does not, while a server goes on counting.
import { AppError } from '../../core/app-error.ts'
import { findCursor, moveCursor } from '../../store/entries/cursors.ts'
import { findLargeHistories, saveLargeHistories, type LargeHistory } from '../../store/statistics/large-histories.ts'
import { RecountedCells } from '../../store/statistics/recounted-cells.ts'
import { addCells } from '../../store/statistics/statistics.ts'
import type { Database, Store } from '../../store/store.ts'
import { lockTables } from '../apply-batch.ts'
import { areSameGoals, GoalBooks } from '../contributions/goal-books.ts'
import { applyKept, type KeptChange } from '../contributions/kept-contributions.ts'
import { verifyIn, type CountProgress, type Verification, type VerifyOptions } from './verify-statistics.ts'

/** Counts the rebuilds, so that two at the same time do not both add what is missing. */
const REBUILD_CURSOR = 'statistics rebuild'

/**
 * Compares the statistics of a workspace with its facts, and writes what differs: the table is a sum, so what is missing in it
 * now is still missing after other things are added. Throws AppError `conflict` when another rebuild or a change of goals came in
 * between; what was written until then is right.
 */
export async function rebuildStatistics(
  database: Database,
  workspaceId: string,
  onProgress: (progress: CountProgress) => void,
): Promise<Verification> {
  const recounted = new RecountedCells()
  try {
    return await rebuild(database, workspaceId, { recounted, onProgress })
  } finally {
    recounted.close()
  }
}

async function rebuild(database: Database, workspaceId: string, options: VerifyOptions): Promise<Verification> {
  const books = new GoalBooks()
  const { verification, rebuilds, book } = await database.readSnapshot(async (store) => ({
    rebuilds: await findCursor(store, REBUILD_CURSOR),
    book: await books.open(store, workspaceId),
    verification: await verifyIn(store, workspaceId, options),
  }))
  let claimed = rebuilds
  for (const write of writesOf(verification, options.recounted)) {
    await database.write(async (store) => {
      await lockTables(store)
      const current = await books.open(store, workspaceId)
      const isUnchanged = book && current && areSameGoals(book, current)
      if (!isUnchanged || !(await moveCursor(store, REBUILD_CURSOR, claimed, claimed + 1))) throw overtaken()
      await write(store)
    })
    claimed++
    await database.yieldToWriters()
  }
  return verification
}

function overtaken(): AppError {
  return new AppError('conflict', 'Another rebuild or a change of goals interrupted this rebuild. Run it again.')
}

/**
 * What is kept of large users is corrected first, so that whoever counts them meanwhile adds the difference from what is right.
 */
function* writesOf(
  { misremembered }: Verification,
  recounted: RecountedCells,
): Generator<(store: Store) => Promise<void>, void, void> {
  for (const { kept, changes } of misremembered) {
    for (const [index, change] of changes.entries()) {
      yield (store) => remember(store, { ...kept, version: kept.version + index }, change)
    }
  }
  for (const part of recounted.missing()) yield (store) => addCells(store, part)
}

async function remember(store: Store, kept: LargeHistory, change: KeptChange): Promise<void> {
  const now = (await findLargeHistories(store, [kept.userId])).get(kept.userId)
  if (now?.version !== kept.version) throw overtaken()
  await applyKept(store, change)
  await saveLargeHistories(store, [{ ...now, version: now.version + 1 }])
}
