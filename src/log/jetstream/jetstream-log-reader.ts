// Reads the log in JetStream: partition by partition for those who follow it, and by look-ups for those who ask about it.
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
  /** How many copies to make of a stream that is not there yet; by default 3 in a cluster, else 1. */
  readonly replicas?: number
}

/**
 * How far `findByRequestId` looks: through messages stamped from about the time in the request's id (a UUID of version 7)
 * until this much later, and through this many at the most. An entry is stamped when all of its request has come in. One
 * whose request took longer to come in, or came among more messages, is not found while it waits.
 */
const FOUND_WITHIN_MS = 60_000
const FOUND_WITHIN_MESSAGES = 100_000
const PULLED_HEADERS_MAX = 1_000
const UUID_WITH_TIME = /^([0-9a-f]{8})-([0-9a-f]{4})-7/i

/** Makes the stream if it is not there. Rejects with AppError `unavailable` when no server answers. */
export async function openJetStreamLogReader({ url, replicas }: JetStreamLogReaderOptions): Promise<LogReader> {
  return new JetStreamLogReader(await openLogStream(url, replicas))
}

/** Instants, in milliseconds. */
interface StampSpan {
  readonly from: number
  readonly until: number
}

class JetStreamLogReader implements LogReader {
  readonly mayRepeat = true
  readonly partitions = LOG_PARTITIONS
  readonly #stream: LogStream
  readonly #readers: readonly PartitionReader[]
  readonly #settled: LowWatermark
  /** For each partition, the first entry that was found after a position. */
  readonly #firsts = new Map<number, { readonly after: number; readonly place: EntryPosition }>()

  constructor(stream: LogStream) {
    this.#stream = stream
    const leader = new StreamLeader(stream)
    // When one partition learns that a server is lost, the others need not wait for its answer in vain.
    const onServerLost = (server: string) => this.#readers.forEach((reader) => reader.leaveServer(server))
    this.#readers = Array.from({ length: LOG_PARTITIONS }, (_, partition) => {
      return new PartitionReader({ stream, partition, leader, onServerLost })
    })
    this.#settled = new LowWatermark(stream, new JetStreamPublisher(stream))
  }

  async read(after: number, bounds: ReadBounds, partition = 0): Promise<LogEntry[]> {
    const reader = this.#readers[partition]
    if (!reader) throw new RangeError(`partition ${partition} does not exist`)
    return await this.#noted(reader.read(after, bounds))
  }

  async firstAfter(cursors: readonly number[]): Promise<EntryPosition | undefined> {
    const firsts = await this.#noted(Promise.all(cursors.map((cursor, partition) => this.#firstOf(partition, cursor))))
    const found = firsts.filter((first) => first !== undefined)
    return found.toSorted((left, right) => left.position - right.position)[0]
  }

  async lowWatermark(now: number): Promise<number> {
    return Math.min(now, await this.#settled.find())
  }

  async lastPosition(): Promise<number> {
    const { state } = await this.#stream.ask(({ streams }) => streams.info(STREAM))
    return state.last_seq
  }

  async findByRequestId(requestId: string, from?: EntryPosition): Promise<LogEntry | undefined> {
    const time = timeOf(requestId)
    // An id made by others may name any year, and the servers do not accept every year.
    if (time === undefined || time > Date.now() + FOUND_WITHIN_MS) return undefined
    const span = { from: Math.max(time - CLOCKS_DIFFER_MS_MAX, from?.receivedAt ?? 0), until: time + FOUND_WITHIN_MS }
    const position = span.from > span.until ? undefined : await this.#findPosition(requestId, span)
    const message = position === undefined ? null : await this.#find({ seq: position })
    return message ? fromMessage(toStored(message)) : undefined
  }

  async close(): Promise<void> {
    for (const reader of this.#readers) reader.close()
    await this.#stream.close()
  }

  /** Lets the link know how what followers ask all the time has gone: a server may be cut off from the others, though not from us. */
  async #noted<Answer>(read: Promise<Answer>): Promise<Answer> {
    try {
      const answer = await read
      this.#stream.link.noteRead(true)
      return answer
    } catch (error) {
      if (error instanceof AppError) this.#stream.link.noteRead(false)
      throw error
    }
  }

  /**
   * The last entry of a partition is found at once, and shows for most partitions that nothing waits. The first entry after
   * a cursor is searched for from the cursor on, which takes long only where much lies in between.
   */
  async #firstOf(partition: number, cursor: number): Promise<EntryPosition | undefined> {
    const known = this.#firsts.get(partition)
    if (known && known.after <= cursor && cursor < known.place.position) return known.place
    const subject = partitionSubject(partition)
    const last = await this.#find({ last_by_subj: subject })
    if (!last || last.seq <= cursor) return undefined
    const first = await this.#find({ next_by_subj: subject, seq: cursor + 1 })
    if (!first) return undefined
    const place = { position: first.seq, receivedAt: first.time.getTime() }
    this.#firsts.set(partition, { after: cursor, place })
    return place
  }

  /** Asks the leader. The client's types lack the next message of a subject, which servers know from 2.9 on. */
  #find(what: MsgRequest | NextMsgRequest): Promise<StoredMsg | null> {
    return this.#stream.ask(({ streams }) => streams.getMessage(STREAM, what as MsgRequest))
  }

  /** Looks among the messages stamped from one instant until another. */
  async #findPosition(requestId: string, { from, until }: StampSpan): Promise<number | undefined> {
    const puller = await JetStreamPuller.openFrom(this.#stream, from)
    try {
      for (let seen = 0; seen < FOUND_WITHIN_MESSAGES; seen += PULLED_HEADERS_MAX) {
        const messages = await puller.pull(PULLED_HEADERS_MAX)
        const near = messages.filter(({ stampedAt }) => stampedAt <= until)
        const found = near.find(({ headers }) => idOf(headers) === requestId)
        if (found) return found.position
        if (near.length < PULLED_HEADERS_MAX) return undefined
      }
      return undefined
    } finally {
      puller.close()
    }
  }
}

/** When an id was made; undefined for one that does not tell, which is not one of ours. */
function timeOf(requestId: string): number | undefined {
  const [, high, low] = UUID_WITH_TIME.exec(requestId) ?? []
  return high === undefined || low === undefined ? undefined : parseInt(high + low, 16)
}

function toStored({ seq, subject, time, header, data }: StoredMsg): StoredMessage {
  return { position: seq, subject, stampedAt: time.getTime(), headers: header, body: data }
}
