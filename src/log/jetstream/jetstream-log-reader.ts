// Reads the log in JetStream: partitions for the pipeline, and single messages for look-ups.
import type { MsgRequest, NextMsgRequest, StoredMsg } from '@nats-io/jetstream'
import { AppError } from '../../core/app-error.ts'
import type { EntryPosition, LogEntry, LogReader } from '../event-log.ts'
import { StreamLeader } from './jetstream-leader.ts'
import { CLOCKS_DIFFER_MS_MAX, LowWatermark } from './jetstream-control-records.ts'
import { idOf, fromMessage, type StoredMessage } from './jetstream-message.ts'
import { PartitionReader, type ReadBounds } from './jetstream-partition.ts'
import { JetStreamPublisher } from './jetstream-publisher.ts'
import { JetStreamPuller } from './jetstream-puller.ts'
import { openLogStream, STREAM, partitionSubject, type LogStream } from './jetstream-stream.ts'
import { LOG_PARTITIONS } from '../partition.ts'

export interface JetStreamLogReaderOptions {
  /** The servers, as `nats://user:password@host:port`, separated by commas. */
  readonly url: string
  /** The replicas of a stream that does not exist yet; by default 3 in a cluster, else 1. */
  readonly replicas?: number
}

/**
 * The range of `findByRequestId`: messages with a time from about that in the request id (a UUID of version 7) until this much
 * later, and at most this many. An entry gets its time when the whole request has arrived. An entry whose request took longer, or
 * arrived among more messages, is not found.
 */
const SEARCHED_MS_MAX = 60_000
const SEARCHED_MESSAGES_MAX = 100_000
const PULLED_HEADERS_MAX = 1_000
const UUID_WITH_TIME = /^([0-9a-f]{8})-([0-9a-f]{4})-7/i

/** Creates the stream if it does not exist. Rejects with AppError `unavailable` when no server responds. */
export async function openJetStreamLogReader({ url, replicas }: JetStreamLogReaderOptions): Promise<LogReader> {
  return new JetStreamLogReader(await openLogStream(url, replicas))
}

/** Milliseconds since the epoch. */
interface TimeSpan {
  readonly from: number
  readonly until: number
}

class JetStreamLogReader implements LogReader {
  readonly mayRepeat = true
  readonly partitions = LOG_PARTITIONS
  readonly #stream: LogStream
  readonly #readers: readonly PartitionReader[]
  readonly #lowWatermark: LowWatermark
  /** For each partition, the first entry after a position. */
  readonly #firsts = new Map<number, { readonly after: number; readonly first: EntryPosition }>()

  constructor(stream: LogStream) {
    this.#stream = stream
    const leader = new StreamLeader(stream)
    // When one partition loses a server, the others need not wait for it to time out.
    const onServerLost = (server: string) => this.#readers.forEach((reader) => reader.leaveServer(server))
    this.#readers = Array.from({ length: LOG_PARTITIONS }, (_, partition) => {
      return new PartitionReader({ stream, partition, leader, onServerLost })
    })
    this.#lowWatermark = new LowWatermark(stream, new JetStreamPublisher(stream))
  }

  async read(after: number, bounds: ReadBounds, partition = 0): Promise<LogEntry[]> {
    const reader = this.#readers[partition]
    if (!reader) throw new RangeError(`partition ${partition} does not exist`)
    return await this.#reportRead(reader.read(after, bounds))
  }

  async firstAfter(cursors: readonly number[]): Promise<EntryPosition | undefined> {
    const firsts = await this.#reportRead(
      Promise.all(cursors.map((cursor, partition) => this.#firstOf(partition, cursor))),
    )
    const existing = firsts.filter((first) => first !== undefined)
    return existing.toSorted((left, right) => left.position - right.position)[0]
  }

  async lowWatermark(now: number): Promise<number> {
    return Math.min(now, await this.#lowWatermark.find())
  }

  async lastPosition(): Promise<number> {
    const { state } = await this.#stream.ask(({ streams }) => streams.info(STREAM))
    return state.last_seq
  }

  async findByRequestId(requestId: string, from?: EntryPosition): Promise<LogEntry | undefined> {
    const time = timeOf(requestId)
    // A client may send an id with any year, and the servers do not accept every year.
    if (time === undefined || time > Date.now() + SEARCHED_MS_MAX) return undefined
    const span = { from: Math.max(time - CLOCKS_DIFFER_MS_MAX, from?.receivedAt ?? 0), until: time + SEARCHED_MS_MAX }
    const position = span.from > span.until ? undefined : await this.#findPosition(requestId, span)
    const message = position === undefined ? null : await this.#find({ seq: position })
    return message ? fromMessage(toStored(message)) : undefined
  }

  async close(): Promise<void> {
    for (const reader of this.#readers) reader.close()
    await this.#stream.close()
  }

  /** Reports the result of a read to the link: a server may respond although it is cut off from the others. */
  async #reportRead<Answer>(read: Promise<Answer>): Promise<Answer> {
    try {
      const answer = await read
      this.#stream.link.reportRead(true)
      return answer
    } catch (error) {
      if (error instanceof AppError) this.#stream.link.reportRead(false)
      throw error
    }
  }

  /**
   * The server finds the last entry of a partition at once, and for most partitions it shows that nothing follows the cursor. It
   * searches the first entry after a cursor from the cursor on, which takes long only if many messages lie between.
   */
  async #firstOf(partition: number, cursor: number): Promise<EntryPosition | undefined> {
    const cached = this.#firsts.get(partition)
    if (cached && cached.after <= cursor && cursor < cached.first.position) return cached.first
    const subject = partitionSubject(partition)
    const last = await this.#find({ last_by_subj: subject })
    if (!last || last.seq <= cursor) return undefined
    const message = await this.#find({ next_by_subj: subject, seq: cursor + 1 })
    if (!message) return undefined
    const first = { position: message.seq, receivedAt: message.time.getTime() }
    this.#firsts.set(partition, { after: cursor, first })
    return first
  }

  /** Asks the leader. The types of the client lack `next_by_subj`, which servers support from 2.9 on. */
  #find(what: MsgRequest | NextMsgRequest): Promise<StoredMsg | null> {
    return this.#stream.ask(({ streams }) => streams.getMessage(STREAM, what as MsgRequest))
  }

  /** Searches the messages of a time span. */
  async #findPosition(requestId: string, { from, until }: TimeSpan): Promise<number | undefined> {
    const puller = await JetStreamPuller.openFrom(this.#stream, from)
    try {
      for (let seen = 0; seen < SEARCHED_MESSAGES_MAX; seen += PULLED_HEADERS_MAX) {
        const messages = await puller.pull(PULLED_HEADERS_MAX)
        const candidates = messages.filter(({ stampedAt }) => stampedAt <= until)
        const match = candidates.find(({ headers }) => idOf(headers) === requestId)
        if (match) return match.position
        // Earlier messages may be from a time when the leader's clock was ahead.
        const isOver = (messages.at(-1)?.stampedAt ?? Infinity) > until
        if (isOver || messages.length < PULLED_HEADERS_MAX) return undefined
      }
      return undefined
    } finally {
      puller.close()
    }
  }
}

/** The time in an id; undefined if it has none, and so is not one of ours. */
function timeOf(requestId: string): number | undefined {
  const [, high, low] = UUID_WITH_TIME.exec(requestId) ?? []
  return high === undefined || low === undefined ? undefined : parseInt(high + low, 16)
}

function toStored({ seq, subject, time, header, data }: StoredMsg): StoredMessage {
  return { position: seq, subject, stampedAt: time.getTime(), headers: header, body: data }
}
