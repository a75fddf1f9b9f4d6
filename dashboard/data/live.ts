// Asks the server what changed, every two seconds while the page is visible, so that screens show it. Waits until what changed is
// fetched before it asks again: on a busy server, screens lag a little instead of asking for the same ever again. After a failure it
// waits longer and longer.
import type { QueryClient } from '@tanstack/query-core'
import type { Client } from './client.ts'
import { invalidateTopics, refetchFailed } from './queries.ts'
import { changedTopics, type LiveDocument } from './topics.ts'

const EVERY_MS = 2_000
const WAIT_MS_MAX = 60_000

/** What is known now. */
export interface LiveState {
  /** Undefined until the first answer for this workspace. */
  readonly document: LiveDocument | undefined
  /** When it came: milliseconds since the epoch. */
  readonly heardAt: number | undefined
  /** Why the last question failed, so that the document may be old. Undefined if it did not. */
  readonly error: Error | undefined
}

const UNKNOWN: LiveState = { document: undefined, heardAt: undefined, error: undefined }

export interface LiveOptions {
  readonly client: Client
  readonly queries: QueryClient
  readonly ask: (client: Client, signal: AbortSignal) => Promise<LiveDocument>
}

export class Live {
  readonly #options: LiveOptions
  readonly #listeners = new Set<() => void>()
  #state = UNKNOWN
  #workspace: string | undefined
  #failures = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #asking: AbortController | undefined

  constructor(options: LiveOptions) {
    this.#options = options
  }

  get state(): LiveState {
    return this.#state
  }

  /** Begins to ask. Returns how to stop. */
  start(): () => void {
    const onVisibility = () => this.askNow()
    document.addEventListener('visibilitychange', onVisibility)
    this.askNow()
    return () => {
      document.removeEventListener('visibilitychange', onVisibility)
      this.#pause()
    }
  }

  /** Calls `listener` whenever `state` has changed. Returns how to stop that. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Asks without waiting any longer, unless nobody sees the page. */
  askNow(): void {
    this.#pause()
    if (document.visibilityState === 'visible') void this.#ask()
  }

  #pause(): void {
    clearTimeout(this.#timer)
    this.#asking?.abort()
    this.#asking = undefined
  }

  async #ask(): Promise<void> {
    const { client, ask } = this.#options
    const asking = new AbortController()
    this.#asking = asking
    const { workspace } = client
    if (workspace !== this.#workspace) this.#show(UNKNOWN)
    this.#workspace = workspace
    try {
      if (workspace !== undefined) await this.#take(await ask(client, asking.signal), asking.signal)
      this.#failures = 0
    } catch (error) {
      if (asking.signal.aborted) return
      this.#failures++
      this.#show({ ...this.#state, error: error as Error })
    }
    if (asking.signal.aborted) return
    const waitMs = Math.min(EVERY_MS * 2 ** this.#failures, WAIT_MS_MAX)
    this.#timer = setTimeout(() => void this.#ask(), waitMs)
  }

  async #take(after: LiveDocument, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const { queries } = this.#options
    const { document: before, error } = this.#state
    this.#show({ document: after, heardAt: Date.now(), error: undefined })
    const topics = before ? changedTopics(before, after) : new Set<never>()
    if (topics.size > 0) await invalidateTopics(queries, topics)
    // What else failed meanwhile.
    if (error) await refetchFailed(queries)
  }

  #show(state: LiveState): void {
    this.#state = state
    for (const listener of this.#listeners) listener()
  }
}
