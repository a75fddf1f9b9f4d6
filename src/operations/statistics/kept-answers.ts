// Answers that were worked out before, kept in memory as long as what they were made of has not changed.

/** Memory for all of them. */
const KEPT_BYTES_MAX = 8 * 1024 * 1024
/** What is larger than this is not kept: one answer must not drive all others out. */
const ANSWER_BYTES_MAX = KEPT_BYTES_MAX / 8
/** What an answer takes besides its JSON, which may be empty: its question and its place. */
const PLACE_BYTES = 512

interface KeptAnswer {
  readonly revision: number
  readonly json: Buffer
}

/** Parts of answers as JSON, by what was asked. Those that were asked for least recently are dropped first. */
export class KeptAnswers {
  /** In the order in which they were asked for last. */
  readonly #answers = new Map<string, KeptAnswer>()
  #bytes = 0

  /** What was answered to `question` at exactly this revision; undefined when that is not known. */
  find(question: string, revision: number): Buffer | undefined {
    const kept = this.#answers.get(question)
    if (kept?.revision !== revision) return undefined
    this.#answers.delete(question)
    this.#answers.set(question, kept)
    return kept.json
  }

  /** Keeps an answer that was made of nothing older than this revision. */
  keep(question: string, revision: number, json: Buffer): void {
    this.#forget(question)
    if (json.byteLength > ANSWER_BYTES_MAX) return
    this.#answers.set(question, { revision, json })
    this.#bytes += json.byteLength + PLACE_BYTES
    for (const oldest of this.#answers.keys()) {
      if (this.#bytes <= KEPT_BYTES_MAX) break
      this.#forget(oldest)
    }
  }

  #forget(question: string): void {
    const kept = this.#answers.get(question)
    if (!kept) return
    this.#bytes -= kept.json.byteLength + PLACE_BYTES
    this.#answers.delete(question)
  }
}
