// Caches parts of statistics responses in memory. An entry is valid only at the revision of the numbers it was made from.
import { LRUCache } from 'lru-cache'

/** Memory of all entries. */
const CACHE_BYTES_MAX = 8 * 1024 * 1024
/** Larger entries are not cached: one must not evict all others. */
const ENTRY_BYTES_MAX = CACHE_BYTES_MAX / 8
/** An entry takes this much besides its JSON, which may be empty. */
const OVERHEAD_BYTES = 512

interface CachedResponse {
  readonly revision: number
  readonly json: Buffer
}

/** JSON by question. */
export class ResponseCache {
  readonly #responses = new LRUCache<string, CachedResponse>({
    maxSize: CACHE_BYTES_MAX,
    maxEntrySize: ENTRY_BYTES_MAX + OVERHEAD_BYTES,
    sizeCalculation: ({ json }) => json.byteLength + OVERHEAD_BYTES,
  })

  /** The response to `question` at exactly this revision; undefined if it is not cached. */
  find(question: string, revision: number): Buffer | undefined {
    const cached = this.#responses.get(question)
    return cached?.revision === revision ? cached.json : undefined
  }

  /** Caches a response that was made from this revision or a newer one. */
  set(question: string, revision: number, json: Buffer): void {
    this.#responses.set(question, { revision, json })
  }
}
