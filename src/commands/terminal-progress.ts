// Shows on a terminal how far a long command is, on standard error; says nothing elsewhere.

/** Between two changes of the line. */
const SHOWN_EVERY_MS = 500
const CLEAR_LINE = '\r\u001B[K'

export interface Progress {
  /** Replaces the line, but not at every call. */
  show(text: string): void
  /** Replaces the line for good. */
  done(text: string): void
  /** Takes the line away, for what is printed next. */
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
