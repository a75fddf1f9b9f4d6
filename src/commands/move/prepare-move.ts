// Prepares an embedded store for a move: migrates it, rolls back interrupted uploads and applies the rest of its log, as a start of
// the server does, and empties the staging table.
import type { Config } from '../../app/config.ts'
import { refuseForeignLog } from '../../app/checks/refuse-foreign-log.ts'
import { AppError } from '../../core/app-error.ts'
import { counted } from '../../core/phrases/counted.ts'
import type { LogReader } from '../../log/event-log.ts'
import { openLogReader } from '../../log/open-log.ts'
import { LogFollower } from '../../pipeline/follower/follow-log.ts'
import { moveStagedMessageEvents } from '../../store/campaigns/message-events.ts'
import {
  cleanAbandonedUploads,
  giveUpInterruptedUploads,
  listInterruptedUploads,
} from '../../actions/clean-coupon-uploads.ts'
import { findCursor, PIPELINE_CURSOR } from '../../store/entries/cursors.ts'
import { countParkedEntries } from '../../store/entries/parked-entries.ts'
import type { Database } from '../../store/store.ts'
import { pause } from '../../runtime/pause.ts'
import { WriterLock } from '../../runtime/writer-lock.ts'
import { listWorkspaces } from '../../store/workspaces/workspaces.ts'
import type { Progress } from '../terminal-progress.ts'
import { withPreparedStore } from '../with-store.ts'

/** Message events moved from the staging table to their own in one transaction. A cluster has no staging table. */
const STAGED_PER_WRITE = 50_000
/** The pause between two checks of the cursor. */
const POLL_MS = 50
/** If no batch is applied in this time, something is wrong with the store. */
const STANDSTILL_MS = 60_000

export interface PreparedStore {
  /** Identifies the store, and never changes. */
  readonly name: string
  /** The last position of the log; everything up to it is applied. */
  readonly position: number
  readonly appliedEntries: number
  readonly uploadsRolledBack: number
  readonly parkedEntries: number
  /** Whether a workspace has encrypted emails. */
  readonly needsPiiKey: boolean
}

/** Throws AppError `conflict` if the log does not belong to the tables, `not_found` if there is nothing to move. */
export function prepareStore(config: Config, progress: Progress): Promise<PreparedStore> {
  return withPreparedStore(config, async (database) => {
    const workspaces = (await listWorkspaces(database)).map(({ workspace }) => workspace)
    const [oldest] = workspaces
    if (!oldest)
      throw new AppError('not_found', `The store in ${config.dataDir} has no workspaces, so there is nothing to move.`)
    const uploadsRolledBack = await rollBackUploads(database)
    const { position, appliedEntries } = await applyRestOfLog(config, database, progress)
    while ((await database.write((store) => moveStagedMessageEvents(store, STAGED_PER_WRITE))) > 0);
    return {
      name: `${oldest.id} of ${oldest.createdAt}`,
      position,
      appliedEntries,
      uploadsRolledBack,
      parkedEntries: await countParkedEntries(database),
      needsPiiKey: workspaces.some(({ emailProtection }) => emailProtection === 'encrypted'),
    }
  })
}

/** Rolls back interrupted coupon uploads: their codes do not count, and no client got a success answer. */
async function rollBackUploads(database: Database): Promise<number> {
  const left = await listInterruptedUploads(database)
  await giveUpInterruptedUploads(database, left, Date.now())
  await cleanAbandonedUploads(database, Date.now(), () => false)
  return left.length
}

async function applyRestOfLog(
  config: Config,
  database: Database,
  progress: Progress,
): Promise<Pick<PreparedStore, 'position' | 'appliedEntries'>> {
  const logReader = await openLogReader(config)
  try {
    const position = await logReader.lastPosition()
    await refuseForeignLog(database, logReader, config)
    return { position, appliedEntries: await follow(database, logReader, progress) }
  } finally {
    await logReader.close()
  }
}

/** Applies the rest of the log as the server does; parks entries that cannot be applied. Returns the number of entries. */
async function follow(database: Database, logReader: LogReader, progress: Progress): Promise<number> {
  let applied = 0
  let progressedAt = performance.now()
  let lastFailure: unknown
  const follower = new LogFollower({
    database,
    logReader,
    writerLock: new WriterLock(),
    clock: Date.now,
    onBatch({ entries, parked }) {
      applied += entries + parked
      progressedAt = performance.now()
      progress.show(`log: ${counted(applied, 'entry', 'entries')} applied`)
    },
    onFailure: (error) => (lastFailure = error),
  })
  follower.start()
  try {
    while (await logReader.firstAfter([await findCursor(database, PIPELINE_CURSOR)])) {
      if (performance.now() - progressedAt > STANDSTILL_MS)
        throw lastFailure ?? new Error('the log could not be applied')
      await pause(POLL_MS)
    }
  } finally {
    await follower.stop()
  }
  if (applied > 0) progress.done(`log: ${counted(applied, 'entry', 'entries')} applied`)
  return applied
}
