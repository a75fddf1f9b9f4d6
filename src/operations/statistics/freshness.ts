// Computes `processed_until`, the instant up to which the numbers include every event ("Presence and freshness").
import { CLOCK_AHEAD_MS, type LogReader, type LogWriter } from '../../log/event-log.ts'
import { listPipelineCursors } from '../../store/entries/cursors.ts'
import type { Store } from '../../store/store.ts'

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
   * Reads that begin after this resolves see every event received before the returned instant, which is the present if nothing
   * waits. Never goes back. The order of the reads matters: an entry moves from the writer's memory to the log and from there to
   * the tables, so an entry that moves on between two reads is seen by the later one. While an entry waits that a clock ahead has
   * dated, it stands still: entries after that one may have any earlier date.
   */
  async processedUntil(): Promise<number> {
    const { database, log, logReader, clock } = this.#sources
    const now = await logReader.lowWatermark(clock())
    const uncommitted = log.oldestWaitingReceivedAt() ?? now
    const unapplied = await logReader.firstAfter(await listPipelineCursors(database, logReader.partitions))
    const waiting = [uncommitted, unapplied?.receivedAt ?? now]
    if (Math.max(...waiting) <= now + CLOCK_AHEAD_MS) this.#latest = Math.max(this.#latest, Math.min(now, ...waiting))
    return this.#latest
  }
}
