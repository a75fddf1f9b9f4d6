// The thread of the pipeline, so that no batch delays a request. Started by `start-pipeline.ts`.
import { parentPort, workerData } from 'node:worker_threads'
import type { LogReader } from '../log/event-log.ts'
import { openLogReader, type LogLocation } from '../log/open-log.ts'
import { toDescription } from '../store/describe-error.ts'
import { openDatabase, type DatabaseLocation } from '../store/open-database.ts'
import { WriterLock } from '../runtime/writer-lock.ts'
import { yieldToRequests } from '../runtime/yield-to-requests.ts'
import { LogFollower, type AppliedBatch } from './follower/follow-log.ts'
import { Wakeup } from '../runtime/wakeup.ts'
import { PartitionLeases } from './follower/partition-leases.ts'
import { Backfill } from '../statistics/backfill.ts'
import { untilAvailable } from './follower/until-available.ts'

export interface PipelineThreadData {
  readonly place: DatabaseLocation & LogLocation
  readonly writerLock: SharedArrayBuffer
  /** `makeWakeupState`, for the follower of the log. */
  readonly wakeup: SharedArrayBuffer
}

/** What the thread is told: that there is something new in the log, or to end. */
export type PipelineCommand = 'wake' | 'stop'

/** `error` is a description (`describe-error.ts`). */
export type PipelineMessage =
  | { readonly type: 'loaded' }
  | { readonly type: 'applied'; readonly applied: AppliedBatch }
  | { readonly type: 'failed'; readonly what: string; readonly error: unknown }

/** Batches write to every index of the events and users. */
const PAGE_CACHE_KIB = 8 * 1024

const port = parentPort
if (!port) throw new Error('pipeline-thread.ts is started as a thread')
const data = workerData as PipelineThreadData
const writerLock = new WriterLock(data.writerLock)
// What a crash takes from the tables is applied again from the log, which is durable: commits need not wait for the disk.
// A batch, and a step of a recount, reads the facts of some hundred users, however many there are.
const database = openDatabase(data.place, { durable: false, pageCacheKib: PAGE_CACHE_KIB, readsByIndex: true })
const wakeup = new Wakeup(data.wakeup)
const send = (message: PipelineMessage): void => port.postMessage(message)
const onFailure = (error: unknown, what: string): void => send({ type: 'failed', what, error: toDescription(error) })
let isStopping = false
/** Ends what has begun to run. */
let stopRunning: (() => Promise<void>) | undefined

yieldToRequests()
send({ type: 'loaded' })
port.on('message', (command: PipelineCommand) => {
  if (command === 'wake') wakeup.wake()
  else void stop()
})
const logReader = await untilAvailable(() => openLogReader(data.place), {
  isStopping: () => isStopping,
  onFailure: (error) => onFailure(error, 'cannot open the log; retrying'),
})
if (logReader) stopRunning = run(logReader)
if (isStopping) await end()

/** Starts to follow the log and to recount; gives a function that ends both and closes what was opened for them. */
function run(logReader: LogReader): () => Promise<void> {
  const { partitions } = logReader
  // The embedded log has one follower, who needs no lease.
  const leases = partitions > 1 ? new PartitionLeases({ database, partitions, onFailure }) : undefined
  const follower = new LogFollower({
    database,
    logReader,
    writerLock,
    wakeup,
    clock: Date.now,
    onBatch: (applied) => send({ type: 'applied', applied }),
    onFailure,
    ...(leases && { partitions: () => leases.held() }),
  })
  const backfill = new Backfill({
    database,
    onFailure,
    // Only one of the processes with leases holds a partition; two that both believe to hold it for a moment do no harm.
    ...(leases && { isInCharge: () => leases.held().includes(0) }),
  })
  leases?.start()
  follower.start()
  backfill.start()
  return async () => {
    await Promise.all([follower.stop(), backfill.stop()])
    await leases?.stop()
    await logReader.close()
  }
}

/** While the log is not open yet, the code above that waits for it ends the thread. */
async function stop(): Promise<void> {
  isStopping = true
  if (stopRunning) await end()
}

async function end(): Promise<void> {
  await stopRunning?.()
  await database.close()
  port?.close()
}
