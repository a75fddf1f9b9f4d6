// How much of the log makes one batch. Others wait for their turn to write for as long as a batch takes, and what it costs
// depends on its events: so it takes more of small entries, which have one event each.
import type { LogEntry, LogReader } from '../../log/event-log.ts'
import { isReportKind } from '../batch.ts'

export const BATCH_ENTRIES_MAX = 4_000
export const BATCH_BYTES_MAX = 256 * 1024
/** While entries have fewer bytes than this on average, a batch takes more of them than `BATCH_BYTES_MAX`, up to 2 MiB. */
export const SMALL_ENTRY_BYTES = 512
/** A batch of nothing but reports holds more, such as two of a thousand message events (`docs/decisions/0004`). */
export const REPORT_BYTES_MAX = 384 * 1024
/**
 * What is read once for each workspace of a batch takes some 0.35 ms: for 200 workspaces, as long as a thousand small entries.
 */
export const BATCH_WORKSPACES_MAX = 200

/** Of how many batches the largest entries are remembered. */
const BATCHES_REMEMBERED = 8

/** How large entries have been lately, so that a reader that stops before a large one is not taken for one at the end of the log. */
export class EntrySizes {
  /** Of each of the last batches. */
  readonly #largest: number[] = []

  /** In bytes; 0 of no batches. */
  get largest(): number {
    return Math.max(0, ...this.#largest)
  }

  note(entries: readonly LogEntry[]): void {
    if (entries.length === 0) return
    this.#largest.push(largestOf(entries))
    if (this.#largest.length > BATCHES_REMEMBERED) this.#largest.shift()
  }
}

/** The entries of one batch while it is read, from one partition or several. */
export class BatchRoom {
  readonly entries: LogEntry[] = []
  readonly #workspaces = new Set<string>()
  /** Of what was read, here and lately. */
  #largest: number
  #bytes = 0
  #areReports = false
  /** Whether there may be more than the batch has taken. */
  isFull = false

  constructor({ largest }: EntrySizes) {
    this.#largest = largest
  }

  /** Takes what follows a cursor, until there is nothing more or no room for it. */
  async fill(logReader: LogReader, partition: number, cursor: number): Promise<void> {
    let after = cursor
    while (!this.isFull) {
      const bounds = this.#left()
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
      const { entries, bytes } = this.#left()
      // A reader gives at least one entry, however large.
      this.isFull = entries === 0 || bytes < this.#bytes / this.entries.length
    }
  }

  /**
   * Whether there may be more than was read: the reader stops before the entry that would be too much, however large that is. One that
   * is larger than all of late is found a pause later.
   */
  #mayBeCut(read: readonly LogEntry[], bounds: ReadBounds): boolean {
    if (read.length === 0) return false
    return read.length >= bounds.entries || bytesOf(read) + this.#largest > bounds.bytes
  }

  #left(): ReadBounds {
    const count = this.entries.length
    const forWhatIsThere = this.#areReports ? REPORT_BYTES_MAX : count * SMALL_ENTRY_BYTES
    return {
      entries: BATCH_ENTRIES_MAX - count,
      bytes: Math.max(BATCH_BYTES_MAX, forWhatIsThere) - this.#bytes,
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
