// Starts the thread that brings what commits have written beside SQLite files into them. Those who commit would have to do
// it otherwise, and wait for the disk meanwhile; SQLite lets them go on.
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
