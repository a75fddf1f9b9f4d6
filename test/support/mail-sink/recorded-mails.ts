// What a mail sink has accepted: the last messages in memory, and all of them in a file if one is given. A line of the file is written
// before the sink replies, so another process that reads it misses no accepted message.
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

/** Messages in memory, unless the caller asks for more. The page of `npm run mail-sink` shows these. */
export const MAILS_KEPT_MAX = 1_000

export interface RecordedMail {
  /** From 1, in the order in which they were accepted. */
  readonly number: number
  /** The connection over which it came, from 1. */
  readonly connection: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly from: string
  readonly to: readonly string[]
  readonly raw: Buffer
}

interface RecordingOptions {
  readonly keptMax?: number | undefined
  /** Is made, or appended to. */
  readonly file?: string | undefined
}

export class RecordedMails {
  readonly #keptMax: number
  readonly #file: number | undefined
  /** A ring: the oldest is at `#count % #keptMax` once it is full. */
  #kept: RecordedMail[] = []
  #count = 0

  constructor({ keptMax = MAILS_KEPT_MAX, file }: RecordingOptions) {
    this.#keptMax = keptMax
    this.#file = file === undefined ? undefined : openSync(file, 'a')
  }

  /** All that were accepted, also those that are no longer kept. */
  get count(): number {
    return this.#count
  }

  add(mail: Omit<RecordedMail, 'number'>): RecordedMail {
    const recorded = { ...mail, number: this.#count + 1 }
    this.#kept[this.#count % this.#keptMax] = recorded
    this.#count++
    if (this.#file !== undefined) writeSync(this.#file, toLine(recorded))
    return recorded
  }

  /** Those that are kept, the oldest first. */
  list(): RecordedMail[] {
    const start = this.#kept.length < this.#keptMax ? 0 : this.#count % this.#keptMax
    return [...this.#kept.slice(start), ...this.#kept.slice(0, start)]
  }

  /** Undefined if there is none of this number, or it is no longer kept. */
  find(number: number): RecordedMail | undefined {
    const mail = this.#kept[(number - 1) % this.#keptMax]
    return mail?.number === number ? mail : undefined
  }

  /** Forgets those in memory, and begins with number 1 again. */
  clear(): void {
    this.#kept = []
    this.#count = 0
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }
}

/** Reads the file of a sink, also while it runs. A line that is not complete yet is left out. */
export function readRecordedMails(file: string): RecordedMail[] {
  const lines = readFileSync(file, 'latin1').split('\n').slice(0, -1)
  return lines.map((line) => {
    const mail = JSON.parse(line) as Omit<RecordedMail, 'raw'> & { readonly raw: string }
    return { ...mail, raw: Buffer.from(mail.raw, 'base64') }
  })
}

function toLine({ raw, ...mail }: RecordedMail): string {
  return `${JSON.stringify({ ...mail, raw: raw.toString('base64') })}\n`
}
