// Follows one partition of the log in JetStream. Between reads it keeps its consumer, and the messages that it pulled beyond the
// bounds of one read are buffered for the next.
import { DeliverPolicy } from '@nats-io/jetstream'
import { AppError } from '../../core/app-error.ts'
import type { LogEntry } from '../event-log.ts'
import type { StreamLeader } from './jetstream-leader.ts'
import { bodyBytesOf, fromMessage, type StoredMessage } from './jetstream-message.ts'
import { JetStreamPuller } from './jetstream-puller.ts'
import { partitionSubject, type LogStream } from './jetstream-stream.ts'

/** Entries per pull; fewer large ones, together about as many bytes as a read may return. */
const PULLED_ENTRIES_MAX = 256

export interface ReadBounds {
  readonly entries: number
  readonly bytes: number
}

/** A pulled message. Its body stays packed: it is many times as large once it is unpacked. */
interface PulledMessage {
  readonly message: StoredMessage
  readonly position: number
  /** The size of its entry's body. */
  readonly bytes: number
}

export interface PartitionReaderOptions {
  readonly stream: LogStream
  readonly partition: number
  readonly leader: StreamLeader
  /** Called with the name of a server whose consumer did not respond, or that no longer leads the stream. */
  readonly onServerLost: (server: string) => void
}

export class PartitionReader {
  readonly #stream: LogStream
  readonly #subject: string
  readonly #leader: StreamLeader
  readonly #onServerLost: (server: string) => void
  #puller: JetStreamPuller | undefined
  /** Every entry of the partition after this position is in `#buffered`, or will come from the puller. */
  #returned = 0
  #buffered: PulledMessage[] = []
  /** The mean size of the entries of the last pull. */
  #entryBytes = 1
  /** The last read of the partition; reads run one after the other. */
  #last: Promise<unknown> = Promise.resolve()

  constructor({ stream, partition, leader, onServerLost }: PartitionReaderOptions) {
    this.#stream = stream
    this.#subject = partitionSubject(partition)
    this.#leader = leader
    this.#onServerLost = onServerLost
  }

  /** See `LogReader.read`. */
  read(after: number, bounds: ReadBounds): Promise<LogEntry[]> {
    const read = this.#last.then(() => this.#readWithRetry(after, bounds))
    this.#last = read.catch(() => {})
    return read
  }

  close(): void {
    this.#puller?.close()
  }

  /** If this server has the consumer, continues through another server. */
  leaveServer(server: string): void {
    if (this.#puller?.server === server) this.#puller.close()
  }

  /** A consumer is lost with its server. Reads once more with another consumer. */
  async #readWithRetry(after: number, bounds: ReadBounds): Promise<LogEntry[]> {
    const hadPuller = this.#puller !== undefined
    try {
      return await this.#read(after, bounds)
    } catch (error) {
      if (this.#puller?.server !== undefined) this.#onServerLost(this.#puller.server)
      this.#leave()
      if (!hadPuller || !(error instanceof AppError)) throw error
      return await this.#read(after, bounds)
    }
  }

  async #read(after: number, bounds: ReadBounds): Promise<LogEntry[]> {
    if (after < this.#returned || after > (this.#buffered.at(-1)?.position ?? this.#returned)) this.#leave()
    this.#returned = after
    this.#buffered = this.#buffered.filter(({ position }) => position > after)
    let hasMore = true
    while (
      hasMore &&
      this.#buffered.length < bounds.entries &&
      countFitting(this.#buffered, bounds) === this.#buffered.length
    ) {
      hasMore = await this.#pull(bounds)
    }
    const read = this.#buffered.splice(0, countFitting(this.#buffered, bounds))
    this.#returned = read.at(-1)?.position ?? after
    return read.map(({ message }) => fromMessage(message))
  }

  /** Pulls the next messages into `#buffered`; false if there are no more now. */
  async #pull(bounds: ReadBounds): Promise<boolean> {
    if (this.#puller?.isLost) {
      this.#puller.close()
      this.#puller = undefined
    }
    this.#puller ??= await JetStreamPuller.open(this.#stream, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: (this.#buffered.at(-1)?.position ?? this.#returned) + 1,
      filter_subject: this.#subject,
    })
    const max = Math.max(1, Math.min(PULLED_ENTRIES_MAX, bounds.entries, Math.ceil(bounds.bytes / this.#entryBytes)))
    const pulled = (await this.#puller.pull(max)).map(toPulled)
    await this.#leader.confirm(this.#puller.server, pulled.length > 0)
    const pulledBytes = pulled.reduce((sum, { bytes }) => sum + bytes, 0)
    if (pulled.length > 0) this.#entryBytes = Math.max(1, pulledBytes / pulled.length)
    this.#buffered.push(...pulled)
    return pulled.length >= max || this.#puller.isLost
  }

  #leave(): void {
    this.#puller?.close()
    this.#puller = undefined
    this.#buffered = []
  }
}

function toPulled(message: StoredMessage): PulledMessage {
  return { message, position: message.position, bytes: bodyBytesOf(message) }
}

/** How many messages, from the first on, fit both bounds; at least one if there is any. */
function countFitting(pulled: readonly PulledMessage[], bounds: ReadBounds): number {
  let sum = 0
  for (const [index, { bytes }] of pulled.entries()) {
    sum += bytes
    if (index >= bounds.entries || (index > 0 && sum > bounds.bytes)) return index
  }
  return pulled.length
}
