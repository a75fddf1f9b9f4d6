// The writer of the log in PostgreSQL, which many processes share. It appends all entries that wait with one call, and acknowledges
// them after PostgreSQL has committed.
import { AppError } from '../../core/app-error.ts'
import { AppendQueue } from './append-queue.ts'
import type { AppendOutcome, LogCommit, LogWriter, NewEntry, TrimLimits, WaitingBounds } from '../event-log.ts'
import { PostgresAppend } from './postgres-append.ts'
import { LogConnections, sqlStateOf } from './postgres-log-connections.ts'
import {
  appendEntries,
  CREATE_LOG,
  dropSegment,
  trimKeys,
  type AppendColumns,
  type UsedKeyRow,
} from './postgres-log-table.ts'
import { unavailable } from '../unavailable.ts'

/** The time span of a segment, and so how much longer than necessary entries may stay. */
const SEGMENT_MS = 10 * 60 * 1000
/** One appends; the other trims and checks. */
const CONNECTIONS_MAX = 2

export interface PostgresLogOptions {
  readonly url: string
  readonly onCommit?: (commit: LogCommit) => void
  /** Smaller bounds, for tests. */
  readonly bounds?: WaitingBounds | undefined
  /** Shorter segments, for tests. */
  readonly segmentMs?: number
}

/** Creates the log if it does not exist. Rejects with AppError `unavailable` when the database cannot be reached. */
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
    const [keys] = await this.#connections.ask<{ has_more: boolean }>(trimKeys(limits))
    return segment?.dropped === true || keys?.has_more === true
  }

  /** Takes the lock and appends nothing; a read-only server refuses even that. */
  async check(): Promise<void> {
    await this.#write(new PostgresAppend([]).columns())
  }

  async close(): Promise<void> {
    await this.#queue.close()
    await this.#connections.close()
  }

  async #commit(entries: readonly NewEntry[]): Promise<readonly AppendOutcome[]> {
    const startedAt = performance.now()
    const append = new PostgresAppend(entries)
    const outcomes = append.outcomes(await this.#write(append.columns()))
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
