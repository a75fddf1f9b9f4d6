// The large answers that are not sent whole yet. Together they have a limit, because an answer stays in memory for as long as
// its client does not read it.
import { AppError } from '../../core/app-error.ts'
import type { HttpLimits } from '../http-limits.ts'

/** Answers up to this size are not counted: the system takes over that much at once for each connection. */
const UNCOUNTED_BYTES_MAX = 16 * 1024
const RETRY_AFTER_SECONDS = 5

/** Where an answer is sent. It is `closed`, and tells so, once it is sent whole or nobody waits for it any more. */
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

  /** Counts an answer about something that was done, which has to be told however much else is unsent. */
  add(sink: AnswerSink, bytes: number): void {
    if (bytes <= UNCOUNTED_BYTES_MAX) return
    this.#makeRoom(bytes)
    // Nobody waits for it any more, and it is not kept.
    if (sink.closed) return
    this.#answers.set(sink, { bytes, since: performance.now() })
    this.#bytes += bytes
    sink.once('close', () => this.#forget(sink))
  }

  /** The same for an answer that can be asked for again; false where too much else is unsent for it to fit. */
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

  /** Whoever has taken longest to read gives way first, after having had its time. */
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
  const message = 'Too many answers wait to be read; please repeat the request.'
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
