// Whether the log holds requests of a workspace that are not applied yet. A transaction that asks keeps the pipelines waiting: so
// a log across a network is opened, and what waits in it is read, before that.
import { existsSync } from 'node:fs'
import type { LogReader } from '../../log/event-log.ts'
import { isEmbedded, logPathOf, openLogReader, type LogLocation } from '../../log/open-log.ts'
import { listPipelineCursors } from '../../store/entries/cursors.ts'
import type { Store } from '../../store/store.ts'

const READ_BOUNDS = { entries: 1_000, bytes: 4 * 1024 * 1024 }

/** What came of a look into one partition. */
interface Scan {
  /** The last position that was read. */
  readonly until: number
  /** The first entry of the workspace, where the look ended; undefined when there is none up to `until`. */
  readonly found: number | undefined
}

export class UnappliedEntries {
  readonly #place: LogLocation
  readonly #workspaceId: string
  #log: LogReader | undefined
  /** By partition. */
  #looks: readonly Scan[] = []

  constructor(place: LogLocation, workspaceId: string) {
    this.#place = place
    this.#workspaceId = workspaceId
  }

  /** Reads what is in the log now, so that little is left to `areThere`. Outside of transactions. */
  async scanAhead(store: Store): Promise<void> {
    const log = await this.#open()
    if (!log) return
    const last = await log.lastPosition()
    const looks: Scan[] = []
    for (const [partition, cursor] of (await listPipelineCursors(store, log.partitions)).entries()) {
      looks.push(await this.#look(log, { partition, after: cursor, last }))
    }
    this.#looks = looks
  }

  /** To be called in the transaction that holds the pipeline's lock. */
  async exist(store: Store): Promise<boolean> {
    const log = await this.#open()
    if (!log) return false
    for (const [partition, cursor] of (await listPipelineCursors(store, log.partitions)).entries()) {
      const { until = 0, found = 0 } = this.#looks[partition] ?? {}
      if (found > cursor) return true
      const rest = await this.#look(log, { partition, after: Math.max(until, cursor), last: Infinity })
      if (rest.found !== undefined) return true
    }
    return false
  }

  async close(): Promise<void> {
    await this.#log?.close()
  }

  /** Undefined before the first start: there is no log to look into then, and none should be made. */
  async #open(): Promise<LogReader | undefined> {
    if (isEmbedded(this.#place) && !existsSync(logPathOf(this.#place))) return undefined
    this.#log ??= await openLogReader(this.#place)
    return this.#log
  }

  /** Reads what is behind `after`, up to the first entry of the workspace, to `last`, or to the end. */
  async #look(
    log: LogReader,
    { partition, after, last }: { readonly partition: number; readonly after: number; readonly last: number },
  ): Promise<Scan> {
    let until = after
    while (until < last) {
      const entries = await log.read(until, READ_BOUNDS, partition)
      const found = entries.find(({ workspaceId }) => workspaceId === this.#workspaceId)?.position
      if (found !== undefined) return { until: found, found }
      const end = entries.at(-1)
      if (!end) break
      until = end.position
    }
    return { until, found: undefined }
  }
}
