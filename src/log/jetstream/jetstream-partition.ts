// Follows one partition of the log in JetStream. Between reads it keeps its place on the server, and whatever was pulled beyond
// the bounds of one read is kept for the next.
import { DeliverPolicy } from '@nats-io/jetstream'
import { AppError } from '../../core/app-error.ts'
import type { LogEntry } from '../event-log.ts'
import type { StreamLeader } from './jetstream-leader.ts'
import { bodyBytesOf, fromMessage, type StoredMessage } from './jetstream-message.ts'
import { JetStreamPuller } from './jetstream-puller.ts'
import { partitionSubject, type LogStream } from './jetstream-stream.ts'

/** How many entries are pulled at once; of large ones only as many as hold, together, about as much as a read may. */
const PULLED_ENTRIES_MAX = 256

export interface ReadBounds {
  readonly entries: number
  readonly bytes: number
}

/** A message that was pulled, kept as it came: packed bodies are many times as large once they are unpacked. */
interface PulledMessage {
  readonly message: StoredMessage
  readonly position: number
  /** The size of the entry that it becomes. */
  readonly bytes: number
}

export interface PartitionReaderOptions {
  readonly stream: LogStream
  readonly partition: number
  readonly leader: StreamLeader
  /** Is told the name of a server whose consumer did not answer, or that no longer leads the stream. */
  readonly onServerLost: (server: string) => void
}

export class PartitionReader {
  readonly #stream: LogStream
  readonly #subject: string
  readonly #leader: StreamLeader
  readonly #onServerLost: (server: string) => void
  #puller: JetStreamPuller | undefined
  /** Everything in the partition after this position is in `#ahead`, or still to come from the puller. */
  #returned = 0
  #ahead: PulledMessage[] = []
  /** The mean size of the entries that were pulled last. */
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
    const read = this.#last.then(() => this.#readAgain(after, bounds))
    this.#last = read.catch(() => {})
    return read
  }

  close(): void {
    this.#puller?.close()
  }

  /** If the consumer is kept by this server, reads on through another. */
  leaveServer(server: string): void {
    if (this.#puller?.server === server) this.#puller.close()
  }

  /** A consumer is lost with the server that keeps it; another takes its place at once. */
  async #readAgain(after: number, bounds: ReadBounds): Promise<LogEntry[]> {
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
    if (after < this.#returned || after > (this.#ahead.at(-1)?.position ?? this.#returned)) this.#leave()
    this.#returned = after
    this.#ahead = this.#ahead.filter(({ position }) => position > after)
    let hasMore = true
    while (hasMore && this.#ahead.length < bounds.entries && countFitting(this.#ahead, bounds) === this.#ahead.length) {
      hasMore = await this.#pull(bounds)
    }
    const read = this.#ahead.splice(0, countFitting(this.#ahead, bounds))
    this.#returned = read.at(-1)?.position ?? after
    return read.map(({ message }) => fromMessage(message))
  }

  /** Pulls what comes next into `#ahead`; false when that is all there is now. */
  async #pull(bounds: ReadBounds): Promise<boolean> {
    if (this.#puller?.isLost) {
      this.#puller.close()
      this.#puller = undefined
    }
    this.#puller ??= await JetStreamPuller.open(this.#stream, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: (this.#ahead.at(-1)?.position ?? this.#returned) + 1,
      filter_subject: this.#subject,
    })
    const max = Math.max(1, Math.min(PULLED_ENTRIES_MAX, bounds.entries, Math.ceil(bounds.bytes / this.#entryBytes)))
    const pulled = (await this.#puller.pull(max)).map(toPulled)
    await this.#leader.confirm(this.#puller.server, pulled.length > 0)
    const pulledBytes = pulled.reduce((sum, { bytes }) => sum + bytes, 0)
    if (pulled.length > 0) this.#entryBytes = Math.max(1, pulledBytes / pulled.length)
    this.#ahead.push(...pulled)
    return pulled.length >= max || this.#puller.isLost
  }

  #leave(): void {
    this.#puller?.close()
    this.#puller = undefined
    this.#ahead = []
  }
}

function toPulled(message: StoredMessage): PulledMessage {
  return { message, position: message.position, bytes: bodyBytesOf(message) }
}

/** How many messages, from the first on, fit both bounds as entries; at least one if there is any. */
function countFitting(pulled: readonly PulledMessage[], bounds: ReadBounds): number {
  let sum = 0
  for (const [index, { bytes }] of pulled.entries()) {
    sum += bytes
    if (index >= bounds.entries || (index > 0 && sum > bounds.bytes)) return index
  }
  return pulled.length
}
