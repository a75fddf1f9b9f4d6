// The content of a message as a stream whose end waits. Nodemailer writes the final dot when the stream ends, so a server cannot accept
// the message before `held` resolves. If it rejects, the stream never ends: the session destroys the connection.
import { Readable } from 'node:stream'

/** Nodemailer looks at each byte: a message with large attachments must not hold the event loop in one piece. */
const CHUNK_BYTES = 64 * 1024

export class HeldContent extends Readable {
  readonly #raw: Buffer
  readonly #held: Promise<void>
  #offset = 0

  constructor(raw: Uint8Array, held: Promise<void>) {
    super({ highWaterMark: CHUNK_BYTES })
    this.#raw = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
    this.#held = held
  }

  override _read(): void {
    if (this.#offset === this.#raw.length) {
      void this.#held.then(
        () => this.push(null),
        () => undefined,
      )
      return
    }
    const chunk = this.#raw.subarray(this.#offset, this.#offset + CHUNK_BYTES)
    this.#offset += chunk.length
    this.push(chunk)
  }
}
