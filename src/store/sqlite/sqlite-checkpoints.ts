// Starts the thread that moves what commits have written from the write-ahead logs of SQLite files into the files. Otherwise
// those who commit would have to do it, and wait for the disk meanwhile; while a thread does it, SQLite lets them go on.
import { Worker } from 'node:worker_threads'

/** A start need not wait for one more thread; so much later, little has been written. */
const BEGIN_AFTER_MS = 1_000

export interface SqliteCheckpoints {
  stop(): Promise<void>
}

/** Begins after `BEGIN_AFTER_MS`. The files are in WAL mode. */
export function startCheckpoints(paths: readonly string[]): SqliteCheckpoints {
  let thread: Worker | undefined
  const timer = setTimeout(() => {
    thread = new Worker(new URL('./sqlite-checkpoints-thread.ts', import.meta.url), {
      name: 'checkpoints',
      workerData: { paths },
    })
  }, BEGIN_AFTER_MS)
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
