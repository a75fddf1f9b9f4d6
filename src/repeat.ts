// Does something again and again while the server runs, never twice at a time.

/**
 * Begins after the first `everyMs`; `onFailed` gets what a step rejects with, and the next step follows anyway. The returned
 * function stops this, and resolves when the step in hand is done; a step that takes long asks `isStopping` meanwhile.
 */
export function startRepeating(
  step: (isStopping: () => boolean) => Promise<void>,
  { everyMs, onFailed }: { readonly everyMs: number; readonly onFailed: (error: unknown) => void },
): () => Promise<void> {
  let isStopping = false
  let inHand: Promise<void> | undefined
  const timer = setInterval(() => {
    inHand ??= step(() => isStopping)
      .catch(onFailed)
      .finally(() => (inHand = undefined))
  }, everyMs).unref()
  return async () => {
    isStopping = true
    clearInterval(timer)
    await inHand
  }
}
