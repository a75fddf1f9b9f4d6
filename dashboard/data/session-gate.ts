// Holds calls back while nobody is signed in. The first call that the server refuses with 401 makes the page ask the person to sign in,
// over what it shows; once they have, all held calls are sent again.

export class SessionGate {
  #openings = 0
  #waiting: PromiseWithResolvers<void> | undefined
  readonly #listeners = new Set<() => void>()

  /** Whether the page should ask the person to sign in. */
  get isClosed(): boolean {
    return this.#waiting !== undefined
  }

  /** How often somebody has signed in again. */
  get openings(): number {
    return this.#openings
  }

  /**
   * Closes the gate and waits until it opens. `openings`: when the refused call was sent; if the gate has opened since, the call need not
   * wait. Rejects with the reason of `signal` if that is aborted first.
   */
  async wait(openings: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    if (openings !== this.#openings) return
    if (!this.#waiting) {
      this.#waiting = Promise.withResolvers()
      this.#tell()
    }
    const { promise } = this.#waiting
    if (!signal) return promise
    const aborted = Promise.withResolvers<never>()
    const onAbort = () => aborted.reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await Promise.race([promise, aborted.promise])
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** Call it when the person has signed in again. */
  open(): void {
    this.#openings++
    this.#waiting?.resolve()
    this.#waiting = undefined
    this.#tell()
  }

  /** Calls `listener` whenever `isClosed` may have changed. Returns how to stop that. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
