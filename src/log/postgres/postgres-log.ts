// The log in PostgreSQL as requests see it, for many processes on many machines. All entries that wait are appended together,
// by one call, and acknowledged after PostgreSQL's commit.
import { AppError } from '../../core/app-error.ts'
import { AppendQueue } from './append-queue.ts'
import type { AppendOutcome, LogCommit, LogWriter, NewEntry, TrimLimits, WaitingBounds } from '../event-log.ts'
import { PostgresAppend } from './postgres-append.ts'
import { LogConnections, sqlStateOf } from './postgres-log-connections.ts'
import {
  appendEntries,
  CREATE_LOG,
  dropSegment,
  forgetKeys,
  type AppendColumns,
  type UsedKeyRow,
} from './postgres-log-table.ts'
import { unavailable } from '../unavailable.ts'

/** How much time one segment of the log spans, and so how much longer than needed entries may be kept. */
const SEGMENT_MS = 10 * 60 * 1000
/** One appends; the other trims and checks meanwhile. */
const CONNECTIONS_MAX = 2

export interface PostgresLogOptions {
  readonly url: string
  readonly onCommit?: (commit: LogCommit) => void
  /** Smaller bounds of what may wait, for tests of what happens past them. */
  readonly bounds?: WaitingBounds | undefined
  /** Shorter segments, for tests of how they are dropped. */
  readonly segmentMs?: number
}

/** Makes the log if it is not there. Rejects with AppError `unavailable` when the database cannot be reached. */
export async function openPostgresLog(options: PostgresLogOptions): Promise<LogWriter> {
  const connections = new LogConnections(options.url, CONNECTIONS_MAX)
  await connections.create(CREATE_LOG)
  return new PostgresLog(connections, options)
}

class PostgresLog implements LogWriter {
  readonly #connections: LogConnections
  readonly #onCommit: (commit: LogCommit) => void
  readonly #segmentMs: number
  readonly #queue: AppendQueue

  constructor(connections: LogConnections, { onCommit, bounds, segmentMs }: PostgresLogOptions) {
    this.#connections = connections
    this.#onCommit = onCommit ?? (() => {})
    this.#segmentMs = segmentMs ?? SEGMENT_MS
    this.#queue = new AppendQueue({ commit: (entries) => this.#commit(entries), bounds })
  }

  append(entry: NewEntry): Promise<AppendOutcome> {
    return this.#queue.append(entry)
  }

  oldestWaitingReceivedAt(): number | undefined {
    return this.#queue.oldestReceivedAt()
  }

  async trim(limits: TrimLimits): Promise<boolean> {
    const [segment] = await this.#connections.ask<{ dropped: boolean }>(dropSegment(limits))
    const [keys] = await this.#connections.ask<{ has_more: boolean }>(forgetKeys(limits))
    return segment?.dropped === true || keys?.has_more === true
  }

  /** Takes the lock and appends nothing; a server that may only be read refuses even that. */
  async check(): Promise<void> {
    await this.#write(new PostgresAppend([]).columns())
  }

  async close(): Promise<void> {
    await this.#queue.close()
    await this.#connections.close()
  }

  async #commit(entries: readonly NewEntry[]): Promise<readonly AppendOutcome[]> {
    const startedAt = performance.now()
    const group = new PostgresAppend(entries)
    const outcomes = group.outcomes(await this.#write(group.columns()))
    const events = outcomes.map(({ outcome }, index) => (outcome === 'appended' ? (entries[index]?.events ?? 0) : 0))
    this.#onCommit({
      entries: entries.length,
      events: events.reduce((sum, count) => sum + count, 0),
      durationMs: performance.now() - startedAt,
    })
    return outcomes
  }

  async #write(columns: AppendColumns): Promise<UsedKeyRow[]> {
    try {
      return await this.#connections.ask<UsedKeyRow>(appendEntries(columns, this.#segmentMs))
    } catch (error) {
      if (error instanceof AppError) throw error
      throw unavailable(`The log cannot be written (${sqlStateOf(error) ?? 'unknown'}). Retry after 1 second.`)
    }
  }
}
