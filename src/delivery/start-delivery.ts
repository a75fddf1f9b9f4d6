// Starts the thread that sends campaigns, and appends to the log what it tells. Judges the hits of messages, and sends the alerts of
// coupon lists, as long as it runs.
import { MessageChannel, Worker } from 'node:worker_threads'
import type { LogReader, LogWriter } from '../log/event-log.ts'
import { startRepeating } from '../runtime/repeat.ts'
import { startWithRoom } from '../runtime/start-with-room.ts'
import { listSendersToSendFor } from '../store/delivery/delivery-work.ts'
import { toDescription } from '../store/describe-error.ts'
import { SecretVault } from '../store/secret-vault.ts'
import type { Database } from '../store/store.ts'
import { startCouponAlerts } from './alerts/send-coupon-alerts.ts'
import type { DeliveryCommand, DeliveryMessage, DeliveryThreadData } from './delivery-thread.ts'
import { startJudging } from './hits/judge-hits.ts'
import { serveLog } from './log-port.ts'

/** How often campaigns are looked for while there are none. */
const LOOK_EVERY_MS = 500
/** How long messages on connections may take to end; a little longer than the thread itself waits. */
export const DELIVERY_STOP_WAIT_MS = 65_000

export interface DeliveryThreadOptions extends Omit<DeliveryThreadData, 'logPort'> {
  /** Shows whether there is something to send. */
  readonly database: Database
  readonly log: Pick<LogWriter, 'append'>
  readonly logReader: LogReader
  /** Milliseconds since the epoch, for entries of the log. */
  readonly receiptClock: () => number
  /** Called for a failure, with the description of the error (`describe-error.ts`). */
  readonly onFailed: (what: string, error: unknown) => void
  /** Called when messages on connections do not end in time after `stop`. */
  readonly onGivenUp: () => void
}

export interface RunningDelivery {
  /** Whether messages may be on connections: the thread has started, and has not ended. */
  readonly isDelivering: boolean
  /** Messages on connections end, and nothing else is sent. Close the log only after it. */
  stop(): Promise<void>
}

/** Starts the thread once there is something to send: many servers never send, and it takes memory. The rest needs no thread. */
export function startDelivery(options: DeliveryThreadOptions): RunningDelivery {
  const { database, log, logReader, receiptClock, config, secretKey, onFailed } = options
  let thread: DeliveryThread | undefined
  const stopLooking = startRepeating(
    async () => {
      if (thread || (await listSendersToSendFor(database, Date.now())).length === 0) return
      thread = new DeliveryThread(options)
    },
    {
      everyMs: LOOK_EVERY_MS,
      onFailed: (error) => onFailed('cannot look for campaigns; retrying', toDescription(error)),
    },
  )
  const { machineNetworks } = config
  const stopJudging = startJudging(
    { database, log, logReader, clock: receiptClock, machineNetworks },
    { onFailed: (error) => onFailed('cannot judge opens and clicks; retrying', toDescription(error)) },
  )
  const stopAlerts = startCouponAlerts({
    database,
    secretVault: secretKey && new SecretVault(secretKey),
    clock: receiptClock,
    onFailed: (what, error) => onFailed(what, toDescription(error)),
  })
  return {
    get isDelivering() {
      return thread?.isRunning ?? false
    },
    async stop() {
      await stopLooking()
      await Promise.all([thread?.stop(), stopJudging(), stopAlerts()])
    },
  }
}

class DeliveryThread {
  readonly #thread: Worker
  readonly #ended: Promise<void>
  readonly #onGivenUp: () => void
  isRunning = true

  constructor({ log, receiptClock, onFailed, onGivenUp, ...options }: DeliveryThreadOptions) {
    const { location, writerLock, config, piiKey, secretKey, isAlone } = options
    const { port1, port2 } = new MessageChannel()
    serveLog(port1, log, receiptClock)
    const data = { location, writerLock, config, piiKey, secretKey, isAlone }
    const workerData: DeliveryThreadData = { ...data, logPort: port2 }
    const file = new URL('./delivery-thread.ts', import.meta.url)
    this.#thread = startWithRoom(() => new Worker(file, { name: 'delivery', workerData, transferList: [port2] }))
    this.#thread.on('message', ({ what, error }: DeliveryMessage) => onFailed(what, error))
    this.#ended = new Promise((resolve) => {
      this.#thread.once('exit', () => {
        this.isRunning = false
        port1.close()
        resolve()
      })
    })
    this.#onGivenUp = onGivenUp
  }

  async stop(): Promise<void> {
    this.#thread.postMessage('stop' satisfies DeliveryCommand)
    const late = setTimeout(() => {
      this.#onGivenUp()
      void this.#thread.terminate()
    }, DELIVERY_STOP_WAIT_MS)
    await this.#ended
    clearTimeout(late)
  }
}
