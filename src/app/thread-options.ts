// The options of the threads that a start begins.
import type { DeliveryThreadOptions } from '../delivery/start-delivery.ts'
import { isEmbedded } from '../log/open-log.ts'
import type { PipelineOptions } from '../pipeline/start-pipeline.ts'
import type { WriterLock } from '../runtime/writer-lock.ts'
import type { StartOptions } from './checks/check-store.ts'
import { findSecretKey } from './settings/secret-key.ts'

export function pipelineOptions({ config, diagnostics }: StartOptions, writerLock: WriterLock): PipelineOptions {
  const { dataDir, databaseUrl, natsUrl } = config
  return {
    location: { dataDir, databaseUrl, natsUrl },
    writerLock: writerLock.shared,
    onApplied: () => {},
    onFailed: (what, error) => diagnostics.error({ err: error }, what),
    onGivenUp: () => diagnostics.warn('the pipeline did not stop in time; its unfinished batch will be applied again'),
  }
}

export function deliveryOptions(
  { config, diagnostics }: StartOptions,
  shared: Pick<DeliveryThreadOptions, 'database' | 'log' | 'logReader' | 'receiptClock'> & {
    readonly writerLock: WriterLock
  },
): DeliveryThreadOptions {
  const { dataDir, databaseUrl, natsUrl, piiKey } = config
  return {
    ...shared,
    location: { dataDir, databaseUrl, natsUrl },
    writerLock: shared.writerLock.shared,
    config: config.delivery,
    piiKey,
    secretKey: findSecretKey(config),
    isAlone: isEmbedded(config),
    onFailed: (what, error) => diagnostics.error({ err: error }, what),
    onGivenUp: () => diagnostics.warn('messages on connections did not end in time; they will be in doubt'),
  }
}
