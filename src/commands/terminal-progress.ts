// Shows the progress of a long command on standard error if that is a terminal; otherwise prints nothing.

/** The least time between two updates of the line. */
const SHOWN_EVERY_MS = 500
const CLEAR_LINE = '\r\u001B[K'

export interface Progress {
  /** Updates the line; skips calls that come too soon. */
  show(text: string): void
  /** Replaces the line with a final text. */
  done(text: string): void
  /** Removes the line. */
  clear(): void
}

export function terminalProgress(): Progress {
  if (!process.stderr.isTTY) return { show: () => {}, done: () => {}, clear: () => {} }
  let shownAt = 0
  return {
    show(text) {
      const now = performance.now()
      if (now - shownAt < SHOWN_EVERY_MS) return
      shownAt = now
      process.stderr.write(`${CLEAR_LINE}${text}`)
    },
    done: (text) => void process.stderr.write(`${CLEAR_LINE}${text}\n`),
    clear: () => void process.stderr.write(CLEAR_LINE),
  }
}
