// Control records: messages of the stream that are not entries. A control record shows that the stream accepts messages, and its
// time is a low watermark.
import type { JetStreamPublisher } from './jetstream-publisher.ts'
import { CONTROL_SUBJECT, STREAM, type LogStream } from './jetstream-stream.ts'
import { unavailable } from '../unavailable.ts'

/** How far the clocks of the servers may differ: after a change of leader, times may go back by this much. */
export const CLOCKS_DIFFER_MS_MAX = 1_000
/** Callers within this time share one result, so that control records are few. */
const REUSED_MS = 50
const NOTHING = new Uint8Array()

/** Resolves with the position of the control record. Rejects with AppError `unavailable` if the stream does not accept it. */
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
   * An instant before which no later entry has its time. An entry gets its time when the leader receives it, and is readable only
   * when a majority has it, perhaps seconds later; so the present time minus an allowance would be wrong. Messages with an earlier
   * time than a control record precede it in the stream, so they are readable once it is. Messages after it get later times, from
   * the same clock or one that differs by at most `CLOCKS_DIFFER_MS_MAX`.
   */
  find(): Promise<number> {
    const askedAt = performance.now()
    if (!this.#latest || askedAt - this.#latest.askedAt > REUSED_MS) {
      this.#latest = { askedAt, instant: this.#publish() }
    }
    return this.#latest.instant
  }

  async #publish(): Promise<number> {
    const seq = await publishControlRecord(this.#publisher)
    const control = await this.#stream.ask(({ streams }) => streams.getMessage(STREAM, { seq }))
    // The control record is trimmed already, or the leader has just taken over and does not have it yet.
    if (!control) throw unavailable('The leader of the log in NATS changed. Retry after 1 second.')
    return control.time.getTime() - (this.#stream.replicas > 1 ? CLOCKS_DIFFER_MS_MAX : 0)
  }
}
