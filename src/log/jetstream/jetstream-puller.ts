// Reads messages of the stream in order, through a consumer that the server keeps while it gets pulls. The consumer stores only how
// far it has read. It gets no acknowledgements: the cursors are in the tables.
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { AckPolicy, DeliverPolicy, ReplayPolicy, type ConsumerConfig, type ConsumerInfo } from '@nats-io/jetstream'
import { createInbox, millis, nanos, type Msg, type MsgHdrs } from '@nats-io/transport-node'
import { messageOf } from '../../core/thrown.ts'
import type { StoredMessage } from './jetstream-message.ts'
import { ALL_SUBJECTS, STREAM, type LogStream } from './jetstream-stream.ts'
import { unavailable } from '../unavailable.ts'

/** When the server deletes an idle consumer: one that follows the log, and one for a look-up. */
const IDLE_MS_MAX = 60_000
const LOOK_UP_IDLE_MS_MAX = 5_000
/** If the servers have not created a consumer in this time, another is requested. The time doubles with each. */
const CREATE_RETRY_MS = 100
/** How long to create consumers until the leader has one; each takes some milliseconds, and one in three is the leader's. */
const CREATE_WAIT_MS = 3_000
/** A consumer that is silent for this long counts as lost, with its server. */
const SILENCE_MS_MAX = 2_000
/**
 * How much one pull may bring into memory before the consumer is closed. Packed bodies count as they are: readers unpack them one
 * read at a time. The pull itself has no bound in bytes, because NATS 2.9 ends such a pull without a response.
 */
const PULLED_BYTES_MAX = 2 * 1024 * 1024
/** Status codes of a pull that ended with fewer messages than it requested. */
const NO_MORE = new Set([404, 408])

export type ConsumerStart = Pick<
  ConsumerConfig,
  'deliver_policy' | 'opt_start_seq' | 'opt_start_time' | 'filter_subject' | 'headers_only' | 'inactive_threshold'
>

interface Pull {
  readonly wanted: number
  readonly ended: PromiseWithResolvers<void>
  timer: NodeJS.Timeout
}

export class JetStreamPuller {
  readonly #stream: LogStream
  readonly #name: string
  /** The name of the server that has the consumer; undefined with a single server. */
  readonly server: string | undefined
  readonly #inbox = createInbox()
  readonly #subscription
  #arrived: StoredMessage[] = []
  #arrivedBytes = 0
  #lastDelivery = 0
  #pull: Pull | undefined
  #isLost = false
  /** How long the server keeps the idle consumer, and when it was last asked. */
  readonly #idleMsMax: number
  #askedAt = performance.now()

  private constructor(stream: LogStream, { name, cluster }: ConsumerInfo, idleMsMax: number) {
    this.#stream = stream
    this.#idleMsMax = idleMsMax
    this.#name = name
    this.server = cluster?.leader
    this.#subscription = stream.connection.subscribe(this.#inbox, {
      callback: (error, message) => (error === null ? this.#receive(message) : this.#lose(error.message)),
    })
  }

  /** Creates the consumer. The caller closes the puller. */
  static async open(stream: LogStream, start: ConsumerStart): Promise<JetStreamPuller> {
    const withThreshold = { inactive_threshold: nanos(IDLE_MS_MAX), ...start }
    const consumer = await createConsumer(stream, withThreshold)
    return new JetStreamPuller(stream, consumer, millis(withThreshold.inactive_threshold))
  }

  /** As `open`, for the headers of messages at an instant or later. The server finds the first. */
  static openFrom(stream: LogStream, instant: number): Promise<JetStreamPuller> {
    return JetStreamPuller.open(stream, {
      deliver_policy: DeliverPolicy.StartTime,
      opt_start_time: new Date(instant).toISOString(),
      filter_subject: ALL_SUBJECTS,
      headers_only: true,
      inactive_threshold: nanos(LOOK_UP_IDLE_MS_MAX),
    })
  }

  /**
   * Whether the caller must open another puller, after the last message of this one. Also true when this one has been idle for
   * long: a server that has deleted the consumer does not say so.
   */
  get isLost(): boolean {
    return this.#isLost || performance.now() - this.#askedAt > this.#idleMsMax / 2
  }

  /**
   * The next messages that exist now, at most `max`. Returns fewer if they are very large; `isLost` is true afterwards. Rejects
   * with AppError `unavailable` when the consumer is lost. One pull at a time.
   */
  async pull(max: number): Promise<StoredMessage[]> {
    if (!this.#stream.link.isUp) throw unavailable('The connection to the log in NATS was lost. Retry after 1 second.')
    this.#ask(max)
    const ended = Promise.withResolvers<void>()
    this.#pull = { wanted: max, ended, timer: this.#startTimer() }
    await ended.promise
    const arrived = this.#arrived
    this.#arrived = []
    this.#arrivedBytes = 0
    return arrived
  }

  close(): void {
    this.#isLost = true
    this.#subscription.unsubscribe()
  }

  /** Called before anything waits for a response, because the client refuses to send on a closing connection. */
  #ask(max: number): void {
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${STREAM}.${this.#name}`
    const { connection } = this.#stream
    this.#askedAt = performance.now()
    try {
      connection.publish(subject, JSON.stringify({ batch: max, no_wait: true }), { reply: this.#inbox })
    } catch (error) {
      throw unavailable(`The log in NATS cannot be read: ${messageOf(error)}. Retry after 1 second.`)
    }
  }

  #receive(message: Msg): void {
    const { subject, data, reply } = message
    const headers = headersOf(message)
    // Messages of the stream have a reply subject. A status code in their headers comes from the publisher, and means nothing
    // here.
    if (!reply) {
      if (headers && NO_MORE.has(headers.code)) this.#end()
      else this.#lose(headers?.status ?? 'it sent an unexpected message')
      return
    }
    const { position, delivery, stampedAt } = toDelivery(reply)
    if (delivery !== this.#lastDelivery + 1) {
      this.#lose('messages were lost in transit')
      return
    }
    this.#lastDelivery = delivery
    this.#arrived.push({ position, subject, stampedAt, headers, body: data })
    this.#arrivedBytes += data.byteLength
    if (this.#arrivedBytes > PULLED_BYTES_MAX) this.close()
    if (this.#isLost || this.#arrived.length >= (this.#pull?.wanted ?? Infinity)) this.#end()
    else this.#pull?.timer.refresh()
  }

  #startTimer(): NodeJS.Timeout {
    return setTimeout(() => this.#lose('it does not respond'), SILENCE_MS_MAX)
  }

  #end(): void {
    clearTimeout(this.#pull?.timer)
    this.#pull?.ended.resolve()
    this.#pull = undefined
  }

  #lose(reason: string): void {
    this.close()
    clearTimeout(this.#pull?.timer)
    this.#pull?.ended.reject(unavailable(`The log in NATS cannot be read: ${reason}. Retry after 1 second.`))
    this.#pull = undefined
  }
}

/** Undefined if the client cannot parse the headers: servers pass them on unchecked. */
function headersOf(message: Msg): MsgHdrs | undefined {
  try {
    return message.headers
  } catch {
    return undefined
  }
}

/**
 * Creates a consumer on the stream's leader. The servers choose at random which of them has the consumer, and it delivers what its
 * own server has. Other servers may lag, and with NATS 2.9 a leader that was killed returns with messages that only it has, at the
 * positions of those acknowledged since. Rejects when the servers refuse, or there is no leader.
 */
async function createConsumer(stream: LogStream, start: ConsumerStart): Promise<ConsumerInfo> {
  // With one replica there is no choice, and servers differ in what they report as the leader.
  if (stream.replicas === 1) return await createAnyConsumer(stream, start)
  const deadline = performance.now() + CREATE_WAIT_MS
  do {
    const { cluster } = await stream.ask(({ streams }) => streams.info(STREAM))
    const consumer = await createAnyConsumer(stream, start)
    if (consumer.cluster?.leader === cluster?.leader) return consumer
    // The servers would delete it anyway, only later.
    stream.ask(({ consumers }) => consumers.delete(STREAM, consumer.name)).catch(() => {})
  } while (performance.now() < deadline)
  throw unavailable('The log in NATS cannot be read: the stream leader keeps no consumer. Retry after 1 second.')
}

/**
 * Resolves with the first consumer that the servers create. For minutes after a server has died, the others may choose that server,
 * which never responds; so it requests further consumers meanwhile. The servers delete the idle ones. Rejects when one of the
 * requests does.
 */
async function createAnyConsumer(stream: LogStream, start: ConsumerStart): Promise<ConsumerInfo> {
  const tries: Promise<ConsumerInfo>[] = []
  for (let waitMs = CREATE_RETRY_MS; ; waitMs *= 2) {
    const created = addConsumer(stream, start)
    created.catch(() => {})
    tries.push(created)
    const first = await Promise.race([...tries, pause(waitMs, undefined, { ref: false })])
    if (first !== undefined) return first
  }
}

function addConsumer(stream: LogStream, start: ConsumerStart): Promise<ConsumerInfo> {
  const config = {
    ...start,
    name: randomUUID(),
    ack_policy: AckPolicy.None,
    replay_policy: ReplayPolicy.Instant,
    num_replicas: 1,
    mem_storage: true,
  }
  return stream.ask(({ consumers }) => consumers.add(STREAM, config))
}

/**
 * Parses the reply subject, `$JS.ACK.[domain.account.]stream.consumer.tries.position.delivery.nanoseconds.pending`: the position of
 * the message, its number among the consumer's deliveries, and its time.
 */
function toDelivery(reply: string): { position: number; delivery: number; stampedAt: number } {
  const tokens = reply.split('.')
  const [position, delivery, stamp = ''] = tokens.slice(tokens.length > 9 ? 7 : 5)
  // Nanoseconds exceed the safe integers.
  return { position: Number(position), delivery: Number(delivery), stampedAt: Number(stamp.slice(0, -6)) }
}
