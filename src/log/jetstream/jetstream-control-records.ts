// Marks: messages of the stream that are not entries. A mark shows that the stream accepts messages, and its stamp shows up to
// which instant everything that the stream has accepted can be read.
import type { JetStreamPublisher } from './jetstream-publisher.ts'
import { CONTROL_SUBJECT, STREAM, type LogStream } from './jetstream-stream.ts'
import { unavailable } from '../unavailable.ts'

/** How far the clocks of the servers may differ: when another server takes the lead, its stamps may lag this far behind. */
export const CLOCKS_DIFFER_MS_MAX = 1_000
/** Whoever asks again within this time is told the same, so that marks are few however many ask. */
const REUSED_MS = 50
const NOTHING = new Uint8Array()

/** Publishes a mark; gives its position. Rejects with AppError `unavailable` when the stream does not accept. */
export function publishControlRecord(publisher: JetStreamPublisher): Promise<number> {
  return publisher.publish({ subject: CONTROL_SUBJECT, headers: undefined, body: NOTHING })
}

export class LowWatermark {
  readonly #stream: LogStream
  readonly #publisher: JetStreamPublisher
  #latest: { readonly askedAt: number; readonly instant: Promise<number> } | undefined

  constructor(stream: LogStream, publisher: JetStreamPublisher) {
    this.#stream = stream
    this.#publisher = publisher
  }

  /**
   * An instant before which no further entry is stamped. An entry is stamped when the leader receives it, and can be read
   * only when a majority has it, which may be seconds later: the present time minus an allowance would promise too much.
   * Everything stamped before a mark stands before it in the stream, so once the mark can be read, all of that can. What comes
   * after the mark is stamped later, by the same clock or by one that differs by `CLOCKS_DIFFER_MS_MAX` at the most.
   */
  find(): Promise<number> {
    const askedAt = performance.now()
    if (!this.#latest || askedAt - this.#latest.askedAt > REUSED_MS) {
      this.#latest = { askedAt, instant: this.#mark() }
    }
    return this.#latest.instant
  }

  async #mark(): Promise<number> {
    const seq = await publishControlRecord(this.#publisher)
    const mark = await this.#stream.ask(({ streams }) => streams.getMessage(STREAM, { seq }))
    // The mark is trimmed already, or the leader has just taken over and does not know it yet.
    if (!mark) throw unavailable('The leader of the log in NATS changed. Retry after 1 second.')
    return mark.time.getTime() - (this.#stream.replicas > 1 ? CLOCKS_DIFFER_MS_MAX : 0)
  }
}
