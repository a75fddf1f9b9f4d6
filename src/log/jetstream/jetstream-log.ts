// The writer of the log in NATS JetStream, which many machines share. It acknowledges an entry when a majority of the stream's
// replicas have it. Entries wait for that concurrently, within bounds.
import {
  APPENDS_WAITING_MAX,
  type AppendOutcome,
  type LogCommit,
  type LogWriter,
  type NewEntry,
  type TrimLimits,
  type WaitingBounds,
} from '../event-log.ts'
import { publishControlRecord } from './jetstream-control-records.ts'
import { toMessage } from './jetstream-message.ts'
import { JetStreamPublisher } from './jetstream-publisher.ts'
import { JetStreamPuller } from './jetstream-puller.ts'
import { openLogStream, STREAM, type LogStream } from './jetstream-stream.ts'
import { KeyClaims, type KeyStore } from './key-claims.ts'
import { findRefusal } from '../unavailable.ts'

export interface JetStreamLogOptions {
  /** The servers, as `nats://user:password@host:port`, separated by commas. */
  readonly url: string
  /** Where idempotency keys are stored. */
  readonly keys: KeyStore
  /** The replicas of a stream that does not exist yet; by default 3 in a cluster, else 1. */
  readonly replicas?: number
  readonly onCommit?: (commit: LogCommit) => void
  /** Smaller bounds, for tests. */
  readonly bounds?: WaitingBounds | undefined
}

const TRIMMED_PER_STEP_MAX = 2_000
/** The messages that one search for the end of the old entries looks at. */
const SEARCHED_FOR_YOUNG_MAX = 256

/** Creates the stream if it does not exist. Rejects with AppError `unavailable` when no server responds. */
export async function openJetStreamLog(options: JetStreamLogOptions): Promise<LogWriter> {
  return new JetStreamLog(await openLogStream(options.url, options.replicas), options)
}

class JetStreamLog implements LogWriter {
  readonly #stream: LogStream
  readonly #publisher: JetStreamPublisher
  readonly #keys: KeyStore
  readonly #claims: KeyClaims
  readonly #commits: CombinedCommits
  readonly #bounds: WaitingBounds
  /** In the order of arrival. */
  readonly #waiting = new Set<NewEntry>()
  #waitingBytes = 0
  #isClosed = false
  #onIdle: (() => void) | undefined
  /** Cached for all steps of one trim. */
  #old: OldEntries | undefined

  constructor(stream: LogStream, options: JetStreamLogOptions) {
    this.#stream = stream
    this.#publisher = new JetStreamPublisher(stream)
    this.#keys = options.keys
    this.#claims = new KeyClaims(options.keys)
    this.#commits = new CombinedCommits(options.onCommit ?? (() => {}))
    this.#bounds = options.bounds ?? APPENDS_WAITING_MAX
  }

  async append(entry: NewEntry): Promise<AppendOutcome> {
    const waiting = { isClosed: this.#isClosed, entries: this.#waiting.size, bytes: this.#waitingBytes }
    const refusal = findRefusal(entry, waiting, this.#bounds)
    if (refusal) throw refusal
    this.#waiting.add(entry)
    this.#waitingBytes += entry.body.byteLength
    try {
      return await this.#claims.append(entry, (requestId) => this.#publish(entry, requestId))
    } finally {
      this.#waiting.delete(entry)
      this.#waitingBytes -= entry.body.byteLength
      if (this.#waiting.size === 0) this.#onIdle?.()
    }
  }

  oldestWaitingReceivedAt(): number | undefined {
    return this.#waiting.values().next().value?.receivedAt
  }

  async trim(limits: TrimLimits): Promise<boolean> {
    const hasMoreEntries = await this.#trimEntries(limits)
    const hasMoreKeys = await this.#keys.forget(limits.keysReceivedBefore)
    return hasMoreEntries || hasMoreKeys
  }

  async check(): Promise<void> {
    await publishControlRecord(this.#publisher)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#waiting.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    await this.#stream.close()
  }

  async #publish(entry: NewEntry, requestId: string): Promise<void> {
    const startedAt = performance.now()
    await this.#publisher.publish(toMessage(entry, requestId))
    this.#commits.add(startedAt, requestId === entry.requestId ? entry.events : 0)
  }

  async #trimEntries(limits: TrimLimits): Promise<boolean> {
    const { throughPosition } = limits
    const { state } = await this.#stream.ask(({ streams }) => streams.info(STREAM))
    if (state.messages === 0 || throughPosition < state.first_seq) return false
    if (this.#old?.limits !== limits) this.#old = await this.#findOld(limits, state.last_seq)
    const { through, hasMore } = this.#old
    const last = Math.min(throughPosition, through)
    const seq = Math.min(last + 1, state.first_seq + TRIMMED_PER_STEP_MAX)
    if (seq <= state.first_seq) return false
    await this.#stream.ask(({ streams }) => streams.purge(STREAM, { seq }))
    if (seq <= last) return true
    if (hasMore) this.#old = undefined
    return hasMore && through <= throughPosition
  }

  /** Finds the old entries, up to the first that is not old. See `LogWriter.trim`. */
  async #findOld(limits: TrimLimits, lastPosition: number): Promise<OldEntries> {
    const { entriesReceivedBefore: before, entriesReceivedAfter: after } = limits
    const puller = await JetStreamPuller.openFrom(this.#stream, before)
    try {
      const found = await puller.pull(SEARCHED_FOR_YOUNG_MAX)
      const young = found.find(({ stampedAt }) => stampedAt >= before && stampedAt <= after)
      if (young) return { limits, through: young.position - 1, hasMore: false }
      const through = found.at(-1)?.position ?? lastPosition
      return { limits, through, hasMore: found.length === SEARCHED_FOR_YOUNG_MAX }
    } finally {
      puller.close()
    }
  }
}

/** The entries up to a position are old by these limits; `hasMore` if those after it may be old too. */
interface OldEntries {
  readonly limits: TrimLimits
  readonly through: number
  readonly hasMore: boolean
}

/** Reports all acknowledgements of one turn of the event loop as one commit. */
class CombinedCommits {
  readonly #onCommit: (commit: LogCommit) => void
  #entries = 0
  #events = 0
  #startedAt = Infinity

  constructor(onCommit: (commit: LogCommit) => void) {
    this.#onCommit = onCommit
  }

  add(startedAt: number, events: number): void {
    if (this.#entries === 0) setImmediate(() => this.#report())
    this.#entries++
    this.#events += events
    this.#startedAt = Math.min(this.#startedAt, startedAt)
  }

  #report(): void {
    const commit = { entries: this.#entries, events: this.#events, durationMs: performance.now() - this.#startedAt }
    this.#entries = 0
    this.#events = 0
    this.#startedAt = Infinity
    this.#onCommit(commit)
  }
}
