// Repeats a step at an interval, never two at a time.

/**
 * Starts the first step after `everyMs`. Passes the error of a step that rejects to `onFailed`; the next step follows anyway. The
 * returned function stops the repetition and resolves when the running step is done; a long step should check `isStopping`.
 */
export function startRepeating(
  step: (isStopping: () => boolean) => Promise<void>,
  { everyMs, onFailed }: { readonly everyMs: number; readonly onFailed: (error: unknown) => void },
): () => Promise<void> {
  let isStopping = false
  let running: Promise<void> | undefined
  const timer = setInterval(() => {
    running ??= step(() => isStopping)
      .catch(onFailed)
      .finally(() => (running = undefined))
  }, everyMs).unref()
  return async () => {
    isStopping = true
    clearInterval(timer)
    await running
  }
}
