// Starts the thread that checks the numbers of one campaign, and waits for what it found.
import { Worker } from 'node:worker_threads'
import type { RecountResult } from '../../store/statistics/recounts.ts'
import type { RecountMessage, RecountThreadData } from './recount-thread.ts'

/** The name of the threads that end when they have counted. */
export const RECOUNT_THREAD = 'recount'

export interface CountedCampaign {
  readonly users: number
  readonly result: RecountResult
}

export interface RunningRecount {
  /** Rejects with what failed, and when the thread is ended. */
  readonly counted: Promise<CountedCampaign>
  /** Ends it at once. It only reads. */
  readonly end: () => Promise<void>
}

export function runRecount(workerData: RecountThreadData, onProgress: (users: number) => void): RunningRecount {
  const file = new URL('./recount-thread.ts', import.meta.url)
  const thread = new Worker(file, { name: RECOUNT_THREAD, workerData })
  const counted = new Promise<CountedCampaign>((resolve, reject) => {
    thread.on('message', (message: RecountMessage) => {
      if (message.type === 'progress') onProgress(message.users)
      else if (message.type === 'counted') resolve(message)
      else reject(new Error('the recount failed', { cause: message.error }))
    })
    thread.once('error', reject)
    thread.once('exit', () => reject(new Error('the recount was ended')))
  })
  return {
    counted,
    async end() {
      await thread.terminate()
    },
  }
}
