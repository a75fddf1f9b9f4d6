// Starts the thread that sends campaigns, and appends to the log what it tells.
import { MessageChannel, Worker } from 'node:worker_threads'
import type { LogWriter } from '../log/event-log.ts'
import { startWithRoom } from '../runtime/start-with-room.ts'
import type { DeliveryCommand, DeliveryMessage, DeliveryThreadData } from './delivery-thread.ts'
import { serveLog } from './log-port.ts'

/** How long messages on connections may take to end; a little longer than the thread itself waits. */
const STOP_WAIT_MS = 65_000

export interface DeliveryOptions extends Omit<DeliveryThreadData, 'logPort'> {
  readonly log: Pick<LogWriter, 'append'>
  /** Milliseconds since the epoch, for entries of the log. */
  readonly receiptClock: () => number
  /** Called for a failure, with the description of the error (`describe-error.ts`). */
  readonly onFailed: (what: string, error: unknown) => void
  /** Called when messages on connections do not end in time after `stop`. */
  readonly onGivenUp: () => void
}

export interface RunningDelivery {
  /** Resolves when the thread has loaded its code or has ended. */
  readonly loaded: Promise<void>
  /** Messages on connections end, and nothing else is sent. Close the log only after it. */
  stop(): Promise<void>
}

export function startDelivery({ log, receiptClock, onFailed, onGivenUp, ...data }: DeliveryOptions): RunningDelivery {
  const { port1, port2 } = new MessageChannel()
  serveLog(port1, log, receiptClock)
  const workerData: DeliveryThreadData = { ...data, logPort: port2 }
  const file = new URL('./delivery-thread.ts', import.meta.url)
  const thread = startWithRoom(() => new Worker(file, { name: 'delivery', workerData, transferList: [port2] }))
  const loaded = Promise.withResolvers<void>()
  thread.on('message', (message: DeliveryMessage) => {
    if (message.type === 'failed') onFailed(message.what, message.error)
    else loaded.resolve()
  })
  thread.on('error', (error) => onFailed('the delivery thread has ended', error))
  const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()))
  void ended.then(() => {
    port1.close()
    loaded.resolve()
  })
  return {
    loaded: loaded.promise,
    async stop() {
      thread.postMessage('stop' satisfies DeliveryCommand)
      const late = setTimeout(() => {
        onGivenUp()
        void thread.terminate()
      }, STOP_WAIT_MS)
      await ended
      clearTimeout(late)
    },
  }
}
