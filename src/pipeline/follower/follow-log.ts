// The loop that follows the log: reads new entries, applies them, and never loses one. It tries a failed batch again,
// then splits it. It parks the one entry that cannot be applied and goes on with the rest.
import { AppError } from '../../core/app-error.ts'
import { messageOf } from '../../core/thrown.ts'
import type { LogEntry, LogReader } from '../../log/event-log.ts'
import { listPipelineCursors } from '../../store/entries/cursors.ts'
import { isTransient } from '../../store/transient-errors.ts'
import type { Database } from '../../store/store.ts'
import { pause } from '../../runtime/pause.ts'
import type { WriterLock } from '../../runtime/writer-lock.ts'
import { applyBatch, CursorMoved, readBatch, SettingsChanged, toParked } from '../apply-batch.ts'
import { BatchRoom, EntrySizes } from './batch-room.ts'
import { toLastPositions, type Batch } from '../batch.ts'
import { GoalCatalogs } from '../../statistics/goal-catalog.ts'
import { Wakeup } from '../../runtime/wakeup.ts'
import { GATHER_MS, Throttle } from '../../runtime/throttle.ts'
import { withoutRepeats } from './repeated-entries.ts'
import type { WarningCount } from '../record-receipts.ts'
import { UsersOvertaken } from '../resolve-users.ts'
import { untilAvailable, type Waiting } from './until-available.ts'
import { TooMuchAtOnce } from '../users-at-once.ts'

/**
 * While the log has nothing new, the pause between two reads doubles up to this. A write of this process ends the pause
 * early; entries of other processes are found at the next read.
 */
const QUIET_MS_MAX = 160
/** Tries of the same entries before they are split or parked, and the first pause between tries. */
const TRIES_MAX = 3
const RETRY_MS = 50

/** The result of one batch, for the metrics. */
export interface AppliedBatch {
  readonly entries: number
  /** Tracked events and reported facts that were new. */
  readonly events: number
  /** How many of these, and of the refused facts, the statistics do not count. */
  readonly notCounted: number
  readonly parked: number
  /** Of the receipts of the batch. */
  readonly warnings: readonly WarningCount[]
  readonly durationMs: number
}

export interface FollowerOptions {
  readonly database: Database
  readonly logReader: LogReader
  readonly writerLock: WriterLock
  /** Writers to the log wake it. */
  readonly wakeup?: Wakeup
  /** The current partitions of this process; by default the only one of the embedded log. */
  readonly partitions?: () => readonly number[]
  readonly clock: () => number
  readonly onBatch: (applied: AppliedBatch) => void
  /** Called for every failure, without the contents of entries. */
  readonly onFailure: (error: unknown, what: string) => void
}

const EMBEDDED = () => [0]

export class LogFollower {
  readonly #options: FollowerOptions
  readonly #goalCatalogs = new GoalCatalogs()
  readonly #entrySizes = new EntrySizes()
  readonly #throttle = new Throttle()
  readonly #wakeup: Wakeup
  /** Counts the reads, so that partitions take turns when the log holds more than a batch. */
  #turn = 0
  #isQuiet = false
  #isStopping = false
  #ended: Promise<void> = Promise.resolve()

  constructor(options: FollowerOptions) {
    this.#options = options
    this.#wakeup = options.wakeup ?? new Wakeup()
  }

  start(): void {
    this.#ended = this.#follow()
  }

  /** Finishes the current batch. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#wakeup.wake()
    await this.#ended
  }

  async #follow(): Promise<void> {
    const { writerLock, onFailure } = this.#options
    const waiting: Waiting = {
      isStopping: () => this.#isStopping,
      onFailure: (error) => onFailure(error, 'cannot apply the log; retrying'),
    }
    let quietMs = GATHER_MS
    while (!this.#isStopping) {
      this.#wakeup.listen()
      const found = (await untilAvailable(() => this.#applyNext(), waiting)) ?? 'nothing'
      quietMs = found === 'nothing' ? Math.min(QUIET_MS_MAX, quietMs * 2) : GATHER_MS
      if (found === 'more than a batch' || found === 'overtaken') {
        await writerLock.yieldToWriters()
        await this.#throttle.backOff()
        continue
      }
      if (found === 'less than a batch') {
        await this.#throttle.gather()
        continue
      }
      await this.#wakeup.wait(quietMs)
      this.#throttle.begin()
    }
  }

  /** Reads the log once and applies a batch of its new entries. */
  async #applyNext(): Promise<Found> {
    try {
      const { database, logReader } = this.#options
      const cursors = await listPipelineCursors(database, logReader.partitions)
      const { entries, hasMore } = await this.#read(cursors)
      this.#isQuiet = entries.length === 0
      if (this.#isQuiet) return 'nothing'
      await this.#apply(entries, cursors)
      return hasMore ? 'more than a batch' : 'less than a batch'
    } catch (error) {
      if (isOvertaken(error)) return 'overtaken'
      throw error
    }
  }

  /** Reads a batch of the entries after the cursors of the partitions of this process, in turn. */
  async #read(cursors: readonly number[]): Promise<{ readonly entries: LogEntry[]; readonly hasMore: boolean }> {
    const { logReader, partitions = EMBEDDED } = this.#options
    const own = partitions()
    // While the log has nothing new, one read of the whole log saves one per partition.
    if (this.#isQuiet && own.length > 1 && !(await logReader.firstAfter(cursors)))
      return { entries: [], hasMore: false }
    const room = new BatchRoom(this.#entrySizes)
    for (let count = 0; count < own.length && !room.isFull; count++) {
      const partition = own[this.#turn++ % own.length] as number
      await room.fill(logReader, partition, cursors[partition] ?? 0)
    }
    const { entries, isFull: hasMore } = room
    this.#entrySizes.note(entries)
    const inOrder = own.length > 1 ? entries.toSorted((left, right) => left.position - right.position) : entries
    return { entries: inOrder, hasMore }
  }

  /** Applies the entries after the cursors, whole or in ever smaller halves. */
  async #apply(entries: readonly LogEntry[], cursors: readonly number[]): Promise<void> {
    const { database, logReader, writerLock, clock } = this.#options
    const fresh = logReader.mayRepeat ? await withoutRepeats(database, entries) : entries
    const read = await readBatch(database, fresh, { now: clock() })
    // The cursors move past repeats too.
    const batch = { ...read, lastPositions: toLastPositions(entries) }
    const error = await this.#try(batch, cursors)
    if (error === undefined) return this.#reportUnreadable(batch)
    if (entries.length === 1) {
      this.#options.onFailure(error, `entry ${entries[0]?.position} cannot be applied and was parked`)
      await this.#applyOnce(toParked(batch, messageOf(error)), cursors)
      return
    }
    const half = Math.ceil(entries.length / 2)
    await writerLock.yieldToWriters()
    await this.#apply(entries.slice(0, half), cursors)
    await writerLock.yieldToWriters()
    const between = cursors.slice()
    for (const { partition = 0, position } of entries.slice(0, half)) between[partition] = position
    await this.#apply(entries.slice(half), between)
  }

  /** Reports one line per batch, however many entries are unreadable. Reasons do not quote bodies. */
  #reportUnreadable({ unreadable }: Batch): void {
    const [first] = unreadable
    if (!first) return
    const others = unreadable.length === 1 ? '' : `, as were ${unreadable.length - 1} entries after it`
    const what = `entry ${first.entry.position} cannot be applied and was parked${others}`
    this.#options.onFailure(new AppError('invalid_request', first.reason), what)
  }

  /**
   * Returns undefined when the batch is applied, else the error that prevents it. Throws errors that its entries did not
   * cause.
   */
  async #try(batch: Batch, cursors: readonly number[]): Promise<unknown> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#applyOnce(batch, cursors)
        return undefined
      } catch (error) {
        if (isOvertaken(error) || isTransient(error)) throw error
        if (tries >= TRIES_MAX || isFinal(error)) return error
        await pause(RETRY_MS * tries)
      }
    }
  }

  async #applyOnce(batch: Batch, cursors: readonly number[]): Promise<void> {
    const startedAt = performance.now()
    const { newEvents, notCounted, warnings } = await applyBatch(this.#options.database, batch, {
      from: cursors,
      goalCatalogs: this.#goalCatalogs,
    })
    this.#report({
      entries: batch.entries.length,
      events: newEvents,
      notCounted,
      parked: batch.unreadable.length,
      warnings,
      durationMs: performance.now() - startedAt,
    })
  }

  #report(applied: AppliedBatch): void {
    this.#throttle.add(applied.events)
    this.#options.onBatch(applied)
  }
}

/** What a read of the log found. `overtaken`: another transaction was first, so the entries must be read again. */
type Found = 'nothing' | 'less than a batch' | 'more than a batch' | 'overtaken'

/** Whether another transaction changed what the batch was read with, so that it must be read again. */
function isOvertaken(error: unknown): boolean {
  return error instanceof CursorMoved || error instanceof UsersOvertaken || error instanceof SettingsChanged
}

/** Whether another try of the same entries would fail the same way. */
function isFinal(error: unknown): boolean {
  return error instanceof TooMuchAtOnce || (error instanceof AppError && error.code !== 'unavailable')
}
