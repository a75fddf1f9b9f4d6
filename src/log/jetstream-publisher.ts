// Publishes to the stream, many messages at once: none waits for the answer to another. What is not answered is sent again
// until the limit of time; a change of the leader is waited out that way. The stream may then hold it twice, under one id.
import { createInbox, type Msg } from '@nats-io/transport-node'
import type { OutgoingMessage } from './jetstream-message.ts'
import type { LogStream } from './jetstream-stream.ts'
import { unavailable } from './unavailable.ts'

/** Unanswered for so long, a message is refused; whether it is kept is then unknown. */
const ANSWER_MS_MAX = 5_000
/** Sent again when unanswered for so long, as when the leader was lost with it. */
const RESEND_MS = 2_000
/** Sent again so soon after a server said that nobody leads the stream now. */
const LEADERLESS_MS = 150
/** How often it looks for what is due. */
const LOOK_MS = 50
const NO_RESPONDERS = 503
/** JetStream or its cluster does not serve now. */
const PASSING = new Set([10008, 10009])

/** What the stream says of a message that it keeps, on a majority of its replicas. */
interface Acknowledgement {
  readonly seq?: number
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description: string }
}

interface Pending {
  readonly message: OutgoingMessage
  readonly token: string
  /** What the stream had reached before it was sent: it stands behind that. */
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
  /** The highest position that the stream is known to have given. */
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
    stream.link.onReturn(() => this.#sendAll())
  }

  /**
   * Resolves with the message's position when the stream keeps it. Rejects with AppError `unavailable` when it is refused or
   * not answered in time; in that case it may be kept all the same. So it does where the stream has lost what it had, or is
   * another: whoever follows is past such a position, and would never read the message.
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

  /** What the lost connection took with it is sent again. */
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
      // The client refuses the message itself: it is closed, or the server takes no messages as large any more.
      this.#take(pending)?.reject(unavailable(`The log in NATS refuses entries: ${(error as Error).message}.`))
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
    if (error && !isPassing(error)) {
      this.#take(pending)?.reject(unavailable(`The log in NATS refuses entries: ${error.description}.`))
      return
    }
    // Without a position it is not kept.
    if (seq > 0) this.#settle(pending, seq)
    else pending.dueAt = performance.now() + LEADERLESS_MS
  }

  #settle(pending: Pending, position: number): void {
    if (position > pending.behind) {
      this.#reached = Math.max(this.#reached, position)
      this.#take(pending)?.resolve(position)
      return
    }
    const where = `it ends at position ${position} and had reached ${pending.behind}`
    this.#take(pending)?.reject(unavailable(`The log in NATS has lost entries: ${where}. See docs/cluster.md.`))
  }

  #look(): void {
    const now = performance.now()
    for (const pending of this.#pending.values()) {
      if (pending.deadline <= now) {
        this.#stream.link.change()
        this.#take(pending)?.reject(unavailable('The log in NATS does not answer; please repeat the request.'))
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

/** A server that leads no more answers with the words of its own parts, without a code of JetStream. */
function isPassing({ code, err_code: reason = 0 }: NonNullable<Acknowledgement['error']>): boolean {
  return PASSING.has(reason) || (code === NO_RESPONDERS && reason === 0)
}
