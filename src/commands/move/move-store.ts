// Moves an embedded store into a cluster: copies all tables row by row into PostgreSQL, and continues the log there or in NATS from
// the last position of the embedded log. The embedded store keeps all its data: the move only migrates its tables, applies the rest
// of its log, empties its staging table and rolls back interrupted uploads.
import type { Config } from '../../app/config.ts'
import { AppError } from '../../core/app-error.ts'
import { counted } from '../../core/phrases/counted.ts'
import { continueAfter } from '../../log/continue-log.ts'
import { openLogReader } from '../../log/open-log.ts'
import { POSTGRES_KEYS_TABLE } from '../../log/postgres/postgres-log-table.ts'
import { lastPosition } from '../../log/sqlite/record-batches.ts'
import { SQLITE_KEYS_TABLE } from '../../log/sqlite/sqlite-log-keys.ts'
import { verifyStatistics } from '../../statistics/verify-statistics.ts'
import { PUBLISHED_KEYS_TABLE } from '../../store/entries/idempotency-keys.ts'
import { migrate } from '../../store/migrations.ts'
import { DATA_TABLES, MOVED_TABLES } from '../../store/moves/moved-tables.ts'
import { addMove, completeMove, findMove, type Move } from '../../store/moves/moves.ts'
import { openDatabase } from '../../store/open-database.ts'
import { countPipelines } from '../../store/entries/partition-leases.ts'
import type { Database, Store } from '../../store/store.ts'
import { describeTable, findNonEmptyTables, type CopiedTable } from '../../store/moves/table-copy.ts'
import { listWorkspaces } from '../../store/workspaces/workspaces.ts'
import { compareTable, copyTable, type TableComparison } from './copy-tables.ts'
import { lockEmbeddedFiles, type EmbeddedFiles } from './embedded-files.ts'
import { prepareStore, type PreparedStore } from './prepare-move.ts'
import type { Progress } from '../terminal-progress.ts'

export interface MoveOptions {
  /** The settings of the embedded server. */
  readonly from: Config
  /** The settings of the cluster. */
  readonly to: Config
  readonly progress: Progress
}

/** The statistics of one workspace in the target, compared with a recount of its facts. */
export interface StatisticsComparison {
  readonly workspaceId: string
  readonly cells: number
  readonly differingCells: number
  readonly isEqual: boolean
}

export interface FinishedMove extends PreparedStore {
  readonly outcome: 'moved' | 'differs'
  readonly tables: readonly TableComparison[]
  readonly statistics: readonly StatisticsComparison[]
  /** The rows that this run copied, and the time it took. */
  readonly copiedRows: number
  readonly copiedMs: number
}

export type MoveOutcome = FinishedMove | { readonly outcome: 'already_moved'; readonly at: number }

/**
 * Copies what is not copied yet and compares everything. May be interrupted anywhere and run again. Throws AppError `conflict` if
 * the embedded store or the target is in use, or if the target holds anything but an incomplete move of this store.
 */
export async function moveStore({ from, to, progress }: MoveOptions): Promise<MoveOutcome> {
  // Fails before anything changes. A server may still start after this, so the files are locked again below.
  lockEmbeddedFiles(from.dataDir).close()
  const target = openDatabase(to)
  try {
    await migrate(target, Date.now())
    const prepared = await prepareStore(from, progress)
    const files = lockEmbeddedFiles(from.dataDir)
    try {
      if (lastPosition(files.log) !== prepared.position)
        throw new AppError('conflict', 'A server used the store during the move. Stop it and run the move again.')
      const { completed } = await beginMove(target, to, prepared)
      if (completed) return alreadyMoved(completed, prepared)
      return await move(files, { target, to, prepared, progress })
    } finally {
      files.close()
    }
  } finally {
    await target.close()
  }
}

/** The move of this store into the target, new or interrupted. */
async function beginMove(target: Database, to: Config, { name }: PreparedStore): Promise<Move> {
  const isLogUsed = await hasLogEntries(to)
  return target.write(async (store) => {
    await store.lock('move')
    const existing = await findMove(store)
    if (existing?.source === name && existing.completed) return existing
    await refusePipelines(store)
    if (existing?.source === name) return existing
    if (existing)
      throw new AppError(
        'conflict',
        'Another store was moved, or is being moved, into this database. Choose an empty database.',
      )
    const occupied = await findNonEmptyTables(store, DATA_TABLES)
    if (isLogUsed) occupied.push('the log')
    if (occupied.length > 0) {
      throw new AppError(
        'conflict',
        `A store can be moved only into an empty database. This one contains ${occupied.join(', ')}.`,
      )
    }
    await addMove(store, name, Date.now())
    return { source: name, completed: undefined }
  })
}

/** Running pipelines could apply entries that are not part of the move. */
async function refusePipelines(store: Store): Promise<void> {
  const pipelines = await countPipelines(store)
  if (pipelines === 0) return
  const what = `${counted(pipelines, 'pipeline is', 'pipelines are')} running on the target`
  throw new AppError('conflict', `${what}. Stop all its processes; a killed one still counts for a few seconds.`)
}

/** Whether the log of the cluster has entries. Creates it if it is missing. */
async function hasLogEntries(to: Config): Promise<boolean> {
  const log = await openLogReader(to)
  try {
    const first = await log.firstAfter(Array.from({ length: log.partitions }, () => 0))
    return first !== undefined
  } finally {
    await log.close()
  }
}

function alreadyMoved(completed: NonNullable<Move['completed']>, { position }: PreparedStore): MoveOutcome {
  if (position === completed.logPosition) return { outcome: 'already_moved', at: completed.at }
  const what = `The store was already moved when its log ended at ${completed.logPosition}, and a server has used it since`
  throw new AppError('conflict', `${what}. Requests accepted after the move are not in the target and cannot be moved.`)
}

interface MoveWork {
  readonly target: Database
  readonly to: Config
  readonly prepared: PreparedStore
  readonly progress: Progress
}

async function move(files: EmbeddedFiles, { target, to, prepared, progress }: MoveWork): Promise<FinishedMove> {
  const copiedTables = listTables(files, to)
  const startedAt = performance.now()
  let copiedRows = 0
  for (const table of copiedTables) copiedRows += await copyTable(table, target, progress)
  const copiedMs = performance.now() - startedAt
  const tables: TableComparison[] = []
  for (const table of copiedTables) tables.push(await compareTable(table, target, progress))
  const statistics = await compareStatistics(target, progress)
  const isEqual = [...tables, ...statistics].every((compared) => compared.isEqual)
  if (isEqual) {
    await continueAfter(to, prepared.position)
    await target.write((store) => completeMove(store, prepared.position, Date.now()))
  }
  return { ...prepared, outcome: isEqual ? 'moved' : 'differs', tables, statistics, copiedRows, copiedMs }
}

/** All tables of the state, and the idempotency keys of the log. The entries of the log are applied, so the tables have them. */
function listTables({ state, log }: EmbeddedFiles, to: Config): CopiedTable[] {
  return [
    ...MOVED_TABLES.map((name) => describeTable({ file: state, source: name, target: name })),
    describeTable({ file: log, source: SQLITE_KEYS_TABLE, ...keysTargetOf(to) }),
  ]
}

/** Where a log in NATS or PostgreSQL stores idempotency keys. The embedded log holds keys of acknowledged requests only. */
function keysTargetOf({ natsUrl }: Config): { target: string; added?: Readonly<Record<string, number>> } {
  if (natsUrl === undefined) return { target: POSTGRES_KEYS_TABLE }
  return { target: PUBLISHED_KEYS_TABLE, added: { is_published: 1 } }
}

async function compareStatistics(target: Database, progress: Progress): Promise<StatisticsComparison[]> {
  const compared: StatisticsComparison[] = []
  for (const { workspace } of await listWorkspaces(target)) {
    const { cells, users, differingCells } = await verifyStatistics(target, workspace.id, ({ users, facts }) =>
      progress.show(`statistics of ${workspace.id}: ${counted(users, 'user')}, ${counted(facts, 'fact')} counted`),
    )
    progress.done(`statistics of ${workspace.id}: ${counted(users, 'user')} counted`)
    compared.push({ workspaceId: workspace.id, cells, differingCells, isEqual: differingCells === 0 })
  }
  return compared
}
