// Marks: messages of the stream that are no entries. One shows that the stream accepts, and its stamp up to when all that
// the stream has accepted is there to be read.
import type { JetStreamPublisher } from './jetstream-publisher.ts'
import { MARK_SUBJECT, STREAM, type LogStream } from './jetstream-stream.ts'
import { unavailable } from './unavailable.ts'

/** How far the clocks of the servers may differ: when another takes the lead, its stamps may be so much behind. */
export const CLOCKS_DIFFER_MS_MAX = 1_000
/** Who asks again so soon is told the same, so that marks are few however many ask. */
const REUSED_MS = 50
const NOTHING = new Uint8Array()

/** Publishes a mark; gives its position. Rejects with AppError `unavailable` when the stream does not accept. */
export function publishMark(publisher: JetStreamPublisher): Promise<number> {
  return publisher.publish({ subject: MARK_SUBJECT, headers: undefined, body: NOTHING })
}

export class SettledInstants {
  readonly #stream: LogStream
  readonly #publisher: JetStreamPublisher
  #latest: { readonly askedAt: number; readonly instant: Promise<number> } | undefined

  constructor(stream: LogStream, publisher: JetStreamPublisher) {
    this.#stream = stream
    this.#publisher = publisher
  }

  /**
   * An instant before which no further entry is stamped. An entry is stamped when the leader receives it, and can be read
   * only when a majority has it, which may be seconds later: the present less an allowance would promise too much. All
   * that was stamped before a mark stands before it, so once the mark can be read, so can they; and what comes after it is
   * stamped later, by the same clock, or by another's that differs by `CLOCKS_DIFFER_MS_MAX` at the most.
   */
  find(): Promise<number> {
    const askedAt = performance.now()
    if (!this.#latest || askedAt - this.#latest.askedAt > REUSED_MS) {
      const instant = this.#mark()
      this.#latest = { askedAt, instant }
      instant.catch(() => (this.#latest = undefined))
    }
    return this.#latest.instant
  }

  async #mark(): Promise<number> {
    const seq = await publishMark(this.#publisher)
    const mark = await this.#stream.ask(({ streams }) => streams.getMessage(STREAM, { seq }))
    // Trimmed already, or asked of a leader that has just taken over and does not know it yet.
    if (!mark) throw unavailable('The log in NATS has changed its leader; please repeat the request.')
    return mark.time.getTime() - (this.#stream.replicas > 1 ? CLOCKS_DIFFER_MS_MAX : 0)
  }
}
