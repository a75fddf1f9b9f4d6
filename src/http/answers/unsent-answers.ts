// Limits the memory of large answers that are not completely sent: an answer stays in memory until its client reads it.
import { AppError } from '../../core/app-error.ts'
import type { HttpLimits } from '../http-limits.ts'

/** Answers up to this size are not counted: the system buffers that much for each connection. */
const UNCOUNTED_BYTES_MAX = 16 * 1024
const RETRY_AFTER_SECONDS = 5

/** Where an answer is sent: Node's response, or a connection on the fast path. It closes when the answer is sent, or given up. */
export interface AnswerSink {
  readonly closed: boolean
  readonly socket: { destroy(): unknown } | null
  once(event: 'close', listener: () => void): unknown
}

interface UnsentAnswer {
  readonly bytes: number
  readonly since: number
}

export class UnsentAnswers {
  readonly #limits: HttpLimits
  /** In the order in which they were begun. */
  readonly #answers = new Map<AnswerSink, UnsentAnswer>()
  #bytes = 0

  constructor(limits: HttpLimits) {
    this.#limits = limits
  }

  /** Counts the answer to a request that changed something. It is sent no matter how much else is unsent. */
  add(sink: AnswerSink, bytes: number): void {
    if (bytes <= UNCOUNTED_BYTES_MAX) return
    this.#makeRoom(bytes)
    // The answer was given up already, and takes no memory.
    if (sink.closed) return
    this.#answers.set(sink, { bytes, since: performance.now() })
    this.#bytes += bytes
    sink.once('close', () => this.#forget(sink))
  }

  /** The same for an answer that the client can request again; false if too much else is unsent. */
  addIfFits(sink: AnswerSink, bytes: number): boolean {
    if (bytes <= UNCOUNTED_BYTES_MAX) return true
    this.#makeRoom(bytes)
    if (!this.#fits(bytes)) return false
    this.add(sink, bytes)
    return true
  }

  /** An answer that is alone always fits. */
  #fits(bytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= this.#limits.unsentBytesMax
  }

  /** Gives up the oldest answers, if their clients had enough time. */
  #makeRoom(bytes: number): void {
    for (const [sink, { since }] of this.#answers) {
      if (this.#fits(bytes) || performance.now() - since < this.#limits.unsentPatienceMs) return
      this.#forget(sink)
      sink.socket?.destroy()
    }
  }

  #forget(sink: AnswerSink): void {
    this.#bytes -= this.#answers.get(sink)?.bytes ?? 0
    this.#answers.delete(sink)
  }
}

/** The refusal of an answer that does not fit. */
export function tooMuchUnsent(): AppError {
  const message = `Too many large responses are unread. Retry after ${RETRY_AFTER_SECONDS} seconds.`
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
