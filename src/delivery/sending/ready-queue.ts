// The claimed messages that wait for a connection.
export class ReadyQueue<Item> {
  readonly #items: Item[] = []
  readonly #takers: ((item: Item | undefined) => void)[] = []
  #isClosed = false

  get isClosed(): boolean {
    return this.#isClosed
  }

  get size(): number {
    return this.#items.length
  }

  add(items: readonly Item[]): void {
    for (const item of items) {
      const taker = this.#takers.shift()
      if (taker) taker(item)
      else this.#items.push(item)
    }
  }

  /** Puts an item back that must be taken first. */
  putBack(item: Item): void {
    const taker = this.#takers.shift()
    if (taker) taker(item)
    else this.#items.unshift(item)
  }

  /** The next item, as soon as there is one; undefined once the queue is closed, which keeps the others, or after `waitMs`. */
  take(waitMs: number): Promise<Item | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined)
    const item = this.#items.shift()
    if (item !== undefined) return Promise.resolve(item)
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#takers.splice(this.#takers.indexOf(taker), 1)
        resolve(undefined)
      }, waitMs)
      const taker = (given: Item | undefined) => {
        clearTimeout(timer)
        resolve(given)
      }
      this.#takers.push(taker)
    })
  }

  /** Removes the items that nobody has taken and for which `isWanted` holds; returns them. */
  drain(isWanted: (item: Item) => boolean): Item[] {
    const drained = this.#items.filter(isWanted)
    const kept = this.#items.filter((item) => !isWanted(item))
    this.#items.splice(0, this.#items.length, ...kept)
    return drained
  }

  /** The items that are taken next, at most `count`. */
  first(count: number): readonly Item[] {
    return this.#items.slice(0, count)
  }

  /** Nobody waits for further items. */
  close(): void {
    this.#isClosed = true
    for (const taker of this.#takers.splice(0)) taker(undefined)
  }
}
