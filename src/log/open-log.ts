// Opens the log that the settings choose: NATS JetStream, else PostgreSQL, else the embedded log in the data directory. It loads
// the code of the shared logs only when they are used.
import { join } from 'node:path'
import type { LogCommit, LogReader, LogWriter } from './event-log.ts'
import type { KeyStore } from './jetstream/key-claims.ts'
import { openLogForWriting } from './sqlite/sqlite-log-file.ts'
import { openSqliteLogReader } from './sqlite/sqlite-log-reader.ts'
import { openSqliteLog } from './sqlite/sqlite-log.ts'

export const LOG_FILE = 'log.db'

/** Where the log is. Threads can pass it to each other. */
export interface LogLocation {
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  /** NATS servers; only with a database. */
  readonly natsUrl: string | undefined
}

export interface LogOptions {
  readonly onCommit: (commit: LogCommit) => void
  /** Where the log in NATS stores idempotency keys; the other logs store their own. */
  readonly keys: KeyStore
}

/** Whether the log is a file in the data directory, and so of this process alone. */
export function isEmbedded({ databaseUrl }: LogLocation): boolean {
  return databaseUrl === undefined
}

/** The file of the embedded log. */
export function logPathOf({ dataDir }: Pick<LogLocation, 'dataDir'>): string {
  return join(dataDir, LOG_FILE)
}

/** Opens the log for writing. Creates it if it does not exist. */
export async function openLog(location: LogLocation, { onCommit, keys }: LogOptions): Promise<LogWriter> {
  if (location.databaseUrl === undefined) return openSqliteLog({ path: logPathOf(location), onCommit })
  if (location.natsUrl !== undefined) {
    const { openJetStreamLog } = await import('./jetstream/jetstream-log.ts')
    return openJetStreamLog({ url: location.natsUrl, keys, onCommit })
  }
  const { openPostgresLog } = await import('./postgres/postgres-log.ts')
  return openPostgresLog({ url: location.databaseUrl, onCommit })
}

/** Opens the log for reading. Creates it if it does not exist. */
export async function openLogReader(location: LogLocation): Promise<LogReader> {
  if (location.natsUrl !== undefined) {
    const { openJetStreamLogReader } = await import('./jetstream/jetstream-log-reader.ts')
    return openJetStreamLogReader({ url: location.natsUrl })
  }
  if (location.databaseUrl !== undefined) {
    const { openPostgresLogReader } = await import('./postgres/postgres-log-reader.ts')
    return openPostgresLogReader(location.databaseUrl)
  }
  openLogForWriting(logPathOf(location)).close()
  return openSqliteLogReader(logPathOf(location))
}
