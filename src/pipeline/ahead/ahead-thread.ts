// The thread that stores batches while the pipeline's own thread counts the next ones. Started by `ahead-writer.ts`; does one
// thing after the other, and answers each.
import { parentPort, workerData } from 'node:worker_threads'
import { keepLast } from '../keep-last.ts'
import { CellSum } from '../../core/statistics/cells.ts'
import { describeError, type ErrorDescription } from '../../store/describe-error.ts'
import { openDatabase } from '../../store/open-database.ts'
import { readDataVersion } from '../../store/sqlite/data-version.ts'
import type { Database, Store } from '../../store/store.ts'
import { Turnstile } from '../../store/turnstile.ts'
import { CursorMoved, SettingsChanged } from '../apply-batch.ts'
import { NeedsWriting } from '../count-statistics.ts'
import { GoalBooks } from '../contributions/goal-books.ts'
import { storeCounted, type CountedBatch } from './counted-batch.ts'
import { yieldToRequests } from './yield-to-requests.ts'

export interface AheadThreadData {
  readonly dataDir: string
  /** Of the pipeline's `Turnstile`. */
  readonly turnstile: SharedArrayBuffer
}

/** `mark`: changes by others are noticed from here on. `store`: a counted batch, as JSON without its cells, and these. */
export type AheadCommand = 'mark' | { readonly batch: string; readonly cells: string } | 'stop'

/**
 * `isUnchanged`: nobody else has changed the store since the last mark. Where something has changed that the batch may have been
 * counted by, no `error` is told: it has only to be counted again.
 */
export type AheadAnswer =
  | ({ readonly isDone: true; readonly durationMs: number } & Done)
  | { readonly isDone: false; readonly error?: ErrorDescription }

interface Done {
  /** Reported facts that were new. */
  readonly facts: number
  /** `Stored.read`, as JSON. */
  readonly read: string
  readonly isUnchanged: boolean
}

/** As much as the pipeline's own thread has for writing. */
const PAGE_CACHE_KIB = 12 * 1024
/** Of the goals that this thread holds, as JSON; the pipeline's own thread holds more. */
const GOALS_BYTES_MAX = 16 * 1024 * 1024

const port = parentPort
if (!port) throw new Error('ahead-thread.ts is started as a thread')
const { dataDir, turnstile: shared } = workerData as AheadThreadData
const turnstile = new Turnstile(shared)
const goalBooks = new GoalBooks(GOALS_BYTES_MAX)
let database: Database | undefined
/** What `readDataVersion` gave at the last mark. Own changes leave it as it is. */
let marked: number | undefined
let done: Promise<void> = Promise.resolve()

yieldToRequests()
port.postMessage('ready')
port.on('message', (command: AheadCommand) => {
  done = done.then(() => follow(command))
})

async function follow(command: AheadCommand): Promise<void> {
  if (command === 'stop') {
    await database?.close()
    port?.close()
    return
  }
  const answer = (rest: AheadAnswer): void => port?.postMessage(rest)
  try {
    // As on the pipeline's own thread, commits need not wait for the disk.
    database ??= openDatabase({ dataDir, databaseUrl: undefined }, { durable: false, pageCacheKib: PAGE_CACHE_KIB })
    if (command !== 'mark') await turnstile.letOthersPass()
    const startedAt = performance.now()
    const done = await database.write((store) => (command === 'mark' ? mark(store) : storeUnchanged(store, command)))
    answer({ isDone: true, ...done, durationMs: performance.now() - startedAt })
  } catch (error) {
    answer({ isDone: false, ...(!isOvertaken(error) && { error: describeError(error) }) })
  }
}

async function mark(store: Store): Promise<Done> {
  const before = marked
  marked = await readDataVersion(store)
  return { facts: 0, read: '[]', isUnchanged: marked === before }
}

class ChangedByOthers extends Error {}

async function storeUnchanged(store: Store, { batch, cells }: Extract<AheadCommand, object>): Promise<Done> {
  if ((await readDataVersion(store)) !== marked) throw new ChangedByOthers()
  const counted = JSON.parse(batch) as Omit<CountedBatch, 'cells'>
  for (const report of counted.reports) keepLast('counted report', report)
  const { facts, read } = await storeCounted(store, { ...counted, cells: CellSum.fromJson(cells) }, goalBooks)
  return { facts, read: JSON.stringify(read), isUnchanged: true }
}

function isOvertaken(error: unknown): boolean {
  if (error instanceof ChangedByOthers || error instanceof NeedsWriting) return true
  return error instanceof CursorMoved || error instanceof SettingsChanged
}
