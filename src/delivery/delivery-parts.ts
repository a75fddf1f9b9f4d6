// What delivery works with. Made once, at the start of the delivery thread.
import type { DeliveryConfig } from '../core/delivery/delivery-config.ts'
import type { LogReader, LogWriter } from '../log/event-log.ts'
import type { SecretVault } from '../store/secret-vault.ts'
import type { Database } from '../store/store.ts'
import type { EmailVault } from '../store/users/email-vault.ts'
import type { Renderer } from './content/renderer.ts'

export interface DeliveryParts {
  readonly database: Database
  readonly log: Pick<LogWriter, 'append'>
  readonly logReader: LogReader
  readonly renderer: Renderer
  /** Undefined if the server has no PII_KEY; then no workspace encrypts emails. */
  readonly emailVault: EmailVault | undefined
  /** Undefined if the server has no SECRET_KEY; then no sender has a password or DKIM key. */
  readonly secretVault: SecretVault | undefined
  readonly config: DeliveryConfig
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  /** From 0 up to 1, for the jitter of deferrals. */
  readonly random: () => number
  readonly onFailure: (error: unknown, what: string) => void
}
