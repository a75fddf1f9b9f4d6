// How far the pipelines have applied the log: for those who must wait until everything told before is in the tables.
import type { LogReader } from '../log/event-log.ts'
import { listPipelineCursors } from '../store/entries/cursors.ts'
import type { Store } from '../store/store.ts'
import { pause } from '../runtime/pause.ts'

/** The position up to which all entries are applied. */
export async function findAppliedThrough(store: Store, logReader: LogReader): Promise<number> {
  const cursors = await listPipelineCursors(store, logReader.partitions)
  const [only] = cursors
  // Reading the log is not needed where one cursor tells it all.
  if (cursors.length === 1 && only !== undefined) return only
  const unapplied = await logReader.firstAfter(cursors)
  return unapplied ? unapplied.position - 1 : Infinity
}

const LOOK_EVERY_MS = 50

/** Waits until everything that is in the log now is applied, however long it takes; false if `signal` was aborted before. */
export async function untilApplied(store: Store, logReader: LogReader, signal: AbortSignal): Promise<boolean> {
  const position = await logReader.lastPosition()
  while ((await findAppliedThrough(store, logReader)) < position) {
    await pause(LOOK_EVERY_MS, signal)
    if (signal.aborted) return false
  }
  return true
}
