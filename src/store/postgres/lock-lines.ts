// Lines of changes in one process that begin with the same lock: all but two in each line wait without a connection. Otherwise
// the changes of one workspace could hold every connection, and whoever wants anything else would wait behind them.
import { TooBusy } from '../store.ts'

/** How many of a line have a place: one that has the lock, and one that gets it as soon as the first ends. */
const AT_ONCE_MAX = 2

interface Line {
  /** How many have a place. */
  entered: number
  /** In the order in which they came; for each, a request or some other caller waits too. */
  readonly waiting: Set<() => void>
}

export class LockLines {
  readonly #lines = new Map<string, Line>()

  /** Takes a place that is free now, to be given back by `leave`; false where there is none. */
  tryEnter(key: string): boolean {
    const line = this.#lines.get(key) ?? { entered: 0, waiting: new Set() }
    if (line.entered >= AT_ONCE_MAX) return false
    this.#lines.set(key, line)
    line.entered++
    return true
  }

  /** Waits for a place. Throws `TooBusy` where none is free within `waitMs`. */
  async enter(key: string, waitMs: number): Promise<void> {
    if (this.tryEnter(key)) return
    const { waiting } = this.#lines.get(key) as Line
    const turn = Promise.withResolvers<void>()
    waiting.add(turn.resolve)
    const late = setTimeout(() => {
      waiting.delete(turn.resolve)
      turn.reject(new TooBusy())
    }, waitMs)
    try {
      await turn.promise
    } finally {
      clearTimeout(late)
    }
  }

  /** Gives the place to whoever has waited longest. */
  leave(key: string): void {
    const line = this.#lines.get(key) as Line
    const [next] = line.waiting
    if (next) {
      line.waiting.delete(next)
      next()
    } else if (--line.entered === 0) this.#lines.delete(key)
  }
}
