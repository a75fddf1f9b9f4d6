// Opens the log that the settings name: in NATS JetStream, else in PostgreSQL, else the embedded one in the data directory.
// The code of logs other than the embedded one is loaded only where it is used.
import { join } from 'node:path'
import type { LogCommit, LogReader, LogWriter } from './event-log.ts'
import type { KeyStore } from './jetstream/key-claims.ts'
import { openLogForWriting } from './sqlite/sqlite-log-file.ts'
import { openSqliteLogReader } from './sqlite/sqlite-log-reader.ts'
import { openSqliteLog } from './sqlite/sqlite-log.ts'

export const LOG_FILE = 'log.db'

/** Where the log is; can be handed from thread to thread. */
export interface LogLocation {
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  /** NATS servers; only with a database. */
  readonly natsUrl: string | undefined
}

export interface LogOptions {
  readonly onCommit: (commit: LogCommit) => void
  /** Where the log in NATS keeps idempotency keys; the others keep them themselves. */
  readonly keys: KeyStore
}

/** Whether the log belongs to this process's data directory alone. */
export function isEmbedded({ databaseUrl }: LogLocation): boolean {
  return databaseUrl === undefined
}

/** The file of the embedded log. */
export function logPathOf({ dataDir }: Pick<LogLocation, 'dataDir'>): string {
  return join(dataDir, LOG_FILE)
}

/** Opens the log for writing and makes whatever of it is missing. */
export async function openLog(place: LogLocation, { onCommit, keys }: LogOptions): Promise<LogWriter> {
  if (place.databaseUrl === undefined) return openSqliteLog({ path: logPathOf(place), onCommit })
  if (place.natsUrl !== undefined) {
    const { openJetStreamLog } = await import('./jetstream/jetstream-log.ts')
    return openJetStreamLog({ url: place.natsUrl, keys, onCommit })
  }
  const { openPostgresLog } = await import('./postgres/postgres-log.ts')
  return openPostgresLog({ url: place.databaseUrl, onCommit })
}

/** Opens the log for reading and makes whatever of it is missing. */
export async function openLogReader(place: LogLocation): Promise<LogReader> {
  if (place.natsUrl !== undefined) {
    const { openJetStreamLogReader } = await import('./jetstream/jetstream-log-reader.ts')
    return openJetStreamLogReader({ url: place.natsUrl })
  }
  if (place.databaseUrl !== undefined) {
    const { openPostgresLogReader } = await import('./postgres/postgres-log-reader.ts')
    return openPostgresLogReader(place.databaseUrl)
  }
  openLogForWriting(logPathOf(place)).close()
  return openSqliteLogReader(logPathOf(place))
}
