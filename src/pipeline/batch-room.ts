// How much of the log is one batch. Others wait for their turn to write as long as a batch takes, and what it costs is a matter
// of its events: of small entries, which have one each, it takes more.
import type { LogEntry, LogReader } from '../log/event-log.ts'

export const BATCH_ENTRIES_MAX = 4_000
export const BATCH_BYTES_MAX = 256 * 1024
/** As long as entries have fewer bytes than this on average a batch takes more of them than `BATCH_BYTES_MAX`, up to 2 MiB. */
export const SMALL_ENTRY_BYTES = 512
/** What is read once for each workspace of a batch takes some 0.35 ms: as long as a thousand small entries for 200. */
export const BATCH_WORKSPACES_MAX = 200

/** The entries of one batch while it is read, from one partition or several. */
export class BatchRoom {
  readonly entries: LogEntry[] = []
  readonly #workspaces = new Set<string>()
  #bytes = 0
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
        after = entry.position
      }
      if (!isCut(read, bounds)) return
      const areSmall = this.#bytes < this.entries.length * SMALL_ENTRY_BYTES
      this.isFull = !areSmall || this.entries.length >= BATCH_ENTRIES_MAX
    }
  }

  #left(): ReadBounds {
    const bytesMax = Math.max(BATCH_BYTES_MAX, this.entries.length * SMALL_ENTRY_BYTES)
    return { entries: BATCH_ENTRIES_MAX - this.entries.length, bytes: bytesMax - this.#bytes }
  }
}

type ReadBounds = Parameters<LogReader['read']>[1]

/** Whether there may be more than was read: the reader stops before the entry that would be too much, however large that is. */
function isCut(read: readonly LogEntry[], bounds: ReadBounds): boolean {
  let [bytes, largest] = [0, 0]
  for (const { body } of read) {
    bytes += body.byteLength
    largest = Math.max(largest, body.byteLength)
  }
  return read.length >= bounds.entries || bytes + largest > bounds.bytes
}
