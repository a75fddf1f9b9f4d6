// Up to when the numbers hold everything ("Presence and freshness").
import type { LogReader, LogWriter } from '../log/event-log.ts'
import { findCursor, PIPELINE_CURSOR } from '../store/cursors.ts'
import type { Store } from '../store/store.ts'

export interface FreshnessSources {
  readonly database: Store
  readonly log: LogWriter
  readonly logReader: LogReader
  readonly clock: () => number
}

export class Freshness {
  readonly #sources: FreshnessSources
  #latest = 0

  constructor(sources: FreshnessSources) {
    this.#sources = sources
  }

  /**
   * The instant before which every received event is in whatever is read after this resolves; now when nothing waits.
   * Never goes back. The order of the looks matters: an entry that leaves one place between two of them is met in the
   * next, from the memory of what waits for its commit over the log to the tables.
   */
  async processedUntil(): Promise<number> {
    const { database, log, logReader, clock } = this.#sources
    const now = clock()
    const uncommitted = log.oldestWaitingReceivedAt() ?? now
    const cursor = await findCursor(database, PIPELINE_CURSOR)
    const [unapplied] = await logReader.read(cursor, { entries: 1, bytes: 1 })
    this.#latest = Math.max(this.#latest, Math.min(now, uncommitted, unapplied?.receivedAt ?? now))
    return this.#latest
  }
}
