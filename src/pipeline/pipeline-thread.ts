// The thread that runs the pipeline and the backfills, so that no batch delays a request. `start-pipeline.ts` starts it.
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
  readonly location: DatabaseLocation & LogLocation
  readonly writerLock: SharedArrayBuffer
  /** `makeWakeupState`, for the follower of the log. */
  readonly wakeup: SharedArrayBuffer
}

/** `wake`: the log has new entries. `stop`: finish the current batch and end. */
export type PipelineCommand = 'wake' | 'stop'

/** `error` is a description (`describe-error.ts`). */
export type PipelineMessage =
  | { readonly type: 'loaded' }
  | { readonly type: 'applied'; readonly applied: AppliedBatch }
  | { readonly type: 'failed'; readonly what: string; readonly error: unknown }

/** Large enough for batches, which write to every index of the events and users. */
const PAGE_CACHE_KIB = 8 * 1024

const port = parentPort
if (!port) throw new Error('pipeline-thread.ts is started as a thread')
const data = workerData as PipelineThreadData
const writerLock = new WriterLock(data.writerLock)
// Commits need not wait for the disk: after a crash, lost changes are applied again from the durable log. A batch and a
// step of a backfill read the facts of some hundred users, however many users there are.
const database = openDatabase(data.location, { durable: false, pageCacheKib: PAGE_CACHE_KIB, readsByIndex: true })
const wakeup = new Wakeup(data.wakeup)
const send = (message: PipelineMessage): void => port.postMessage(message)
const onFailure = (error: unknown, what: string): void => send({ type: 'failed', what, error: toDescription(error) })
let isStopping = false
/** Stops the follower and the backfill once they run. */
let stopRunning: (() => Promise<void>) | undefined

yieldToRequests()
send({ type: 'loaded' })
port.on('message', (command: PipelineCommand) => {
  if (command === 'wake') wakeup.wake()
  else void stop()
})
const logReader = await untilAvailable(() => openLogReader(data.location), {
  isStopping: () => isStopping,
  onFailure: (error) => onFailure(error, 'cannot open the log; retrying'),
})
if (logReader) stopRunning = run(logReader)
if (isStopping) await end()

/** Starts the follower and the backfill. Returns a function that stops both and closes their resources. */
function run(logReader: LogReader): () => Promise<void> {
  const { partitions } = logReader
  // The embedded log has one follower, which needs no lease.
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
    // The process that leases partition 0 runs backfills. Two that both believe to hold it for a moment do no harm.
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

/** Before the log is open, the code above that waits for it ends the thread. */
async function stop(): Promise<void> {
  isStopping = true
  if (stopRunning) await end()
}

async function end(): Promise<void> {
  await stopRunning?.()
  await database.close()
  port?.close()
}
