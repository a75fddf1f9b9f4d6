// Starts the thread that checkpoints SQLite files: it moves pages from their write-ahead logs into the files. Without it, commits
// would do that and wait for the disk. SQLite lets commits continue during a checkpoint on another connection.
import { Worker } from 'node:worker_threads'

/** A start does not wait for one more thread; little is written in its first second. */
const START_AFTER_MS = 1_000

export interface SqliteCheckpoints {
  stop(): Promise<void>
}

/** Starts after `START_AFTER_MS`. The files must be in WAL mode. */
export function startCheckpoints(paths: readonly string[]): SqliteCheckpoints {
  let thread: Worker | undefined
  const timer = setTimeout(() => {
    thread = new Worker(new URL('./sqlite-checkpoints-thread.ts', import.meta.url), {
      name: 'checkpoints',
      workerData: { paths },
    })
  }, START_AFTER_MS)
  return {
    async stop() {
      clearTimeout(timer)
      const running = thread
      if (!running) return
      const ended = new Promise((resolve) => running.once('exit', resolve))
      running.postMessage('stop')
      await ended
    },
  }
}
