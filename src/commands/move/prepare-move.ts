// Makes an embedded store ready to be moved: up to date, with nothing left to be applied or taken back. It does no more than the
// next start of the server would do.
import type { Config } from '../../app/config.ts'
import { AppError } from '../../core/app-error.ts'
import type { LogReader } from '../../log/event-log.ts'
import { openLogReader } from '../../log/open-log.ts'
import { LogFollower } from '../../pipeline/follower/follow-log.ts'
import { settleMessageEvents } from '../../store/campaigns/message-events.ts'
import { cleanAbandonedUploads, giveUpLeftUploads, listLeftUploads } from '../../actions/clean-coupon-uploads.ts'
import { findCursor, PIPELINE_CURSOR } from '../../store/entries/cursors.ts'
import { countParkedEntries } from '../../store/entries/parked-entries.ts'
import type { Database } from '../../store/store.ts'
import { pause } from '../../runtime/pause.ts'
import { WriterLock } from '../../runtime/writer-lock.ts'
import { listWorkspaces } from '../../store/workspaces/workspaces.ts'
import type { Progress } from '../terminal-progress.ts'
import { withPreparedStore } from '../with-store.ts'

/** Message events that are moved to where they stay in one transaction; they wait nowhere in a cluster. */
const SETTLED_AT_ONCE = 50_000
/** Between two looks at how far the log is applied. */
const LOOK_MS = 50
/** If no batch is applied in this time, something is wrong with the store. */
const STANDSTILL_MS = 60_000

export interface PreparedStore {
  /** Distinguishes the store from others, whatever may change in it. */
  readonly name: string
  /** The last position of the log; everything up to it is applied. */
  readonly position: number
  /** What was done to it. */
  readonly appliedEntries: number
  readonly uploadsRolledBack: number
  readonly parkedEntries: number
  /** Whether emails in it can be read with PII_KEY only. */
  readonly needsPiiKey: boolean
}

/** Throws AppError `conflict` when the log does not belong to the tables, `not_found` when there is nothing to move. */
export function prepareStore(config: Config, progress: Progress): Promise<PreparedStore> {
  return withPreparedStore(config, async (database) => {
    const workspaces = (await listWorkspaces(database)).map(({ workspace }) => workspace)
    const [oldest] = workspaces
    if (!oldest)
      throw new AppError('not_found', `The store in ${config.dataDir} has no workspaces, so there is nothing to move.`)
    const uploadsRolledBack = await rollBackUploads(database)
    const { position, appliedEntries } = await applyRestOfLog(config, database, progress)
    while ((await database.write((store) => settleMessageEvents(store, SETTLED_AT_ONCE))) > 0);
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

/** Uploads of coupons that were cut off count nowhere, and their clients were never told that they do. */
async function rollBackUploads(database: Database): Promise<number> {
  const left = await listLeftUploads(database)
  await giveUpLeftUploads(database, left)
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
    const cursor = await findCursor(database, PIPELINE_CURSOR)
    if (cursor > position) {
      const what = `The log ends at position ${position}, but entries up to ${cursor} have been applied`
      throw new AppError('conflict', `${what}: the log does not belong to the store.`)
    }
    return { position, appliedEntries: await follow(database, logReader, progress) }
  } finally {
    await logReader.close()
  }
}

/** Applies what is left as the server does; what cannot be applied is parked. Returns how many entries there were. */
async function follow(database: Database, logReader: LogReader, progress: Progress): Promise<number> {
  let applied = 0
  let movedAt = performance.now()
  let lastFailure: unknown
  const follower = new LogFollower({
    database,
    logReader,
    writerLock: new WriterLock(),
    clock: Date.now,
    onBatch({ entries, parked }) {
      applied += entries + parked
      movedAt = performance.now()
      progress.show(`log: ${applied} entries applied`)
    },
    onFailure: (error) => (lastFailure = error),
  })
  follower.start()
  try {
    while (await logReader.firstAfter([await findCursor(database, PIPELINE_CURSOR)])) {
      if (performance.now() - movedAt > STANDSTILL_MS) throw lastFailure ?? new Error('the log could not be applied')
      await pause(LOOK_MS)
    }
  } finally {
    await follower.stop()
  }
  if (applied > 0) progress.done(`log: ${applied} entries applied`)
  return applied
}
