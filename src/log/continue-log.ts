// Lets a shared log continue an embedded one. Its positions follow those of the embedded log, because ids of events and users
// contain them. It copies no entries and no idempotency keys.
import type { LogLocation } from './open-log.ts'

/**
 * Makes all further positions of an empty log greater than this one, even after a crash. May be repeated. Rejects with AppError
 * `unavailable` when the log does not respond.
 */
export async function continueAfter({ databaseUrl, natsUrl }: LogLocation, position: number): Promise<void> {
  if (natsUrl !== undefined) {
    const { continueStreamAfter } = await import('./jetstream/jetstream-position.ts')
    await continueStreamAfter(natsUrl, position)
  } else if (databaseUrl !== undefined) {
    const { continueTableAfter } = await import('./postgres/postgres-log-position.ts')
    await continueTableAfter(databaseUrl, position)
  }
}
