// The loop that follows the log: reads what is new, applies it, and never loses an entry. What fails is tried again, then
// split; the one entry that cannot be applied is parked, and the rest goes on.
import { AppError } from '../core/app-error.ts'
import type { LogEntry, LogReader } from '../log/event-log.ts'
import { findCursor, PIPELINE_CURSOR } from '../store/cursors.ts'
import { StoreError, type Database } from '../store/store.ts'
import { pause, type Turnstile } from '../store/turnstile.ts'
import { applyBatch, CursorMoved, readBatch, toParked } from './apply-batch.ts'
import type { Batch } from './batch.ts'

/** Bounds of one batch, so that others do not wait long for their turn to write. */
const BATCH_ENTRIES_MAX = 1_000
const BATCH_BYTES_MAX = 256 * 1024
/**
 * The pause before the next look at the log, unless there is more than one batch in it. A batch costs the same few
 * statements whatever it holds, so gathering for a moment makes them few; it doubles up to the maximum while all is quiet.
 */
const PAUSE_MS_MIN = 40
const PAUSE_MS_MAX = 160
/** Tries of the same entries before they are split or parked, and the pause before each. */
const TRIES_MAX = 3
const RETRY_MS = 50
/** The longest pause while the database does not answer. */
const UNAVAILABLE_MS_MAX = 5_000

/** What one batch did, for the metrics. */
export interface AppliedBatch {
  readonly entries: number
  readonly events: number
  readonly parked: number
  readonly durationMs: number
}

export interface FollowerOptions {
  readonly database: Database
  readonly logReader: LogReader
  readonly turnstile: Turnstile
  readonly clock: () => number
  readonly onBatch: (applied: AppliedBatch) => void
  /** Hears of every failure, without the contents of entries. */
  readonly onFailure: (error: unknown, what: string) => void
}

export class LogFollower {
  readonly #options: FollowerOptions
  #isStopping = false
  #ended: Promise<void> = Promise.resolve()

  constructor(options: FollowerOptions) {
    this.#options = options
  }

  start(): void {
    this.#ended = this.#follow()
  }

  /** Finishes the batch in hand. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#ended
  }

  async #follow(): Promise<void> {
    const { logReader, turnstile } = this.#options
    let pauseMs = PAUSE_MS_MIN
    while (!this.#isStopping) {
      const found = await this.#untilAvailable(async () => {
        const cursor = await findCursor(this.#options.database, PIPELINE_CURSOR)
        const entries = await logReader.read(cursor, { entries: BATCH_ENTRIES_MAX, bytes: BATCH_BYTES_MAX })
        if (entries.length > 0) await this.#apply(entries, cursor)
        return amountOf(entries)
      })
      pauseMs = found === 'nothing' ? Math.min(PAUSE_MS_MAX, pauseMs * 2) : PAUSE_MS_MIN
      if (found === 'more than a batch') await turnstile.letOthersPass()
      else await pause(pauseMs)
    }
  }

  /** Waits out a database that does not answer: nothing of the log is lost by waiting. */
  async #untilAvailable(work: () => Promise<Amount>): Promise<Amount> {
    for (let waitMs = RETRY_MS; !this.#isStopping; waitMs = Math.min(UNAVAILABLE_MS_MAX, waitMs * 2)) {
      try {
        return await work()
      } catch (error) {
        if (error instanceof CursorMoved) return 'more than a batch'
        this.#options.onFailure(error, 'applying the log failed; trying again')
        await pause(waitMs)
      }
    }
    return 'nothing'
  }

  /** Applies entries that follow `cursor`, whole or in ever smaller halves. */
  async #apply(entries: readonly LogEntry[], cursor: number): Promise<void> {
    const { database, clock } = this.#options
    const batch = await readBatch(database, entries, clock())
    const error = await this.#try(batch, cursor)
    if (error === undefined) return
    if (entries.length === 1) {
      this.#options.onFailure(error, `entry ${batch.lastPosition} cannot be applied and is parked`)
      await this.#applyOnce(toParked(batch, reasonOf(error)), cursor)
      return
    }
    const half = Math.ceil(entries.length / 2)
    await this.#apply(entries.slice(0, half), cursor)
    await this.#apply(entries.slice(half), (entries[half - 1] as LogEntry).position)
  }

  /** Undefined when the batch is applied, else why it cannot be. Throws what has nothing to do with its entries. */
  async #try(batch: Batch, cursor: number): Promise<unknown> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#applyOnce(batch, cursor)
        return undefined
      } catch (error) {
        if (error instanceof CursorMoved || isPassing(error)) throw error
        if (tries >= TRIES_MAX) return error
        await pause(RETRY_MS * tries)
      }
    }
  }

  async #applyOnce(batch: Batch, cursor: number): Promise<void> {
    const startedAt = performance.now()
    await applyBatch(this.#options.database, batch, cursor)
    this.#options.onBatch({
      entries: batch.entries.length,
      events: batch.keptEvents.size,
      parked: batch.unreadable.length,
      durationMs: performance.now() - startedAt,
    })
  }
}

type Amount = 'nothing' | 'less than a batch' | 'more than a batch'

function amountOf(entries: readonly LogEntry[]): Amount {
  if (entries.length === 0) return 'nothing'
  const bytes = entries.reduce((sum, { body }) => sum + body.byteLength, 0)
  // The reader stops before the entry that would be too much, so a full batch is somewhat smaller than its bound.
  const isFull = entries.length >= BATCH_ENTRIES_MAX || bytes > BATCH_BYTES_MAX / 2
  return isFull ? 'more than a batch' : 'less than a batch'
}

/** Whether an error is about the database and not about the entries. */
function isPassing(error: unknown): boolean {
  if (error instanceof AppError) return error.code === 'unavailable'
  return error instanceof StoreError && (error.reason === 'busy' || error.reason === 'broken')
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
