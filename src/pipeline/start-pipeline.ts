// Starts the pipeline on its thread and tells what it does.
import { Worker } from 'node:worker_threads'
import type { ErrorDescription } from '../store/describe-error.ts'
import type { AppliedBatch } from './follow-log.ts'
import type { PipelineMessage, PipelineThreadData } from './pipeline-thread.ts'

export interface PipelineOptions extends PipelineThreadData {
  readonly onApplied: (applied: AppliedBatch) => void
  readonly onFailed: (what: string, error: ErrorDescription) => void
}

export interface RunningPipeline {
  /** Finishes the batch in hand and ends the thread. */
  stop(): Promise<void>
}

export function startPipeline(options: PipelineOptions): RunningPipeline {
  const { place, turnstile } = options
  const workerData: PipelineThreadData = { place, turnstile }
  const thread = new Worker(new URL('./pipeline-thread.ts', import.meta.url), {
    name: 'pipeline',
    workerData,
  })
  thread.on('message', (message: PipelineMessage) => {
    if (message.type === 'applied') options.onApplied(message.applied)
    else options.onFailed(message.what, message.error)
  })
  return {
    async stop() {
      const ended = new Promise((resolve) => thread.once('exit', resolve))
      thread.postMessage('stop')
      await ended
    },
  }
}
