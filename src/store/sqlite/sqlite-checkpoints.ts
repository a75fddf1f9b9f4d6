// Starts the thread that moves what commits have written from the write-ahead logs of SQLite files into the files. Otherwise
// those who commit would have to do it, and wait for the disk meanwhile; while a thread does it, SQLite lets them go on.
import { Worker } from 'node:worker_threads'

export interface SqliteCheckpoints {
  stop(): Promise<void>
}

/** The files must be there, in WAL mode. */
export function startCheckpoints(paths: readonly string[]): SqliteCheckpoints {
  const thread = new Worker(new URL('./sqlite-checkpoints-thread.ts', import.meta.url), {
    name: 'checkpoints',
    workerData: { paths },
  })
  return {
    async stop() {
      const ended = new Promise((resolve) => thread.once('exit', resolve))
      thread.postMessage('stop')
      await ended
    },
  }
}
