// Reads messages of the stream in order, through a consumer that the server keeps for as long as it is asked for messages: the
// consumer remembers only how far it has read. Nothing is acknowledged to it, because the cursors are in the tables.
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { AckPolicy, DeliverPolicy, ReplayPolicy, type ConsumerConfig, type ConsumerInfo } from '@nats-io/jetstream'
import { createInbox, millis, nanos, type Msg, type MsgHdrs } from '@nats-io/transport-node'
import { messageOf } from '../../core/thrown.ts'
import type { StoredMessage } from './jetstream-message.ts'
import { ALL_SUBJECTS, STREAM, type LogStream } from './jetstream-stream.ts'
import { unavailable } from '../unavailable.ts'

/** When the server forgets a consumer that is not asked: one that follows the log, and one for a look that is over soon. */
const IDLE_MS_MAX = 60_000
const LOOK_IDLE_MS_MAX = 5_000
/** Another consumer is asked for when the servers have not made one in this time; before each further one the wait doubles. */
const MAKE_AGAIN_MS = 100
/** How long consumers are made until the leader keeps one; each takes some milliseconds, and one in three is the leader's. */
const MAKE_WAIT_MS = 3_000
/** A consumer that says nothing for this long counts as lost, with the server that kept it. */
const SILENCE_MS_MAX = 2_000
/**
 * How much one pull may bring into memory before the consumer is left. Bodies count as they come, packed: whoever reads them
 * unpacks them one read at a time. The pull itself names no bound in bytes, because 2.9 ends such a pull without a word.
 */
const PULLED_BYTES_MAX = 2 * 1024 * 1024
/** The codes with which a server says that a pull has ended with less than was asked for. */
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
  /** The name of the server that keeps the consumer; undefined where there is only one. */
  readonly server: string | undefined
  readonly #inbox = createInbox()
  readonly #subscription
  #arrived: StoredMessage[] = []
  #arrivedBytes = 0
  #lastDelivery = 0
  #pull: Pull | undefined
  #isLost = false
  /** How long the server keeps the consumer without being asked, and when it was last asked. */
  readonly #keptMs: number
  #askedAt = performance.now()

  private constructor(stream: LogStream, { name, cluster }: ConsumerInfo, keptMs: number) {
    this.#stream = stream
    this.#keptMs = keptMs
    this.#name = name
    this.server = cluster?.leader
    this.#subscription = stream.connection.subscribe(this.#inbox, {
      callback: (error, message) => (error === null ? this.#receive(message) : this.#lose(error.message)),
    })
  }

  /** Makes the consumer. Whoever is done with it closes the puller. */
  static async open(stream: LogStream, start: ConsumerStart): Promise<JetStreamPuller> {
    const withThreshold = { inactive_threshold: nanos(IDLE_MS_MAX), ...start }
    const consumer = await makeConsumer(stream, withThreshold)
    return new JetStreamPuller(stream, consumer, millis(withThreshold.inactive_threshold))
  }

  /** As `open`, to look at the headers of messages stamped at an instant or later; the server itself finds the first. */
  static openFrom(stream: LogStream, instant: number): Promise<JetStreamPuller> {
    return JetStreamPuller.open(stream, {
      deliver_policy: DeliverPolicy.StartTime,
      opt_start_time: new Date(instant).toISOString(),
      filter_subject: ALL_SUBJECTS,
      headers_only: true,
      inactive_threshold: nanos(LOOK_IDLE_MS_MAX),
    })
  }

  /**
   * Whether this puller must be left, and another opened that goes on after what it has read. Also when it has not been asked for
   * long: a server that has forgotten the consumer says nothing.
   */
  get isLost(): boolean {
    return this.#isLost || performance.now() - this.#askedAt > this.#keptMs / 2
  }

  /**
   * The next messages: as many as there are now, `max` at the most. Where they are very large, fewer, and `isLost` is true
   * afterwards. Rejects with AppError `unavailable` when the consumer is lost. One pull at a time.
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

  /** Called before anything waits for an answer: on a connection that is being closed, the client refuses to send. */
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
    // Messages of the stream come with their place. A status code in the headers of one is from its publisher, and means
    // nothing here.
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

/** Undefined where the client finds the headers broken: servers pass on whatever somebody calls headers. */
function headersOf(message: Msg): MsgHdrs | undefined {
  try {
    return message.headers
  } catch {
    return undefined
  }
}

/**
 * Gives a consumer that the stream's leader keeps. The servers choose at random which of them keeps it, and a consumer gives
 * what its own server has. Other servers may lag, and with NATS 2.9 a leader that was killed comes back with messages that it
 * had proposed and nobody else has, in the places of those acknowledged since. Rejects when the servers do, or nobody leads.
 */
async function makeConsumer(stream: LogStream, start: ConsumerStart): Promise<ConsumerInfo> {
  // There is nothing to choose then, and servers differ in what they say about a leader.
  if (stream.replicas === 1) return await makeSomeConsumer(stream, start)
  const deadline = performance.now() + MAKE_WAIT_MS
  do {
    const { cluster } = await stream.ask(({ streams }) => streams.info(STREAM))
    const consumer = await makeSomeConsumer(stream, start)
    if (consumer.cluster?.leader === cluster?.leader) return consumer
    // The servers would forget it anyway, only later.
    stream.ask(({ consumers }) => consumers.delete(STREAM, consumer.name)).catch(() => {})
  } while (performance.now() < deadline)
  throw unavailable('The log in NATS cannot be read: the stream leader keeps no consumer. Retry after 1 second.')
}

/**
 * Gives whichever consumer is made first. For minutes after a server has died, the others may choose that server, which never
 * answers; so further consumers are asked for meanwhile. The servers forget those that are not needed. Rejects when one of the
 * requests does.
 */
async function makeSomeConsumer(stream: LogStream, start: ConsumerStart): Promise<ConsumerInfo> {
  const tries: Promise<ConsumerInfo>[] = []
  for (let waitMs = MAKE_AGAIN_MS; ; waitMs *= 2) {
    const made = addConsumer(stream, start)
    made.catch(() => {})
    tries.push(made)
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
 * What the server says in the subject for an acknowledgement, `$JS.ACK.[domain.account.]stream.consumer.tries.position.
 * delivery.nanoseconds.pending`: the message's place, its number among the consumer's deliveries, and its stamp.
 */
function toDelivery(reply: string): { position: number; delivery: number; stampedAt: number } {
  const tokens = reply.split('.')
  const [position, delivery, stamp = ''] = tokens.slice(tokens.length > 9 ? 7 : 5)
  // Nanoseconds exceed what a number holds exactly.
  return { position: Number(position), delivery: Number(delivery), stampedAt: Number(stamp.slice(0, -6)) }
}
