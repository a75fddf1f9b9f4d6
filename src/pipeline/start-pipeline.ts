// Starts the thread of the pipeline and forwards its messages.
import { Worker } from 'node:worker_threads'
import type { AppliedBatch } from './follower/follow-log.ts'
import { makeWakeupState, wakerOf } from '../runtime/wakeup.ts'
import { startWithRoom } from '../runtime/start-with-room.ts'
import type { PipelineCommand, PipelineMessage, PipelineThreadData } from './pipeline-thread.ts'

/**
 * How long the current batch may take to finish. Less than a process has to stop (`commands/shutdown.ts`), so that
 * requests waiting to write are answered after it.
 */
const BATCH_WAIT_MS = 6_000

export interface PipelineOptions extends Omit<PipelineThreadData, 'wakeup'> {
  readonly onApplied: (applied: AppliedBatch) => void
  /** Called for a failure, with the description of the error (`describe-error.ts`). */
  readonly onFailed: (what: string, error: unknown) => void
  /** Called when the current batch does not finish in time after `stop`. */
  readonly onGivenUp: () => void
}

export interface RunningPipeline {
  /** Resolves when the thread has loaded its code or has ended. */
  readonly loaded: Promise<void>
  /** Call it after this process writes to the log, so that a waiting pipeline applies the entries at once. */
  readonly wake: () => void
  /**
   * Finishes the current batch and ends the thread. A batch that takes too long is abandoned: its transaction is rolled
   * back, and the next follower of the log applies it.
   */
  stop(): Promise<void>
}

export function startPipeline(options: PipelineOptions): RunningPipeline {
  const { location, writerLock } = options
  const workerData: PipelineThreadData = { location, writerLock, wakeup: makeWakeupState() }
  const file = new URL('./pipeline-thread.ts', import.meta.url)
  const thread = startWithRoom(() => new Worker(file, { name: 'pipeline', workerData }))
  const loaded = Promise.withResolvers<void>()
  thread.on('message', (message: PipelineMessage) => {
    if (message.type === 'applied') options.onApplied(message.applied)
    else if (message.type === 'failed') options.onFailed(message.what, message.error)
    else loaded.resolve()
  })
  const ended = new Promise((resolve) => thread.once('exit', resolve))
  void ended.then(() => loaded.resolve())
  const send = (command: PipelineCommand) => thread.postMessage(command)
  return {
    loaded: loaded.promise,
    wake: wakerOf(workerData.wakeup, () => send('wake')),
    async stop() {
      send('stop')
      const late = setTimeout(() => {
        options.onGivenUp()
        void thread.terminate()
      }, BATCH_WAIT_MS)
      await ended
      clearTimeout(late)
    },
  }
}
