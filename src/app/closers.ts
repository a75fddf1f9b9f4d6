// Closes what a start has opened, in the opposite order.

export type Closers = (() => Promise<void> | void)[]

/** If `open` fails, closes everything it has opened, so that no thread keeps the process alive. */
export async function openAll<Running>(open: (opened: Closers) => Promise<Running>): Promise<Running> {
  const opened: Closers = []
  try {
    return await open(opened)
  } catch (error) {
    await closeAll(opened)
    throw error
  }
}

export async function closeAll(opened: Closers): Promise<void> {
  for (let close = opened.pop(); close; close = opened.pop()) await close()
}

/** Closes independent parts at the same time, so that none waits for another. */
export async function closeTogether(running: Closers): Promise<void> {
  await Promise.all(running.map(async (close) => close()))
}
