// Finds out whether the log holds unapplied entries of a workspace. Pipelines wait for the transaction that needs the answer, so
// the log, which may be across a network, is opened and mostly read before the transaction.
import type { LogReader } from '../../log/event-log.ts'
import { listPipelineCursors } from '../../store/entries/cursors.ts'
import type { Store } from '../../store/store.ts'

const READ_BOUNDS = { entries: 1_000, bytes: 4 * 1024 * 1024 }

/** The result of a scan of one partition. */
interface Scan {
  /** The last position read. */
  readonly until: number
  /** The position of the workspace's first entry, where the scan ended; undefined if there is none up to `until`. */
  readonly found: number | undefined
}

/** Opens the log when it is first needed, once; undefined if there is none yet. The caller closes it. */
export type OpenLog = () => Promise<LogReader | undefined>

export class UnappliedEntries {
  readonly #open: OpenLog
  readonly #workspaceId: string
  /** By partition. */
  #scans: readonly Scan[] = []

  constructor(open: OpenLog, workspaceId: string) {
    this.#open = open
    this.#workspaceId = workspaceId
  }

  /** Scans the log up to its current end, so that little is left for `exist`. Call it outside of transactions. */
  async scanAhead(store: Store): Promise<void> {
    const log = await this.#open()
    if (!log) return
    const last = await log.lastPosition()
    const scans: Scan[] = []
    for (const [partition, cursor] of (await listPipelineCursors(store, log.partitions)).entries()) {
      scans.push(await this.#scan(log, { partition, after: cursor, last }))
    }
    this.#scans = scans
  }

  /** Call it in the transaction that holds the pipeline's lock. */
  async exist(store: Store): Promise<boolean> {
    const log = await this.#open()
    if (!log) return false
    for (const [partition, cursor] of (await listPipelineCursors(store, log.partitions)).entries()) {
      const { until = 0, found = 0 } = this.#scans[partition] ?? {}
      if (found > cursor) return true
      const rest = await this.#scan(log, { partition, after: Math.max(until, cursor), last: Infinity })
      if (rest.found !== undefined) return true
    }
    return false
  }

  /** Reads after `after`, up to the first entry of the workspace, to `last`, or to the end of the log. */
  async #scan(
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
