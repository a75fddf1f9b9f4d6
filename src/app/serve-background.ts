// Runs the roles that take no requests: `pipeline` follows the log that other processes write, `delivery` sends campaigns.
import { receiptClock } from '../core/receipt-clock.ts'
import { startDelivery, type RunningDelivery } from '../delivery/start-delivery.ts'
import { openLog, openLogReader } from '../log/open-log.ts'
import { startPipeline } from '../pipeline/start-pipeline.ts'
import { WriterLock } from '../runtime/writer-lock.ts'
import { idempotencyKeysIn } from '../store/entries/idempotency-keys.ts'
import { openDatabase } from '../store/open-database.ts'
import { checkStoreAndLog, prepareMachine, warnOfLosses, type StartOptions } from './checks/check-store.ts'
import { closeAll, closeTogether, openAll, type Closers } from './closers.ts'
import type { RunningServer } from './serve.ts'
import { deliveryOptions, pipelineOptions } from './thread-options.ts'
import { warnOfClock } from './checks/warn-of-clock.ts'

export interface BackgroundRoles {
  readonly withPipeline: boolean
  /** Only over a store that several processes share. */
  readonly withDelivery: boolean
}

/** Throws if folder or a setting prevents it. */
export function serveBackground(
  options: StartOptions,
  { withPipeline, withDelivery }: BackgroundRoles,
): Promise<Pick<RunningServer, 'loaded' | 'isDelivering' | 'stop'>> {
  return openAll(async (opened) => {
    const { config, diagnostics } = options
    await prepareMachine(config, { listens: false })
    await checkStoreAndLog(options)
    await warnOfLosses(options)
    const writerLock = new WriterLock()
    const running: Closers = []
    const loaded: Promise<void>[] = []
    let delivery: RunningDelivery | undefined
    if (withDelivery) {
      const database = openDatabase(config)
      opened.push(() => database.close())
      const log = await openLog(config, { onCommit: () => {}, keys: idempotencyKeysIn(database) })
      opened.push(() => log.close())
      const logReader = await openLogReader(config)
      opened.push(() => logReader.close())
      const clock = receiptClock(Date.now, warnOfClock(diagnostics))
      const shared = { database, log, logReader, receiptClock: clock, writerLock }
      const started = startDelivery(deliveryOptions(options, shared))
      running.push(() => started.stop())
      delivery = started
    }
    if (withPipeline) {
      const pipeline = startPipeline(pipelineOptions(options, writerLock))
      running.push(() => pipeline.stop())
      loaded.push(pipeline.loaded)
    }
    opened.push(() => closeTogether(running))
    return {
      loaded: Promise.all(loaded).then(() => undefined),
      get isDelivering() {
        return delivery?.isDelivering ?? false
      },
      stop: () => closeAll(opened),
    }
  })
}
