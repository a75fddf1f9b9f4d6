// Lets a log for many machines continue an embedded one: its positions go on from those of the embedded log, because the ids
// of events and users contain them, and it knows the idempotency keys of the embedded log's requests.
import type { LogPlace } from './open-log.ts'

/** A table like `idempotency_keys` of the embedded log, in the state database. */
export interface KeysTable {
  readonly name: string
  /** Columns that the embedded log does not have, with their values for a request that is in the log. */
  readonly added: Readonly<Record<string, number>>
}

/** Where the keys of a log belong. The log must have been opened before. */
export async function keysTableOf({ natsUrl }: LogPlace): Promise<KeysTable> {
  if (natsUrl !== undefined) return { name: 'published_keys', added: { is_published: 1 } }
  const { KEYS_TABLE } = await import('./postgres/postgres-log-table.ts')
  return { name: KEYS_TABLE, added: {} }
}

/**
 * Makes all further positions of a log that has no entries yet greater than this one, even after a crash. May be repeated at
 * will. Rejects with AppError `unavailable` when the log does not answer.
 */
export async function continueBehind({ databaseUrl, natsUrl }: LogPlace, position: number): Promise<void> {
  if (natsUrl !== undefined) {
    const { continueStreamBehind } = await import('./jetstream/jetstream-position.ts')
    await continueStreamBehind(natsUrl, position)
  } else if (databaseUrl !== undefined) {
    const { continueTableBehind } = await import('./postgres/postgres-log-position.ts')
    await continueTableBehind(databaseUrl, position)
  }
}
