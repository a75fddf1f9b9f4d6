// Publishes messages to the stream concurrently. It resends a message without a response until its deadline, which also bridges a
// change of leader. The stream may then contain a message twice, with the same id.
import { createInbox, type Msg } from '@nats-io/transport-node'
import { messageOf } from '../../core/thrown.ts'
import type { OutgoingMessage } from './jetstream-message.ts'
import type { LogStream } from './jetstream-stream.ts'
import { unavailable } from '../unavailable.ts'

/** A message without a response for this long is rejected; whether the stream has it is then unknown. */
const ANSWER_MS_MAX = 5_000
/** A message without a response for this long is resent: it may have been lost with the leader. */
const RESEND_MS = 2_000
/** How soon a message is resent after a server reported that the stream has no leader. */
const LEADERLESS_MS = 150
/** How often to look for messages that are due. */
const LOOK_MS = 50
const NO_RESPONDERS = 503
/** JetStream, or its cluster, is unavailable. */
const TRANSIENT = new Set([10008, 10009])

/** The response of the stream. A message with a position is stored, on a majority of the replicas. */
interface Acknowledgement {
  readonly seq?: number
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description: string }
}

interface Pending {
  readonly message: OutgoingMessage
  readonly token: string
  /** The last position of the stream before the message was sent; its own must be greater. */
  readonly behind: number
  readonly deadline: number
  dueAt: number
  /** Resolves with the message's position. */
  readonly answer: PromiseWithResolvers<number>
}

export class JetStreamPublisher {
  readonly #stream: LogStream
  readonly #inbox = `${createInbox()}.`
  /** In the order of their deadlines. */
  readonly #pending = new Map<string, Pending>()
  #lastToken = 0
  /** The highest position that the stream has reported. */
  #reached: number
  #timer: NodeJS.Timeout | undefined

  constructor(stream: LogStream) {
    this.#stream = stream
    this.#reached = stream.lastPosition
    stream.connection.subscribe(`${this.#inbox}*`, {
      callback: (error, message) => {
        if (error === null) this.#receive(message)
      },
    })
    stream.link.onReconnect(() => this.#sendAll())
  }

  /**
   * Resolves with the position when the stream has the message. Rejects with AppError `unavailable` when the stream refuses it, or
   * does not respond in time; in the latter case the stream may have it nevertheless. Rejects too when the stream has lost messages
   * or is another one: readers are past such a position already, and would never read the message.
   */
  publish(message: OutgoingMessage): Promise<number> {
    const token = (++this.#lastToken).toString(36)
    const now = performance.now()
    const pending = {
      message,
      token,
      behind: this.#reached,
      deadline: now + ANSWER_MS_MAX,
      dueAt: now,
      answer: Promise.withResolvers<number>(),
    }
    this.#pending.set(token, pending)
    this.#send(pending, now)
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS)
    return pending.answer.promise
  }

  /** Resends messages that were lost with the connection. */
  #sendAll(): void {
    for (const pending of this.#pending.values()) pending.dueAt = 0
    this.#look()
  }

  #send(pending: Pending, now: number): void {
    if (!this.#stream.link.isUp) return
    pending.dueAt = now + RESEND_MS
    const { subject, headers, body } = pending.message
    try {
      this.#stream.connection.publish(subject, body, {
        reply: this.#inbox + pending.token,
        ...(headers && { headers }),
      })
    } catch (error) {
      // The client refuses the message: it is closed, or the server no longer accepts messages of this size.
      this.#take(pending)?.reject(
        unavailable(`The log in NATS rejected the entry: ${messageOf(error)}. Retry after 1 second.`),
      )
    }
  }

  #receive({ subject, headers, data }: Msg): void {
    const pending = this.#pending.get(subject.slice(this.#inbox.length))
    if (!pending) return
    if (headers?.code === NO_RESPONDERS) {
      pending.dueAt = performance.now() + LEADERLESS_MS
      return
    }
    const { seq = 0, error } = JSON.parse(Buffer.from(data).toString('utf8')) as Acknowledgement
    if (error && !isTransient(error)) {
      this.#take(pending)?.reject(
        unavailable(`The log in NATS rejected the entry: ${error.description}. Retry after 1 second.`),
      )
      return
    }
    // A message without a position is not stored.
    if (seq > 0) this.#settle(pending, seq)
    else pending.dueAt = performance.now() + LEADERLESS_MS
  }

  #settle(pending: Pending, position: number): void {
    if (position > pending.behind) {
      this.#reached = Math.max(this.#reached, position)
      this.#take(pending)?.resolve(position)
      return
    }
    const where = `it ends at position ${position} but had reached ${pending.behind}`
    this.#take(pending)?.reject(unavailable(`The log in NATS has lost entries: ${where}. See docs/cluster.md.`))
  }

  #look(): void {
    const now = performance.now()
    for (const pending of this.#pending.values()) {
      if (pending.deadline <= now) {
        this.#stream.link.change()
        this.#take(pending)?.reject(unavailable('The log in NATS does not respond. Retry after 1 second.'))
      } else if (pending.dueAt <= now) this.#send(pending, now)
    }
    if (this.#pending.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #take(pending: Pending): PromiseWithResolvers<number> | undefined {
    return this.#pending.delete(pending.token) ? pending.answer : undefined
  }
}

/** A server that no longer leads responds with an internal error without a JetStream code. */
function isTransient({ code, err_code: reason = 0 }: NonNullable<Acknowledgement['error']>): boolean {
  return TRANSIENT.has(reason) || (code === NO_RESPONDERS && reason === 0)
}
