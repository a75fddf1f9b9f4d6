// Limits how much of the log makes one batch. Other writers wait as long as a batch takes, and its cost depends on its
// events: a batch takes more entries when they are small and have one event each.
import type { LogEntry, LogReader } from '../../log/event-log.ts'
import { isReportKind } from '../batch.ts'

export const BATCH_ENTRIES_MAX = 4_000
export const BATCH_BYTES_MAX = 256 * 1024
/** While entries are smaller than this on average, a batch exceeds `BATCH_BYTES_MAX`, up to 2 MiB. */
export const SMALL_ENTRY_BYTES = 512
/** A batch of reports alone holds more, such as two of a thousand message events (`docs/decisions/0004`). */
export const REPORT_BYTES_MAX = 384 * 1024
/** The reads per workspace of a batch take some 0.35 ms: for 200 workspaces, as long as a thousand small entries. */
export const BATCH_WORKSPACES_MAX = 200

/** For how many batches the largest entry is remembered. */
const BATCHES_REMEMBERED = 8

/**
 * The size of the largest recent entry. A reader stops before an entry that does not fit; this tells it from the end of
 * the log.
 */
export class EntrySizes {
  /** The largest entry of each recent batch. */
  readonly #largest: number[] = []

  /** In bytes; 0 before the first batch. */
  get largest(): number {
    return Math.max(0, ...this.#largest)
  }

  note(entries: readonly LogEntry[]): void {
    if (entries.length === 0) return
    this.#largest.push(largestOf(entries))
    if (this.#largest.length > BATCHES_REMEMBERED) this.#largest.shift()
  }
}

/** The entries of one batch while it is read, from one or several partitions. */
export class BatchRoom {
  readonly entries: LogEntry[] = []
  readonly #workspaces = new Set<string>()
  /** The largest entry of this batch and of recent ones, in bytes. */
  #largest: number
  #bytes = 0
  #areReports = false
  /** Whether the log may hold more entries than the batch took. */
  isFull = false

  constructor({ largest }: EntrySizes) {
    this.#largest = largest
  }

  /** Takes the entries after a cursor, until none is left or none fits. */
  async fill(logReader: LogReader, partition: number, cursor: number): Promise<void> {
    let after = cursor
    while (!this.isFull) {
      const bounds = this.#remaining()
      const read = await logReader.read(after, bounds, partition)
      this.#largest = Math.max(this.#largest, largestOf(read))
      for (const entry of read) {
        this.#workspaces.add(entry.workspaceId)
        if (this.#workspaces.size > BATCH_WORKSPACES_MAX) {
          this.isFull = true
          return
        }
        this.entries.push(partition === 0 ? entry : { ...entry, partition })
        this.#bytes += entry.body.byteLength
        this.#areReports = isReportKind(entry.kind) && (this.#areReports || this.entries.length === 1)
        after = entry.position
      }
      if (!this.#mayBeCut(read, bounds)) return
      const { entries, bytes } = this.#remaining()
      // A reader returns at least one entry, however large.
      this.isFull = entries === 0 || bytes < this.#bytes / this.entries.length
    }
  }

  /**
   * Whether the log may hold more than was read: the reader stops before an entry that exceeds the bounds. An entry
   * larger than all recent ones is found one pause later.
   */
  #mayBeCut(read: readonly LogEntry[], bounds: ReadBounds): boolean {
    if (read.length === 0) return false
    return read.length >= bounds.entries || bytesOf(read) + this.#largest > bounds.bytes
  }

  #remaining(): ReadBounds {
    const count = this.entries.length
    const bytesForEntries = this.#areReports ? REPORT_BYTES_MAX : count * SMALL_ENTRY_BYTES
    return {
      entries: BATCH_ENTRIES_MAX - count,
      bytes: Math.max(BATCH_BYTES_MAX, bytesForEntries) - this.#bytes,
    }
  }
}

type ReadBounds = Parameters<LogReader['read']>[1]

function bytesOf(entries: readonly LogEntry[]): number {
  return entries.reduce((sum, { body }) => sum + body.byteLength, 0)
}

function largestOf(entries: readonly LogEntry[]): number {
  return entries.reduce((most, { body }) => Math.max(most, body.byteLength), 0)
}
