// The thread that sends campaigns, so that no freeze and no rendering delays a request. `start-delivery.ts` starts it.
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import type { DeliveryConfig } from '../core/delivery/delivery-config.ts'
import { openLogReader, type LogLocation } from '../log/open-log.ts'
import { WriterLock } from '../runtime/writer-lock.ts'
import { toDescription } from '../store/describe-error.ts'
import { openDatabase, type DatabaseLocation } from '../store/open-database.ts'
import { SecretVault } from '../store/secret-vault.ts'
import { EmailVault } from '../store/users/email-vault.ts'
import { Renderer } from './content/renderer.ts'
import { DeliveryLoop } from './delivery-loop.ts'
import { RemoteLog } from './log-port.ts'

export interface DeliveryThreadData {
  readonly location: DatabaseLocation & LogLocation
  readonly writerLock: SharedArrayBuffer
  readonly config: DeliveryConfig
  readonly piiKey: Uint8Array | undefined
  readonly secretKey: Uint8Array | undefined
  /** As in `DeliveryLoopOptions`. */
  readonly isAlone: boolean
  /** To the log, which the main thread has open. */
  readonly logPort: MessagePort
}

export type DeliveryCommand = 'stop'

/** A failure; `error` is a description (`describe-error.ts`). */
export interface DeliveryMessage {
  readonly what: string
  readonly error: unknown
}

/** Slices of the audience touch some ten thousand users. */
const PAGE_CACHE_KIB = 8 * 1024

const port = parentPort
if (!port) throw new Error('delivery-thread.ts is started as a thread')
const data = workerData as DeliveryThreadData
const onFailure = (error: unknown, what: string): void => {
  port.postMessage({ what, error: toDescription(error) } satisfies DeliveryMessage)
}

const writerLock = new WriterLock(data.writerLock)
const database = openDatabase(data.location, { pageCacheKib: PAGE_CACHE_KIB, writerLock })
const logReader = await openLogReader(data.location)
const log = new RemoteLog(data.logPort)
const renderer = new Renderer()
const loop = new DeliveryLoop({
  isAlone: data.isAlone,
  parts: {
    database,
    log,
    logReader,
    renderer,
    emailVault: data.piiKey && new EmailVault(data.piiKey),
    secretVault: data.secretKey && new SecretVault(data.secretKey),
    config: data.config,
    clock: Date.now,
    random: Math.random,
    onFailure,
  },
})
// There is one command: to stop.
port.once('message', () => void stop())
loop.start()

async function stop(): Promise<void> {
  await loop.stop()
  await renderer.close()
  await logReader.close()
  await database.close()
  data.logPort.close()
  port?.close()
}
