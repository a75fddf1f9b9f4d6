// How much of the log makes one batch. Others wait for their turn to write for as long as a batch takes, and what it costs
// depends on its events: so it takes more of small entries, which have one event each.
import type { LogEntry, LogReader } from '../../log/event-log.ts'
import { isReportKind } from '../batch.ts'

export const BATCH_ENTRIES_MAX = 4_000
export const BATCH_BYTES_MAX = 256 * 1024
/** While entries have fewer bytes than this on average, a batch takes more of them than `BATCH_BYTES_MAX`, up to 2 MiB. */
export const SMALL_ENTRY_BYTES = 512
/** A batch of nothing but reports holds more, such as two of a thousand message events (`docs/decisions/0019`). */
export const REPORT_BYTES_MAX = 384 * 1024
/**
 * What is read once for each workspace of a batch takes some 0.35 ms: for 200 workspaces, as long as a thousand small entries.
 */
export const BATCH_WORKSPACES_MAX = 200

/** The entries of one batch while it is read, from one partition or several. */
export class BatchRoom {
  readonly entries: LogEntry[] = []
  readonly #workspaces = new Set<string>()
  #bytes = 0
  #areReports = false
  /** Whether there may be more than the batch has taken. */
  isFull = false

  /** Takes what follows a cursor, until there is nothing more or no room for it. */
  async fill(logReader: LogReader, partition: number, cursor: number): Promise<void> {
    let after = cursor
    while (!this.isFull) {
      const bounds = this.#left()
      const read = await logReader.read(after, bounds, partition)
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
      const left = this.#left()
      if (mayBeCut(read, bounds)) {
        // A reader gives at least one entry, however large.
        this.isFull = left.entries === 0 || left.bytes < this.#bytes / this.entries.length
        continue
      }
      const [next] = read.length > 0 ? await logReader.read(after, ONE_ENTRY, partition) : []
      if (!next || bytesOf(read) + next.body.byteLength <= bounds.bytes) return
      this.isFull = left.bytes < next.body.byteLength
    }
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

const ONE_ENTRY: ReadBounds = { entries: 1, bytes: 1 }

/**
 * Whether an entry like those that were read might have been too much. Where not, one that is larger than all of them may have
 * been, before which the reader stops, too: only a look at the next one tells.
 */
function mayBeCut(read: readonly LogEntry[], bounds: ReadBounds): boolean {
  const largest = read.reduce((most, { body }) => Math.max(most, body.byteLength), 0)
  return read.length >= bounds.entries || bytesOf(read) + largest > bounds.bytes
}

function bytesOf(entries: readonly LogEntry[]): number {
  return entries.reduce((sum, { body }) => sum + body.byteLength, 0)
}
