// Reads messages of the stream in order, through a consumer that the server keeps for as long as it is asked: it remembers
// only how far it has read. Nothing is acknowledged, for cursors stand in the tables.
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { AckPolicy, DeliverPolicy, ReplayPolicy, type ConsumerConfig, type ConsumerInfo } from '@nats-io/jetstream'
import { createInbox, nanos, type Msg, type MsgHdrs } from '@nats-io/transport-node'
import type { StoredMessage } from './jetstream-message.ts'
import { ALL_SUBJECTS, STREAM, type LogStream } from './jetstream-stream.ts'
import { unavailable } from './unavailable.ts'

/** The server forgets a consumer that was not asked for so long: one that follows, and one for a look that is over soon. */
const IDLE_MS_MAX = 60_000
const LOOK_IDLE_MS_MAX = 5_000
/** Another consumer is asked for when the servers have not made one in this time, a further one after twice that. */
const MAKE_AGAIN_MS = 100
/** How long consumers are made until the stream's leader keeps one; each takes some milliseconds, and of three one is its. */
const MAKE_WAIT_MS = 3_000
/** A consumer that says nothing for so long is lost, with the server that kept it. */
const SILENCE_MS_MAX = 2_000
/**
 * What one pull may bring into memory before the consumer is left, counted as it comes: whoever reads the bodies unpacks
 * them one read at a time. A pull has no bound in bytes of its own: 2.9 ends one with such a bound without a word.
 */
const PULLED_BYTES_MAX = 2 * 1024 * 1024
/** What a server says of a pull that has ended with less than was asked for. */
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

  private constructor(stream: LogStream, { name, cluster }: ConsumerInfo) {
    this.#stream = stream
    this.#name = name
    this.server = cluster?.leader
    this.#subscription = stream.connection.subscribe(this.#inbox, {
      callback: (error, message) => (error === null ? this.#receive(message) : this.#lose(error.message)),
    })
  }

  /** Makes the consumer. Whoever is done with it closes the puller. */
  static async open(stream: LogStream, start: ConsumerStart): Promise<JetStreamPuller> {
    return new JetStreamPuller(stream, await makeConsumer(stream, start))
  }

  /** As `open`, for a look at the headers of what was stamped from an instant on; the server finds that by itself. */
  static openFrom(stream: LogStream, instant: number): Promise<JetStreamPuller> {
    return JetStreamPuller.open(stream, {
      deliver_policy: DeliverPolicy.StartTime,
      opt_start_time: new Date(instant).toISOString(),
      filter_subject: ALL_SUBJECTS,
      headers_only: true,
      inactive_threshold: nanos(LOOK_IDLE_MS_MAX),
    })
  }

  /** Whether it must be left, and another opened behind what it has read. */
  get isLost(): boolean {
    return this.#isLost
  }

  /**
   * The next messages, as many as there are now and `max` at the most; fewer, and `isLost`, where they are very large.
   * Rejects with AppError `unavailable` when the consumer is lost. One pull at a time.
   */
  async pull(max: number): Promise<StoredMessage[]> {
    if (!this.#stream.link.isUp) throw unavailable('The connection to the log in NATS is lost.')
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

  /** Nothing waits for an answer yet when the client refuses to send, as it does on a connection that is being closed. */
  #ask(max: number): void {
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${STREAM}.${this.#name}`
    const { connection } = this.#stream
    try {
      connection.publish(subject, JSON.stringify({ batch: max, no_wait: true }), { reply: this.#inbox })
    } catch (error) {
      throw unavailable(`The log in NATS cannot be read now: ${(error as Error).message}.`)
    }
  }

  #receive(message: Msg): void {
    const { subject, data, reply } = message
    const headers = headersOf(message)
    // What the stream holds comes with its place; in the headers of that a code is its publisher's, and says nothing here.
    if (!reply) {
      if (headers && NO_MORE.has(headers.code)) this.#end()
      else this.#lose(headers?.status ?? 'it sends what nobody has asked for')
      return
    }
    const { position, delivery, stampedAt } = toDelivery(reply)
    if (delivery !== this.#lastDelivery + 1) {
      this.#lose('messages were lost on their way')
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
    return setTimeout(() => this.#lose('it does not answer'), SILENCE_MS_MAX)
  }

  #end(): void {
    clearTimeout(this.#pull?.timer)
    this.#pull?.ended.resolve()
    this.#pull = undefined
  }

  #lose(reason: string): void {
    this.close()
    clearTimeout(this.#pull?.timer)
    this.#pull?.ended.reject(unavailable(`The log in NATS cannot be read now: ${reason}.`))
    this.#pull = undefined
  }
}

/** None where the client takes them for broken: servers pass on whatever somebody calls headers. */
function headersOf(message: Msg): MsgHdrs | undefined {
  try {
    return message.headers
  } catch {
    return undefined
  }
}

/**
 * Gives a consumer that the stream's leader keeps. The servers choose by chance which of them does, and a consumer gives what
 * its own server has: others may lag, and with NATS 2.9 a leader that was killed comes back with what it had proposed and
 * nobody else has, in the places of what has been acknowledged since. Rejects when the servers do, or nobody leads.
 */
async function makeConsumer(stream: LogStream, start: ConsumerStart): Promise<ConsumerInfo> {
  // There is nothing to choose, and servers differ in what they then tell of a leader.
  if (stream.replicas === 1) return await makeSomeConsumer(stream, start)
  const deadline = performance.now() + MAKE_WAIT_MS
  do {
    const { cluster } = await stream.ask(({ streams }) => streams.info(STREAM))
    const consumer = await makeSomeConsumer(stream, start)
    if (consumer.cluster?.leader === cluster?.leader) return consumer
    // It would be forgotten by itself, only later.
    stream.ask(({ consumers }) => consumers.delete(STREAM, consumer.name)).catch(() => {})
  } while (performance.now() < deadline)
  throw unavailable('The log in NATS cannot be read now: the leader of its stream keeps no consumer.')
}

/**
 * Gives the consumer that was made first. For minutes after a server has died the others may choose that one, which never
 * answers; so others are asked for meanwhile. Those that are not needed are forgotten. Rejects when one of them does.
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
    inactive_threshold: nanos(IDLE_MS_MAX),
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
 * What the server tells in the subject for an acknowledgement, `$JS.ACK.[domain.account.]stream.consumer.tries.position.
 * delivery.nanoseconds.pending`: the message's place, and the how-manieth of this consumer it is.
 */
function toDelivery(reply: string): { position: number; delivery: number; stampedAt: number } {
  const tokens = reply.split('.')
  const [position, delivery, stamp = ''] = tokens.slice(tokens.length > 9 ? 7 : 5)
  // Nanoseconds exceed what a number holds exactly.
  return { position: Number(position), delivery: Number(delivery), stampedAt: Number(stamp.slice(0, -6)) }
}
