// The SQLite file of the embedded log: its tables, and how it is opened. One thread writes it, any number may read.
import SqliteFile from 'better-sqlite3'
import { AppError } from '../../core/app-error.ts'
import { GROUP_TABLES } from './entry-groups.ts'

/**
 * Large pages: what a commit writes needs one of them instead of several, and every page is first written to the write-ahead log
 * and then moved into the file, each time by calls of its own. A log made with smaller pages keeps them.
 */
const PAGE_BYTES = 16 * 1024
/**
 * When the write-ahead log holds more than this, the writer itself moves it into the file, and acknowledges nothing meanwhile.
 * That happens only if the thread that normally does it (`store/sqlite/sqlite-checkpoints.ts`) falls behind by half a second.
 */
const CHECKPOINT_BYTES = 64 * 1024 * 1024
/** A write-ahead log that grew because somebody read for long is cut back to this size as soon as nobody does. */
const KEPT_BESIDE_BYTES = 2 * CHECKPOINT_BYTES
/** Memory for pages, in place of 16 MiB a connection: what is written is read once, soon, and by another connection. */
const WRITE_CACHE_KIB = 2 * 1024
const READ_CACHE_KIB = 1024
const BUSY_WAIT_MS = 5_000

export const LOG_TABLES = `
  ${GROUP_TABLES}
  create table if not exists idempotency_keys (
    workspace_id text not null,
    key text not null,
    hash text not null,
    request_id text not null,
    received_at integer not null,
    primary key (workspace_id, key)
  ) without rowid;
  create index if not exists idempotency_keys_by_age on idempotency_keys (received_at);
`

/**
 * Opens the log for its one writer, and makes it if it is not there. Each commit is on disk before it returns. Throws AppError
 * `unavailable`, which names the file, when SQLite cannot use it, and `conflict` when a draft of Tidings made it.
 */
export function openLogForWriting(path: string): SqliteFile.Database {
  try {
    return prepareForWriting(path)
  } catch (error) {
    if (!(error instanceof SqliteFile.SqliteError)) throw error
    throw new AppError('unavailable', `The log in ${path} cannot be opened: ${error.message}.`)
  }
}

export function openLogForReading(path: string): SqliteFile.Database {
  const file = new SqliteFile(path, { readonly: true, timeout: BUSY_WAIT_MS })
  file.pragma(`cache_size = -${READ_CACHE_KIB}`)
  return file
}

function prepareForWriting(path: string): SqliteFile.Database {
  const file = new SqliteFile(path, { timeout: BUSY_WAIT_MS })
  file.pragma(`page_size = ${PAGE_BYTES}`)
  file.pragma('journal_mode = WAL')
  file.pragma('synchronous = FULL')
  file.pragma(`cache_size = -${WRITE_CACHE_KIB}`)
  const pageBytes = file.pragma('page_size', { simple: true }) as number
  file.pragma(`wal_autocheckpoint = ${CHECKPOINT_BYTES / pageBytes}`)
  file.pragma(`journal_size_limit = ${KEPT_BESIDE_BYTES}`)
  refuseDraftLog(file, path)
  file.exec(LOG_TABLES)
  return file
}

/** Drafts of the first version kept each entry in a row of its own, in a table that this program does not read. */
function refuseDraftLog(file: SqliteFile.Database, path: string): void {
  const table = file.prepare(`select 1 from sqlite_master where type = 'table' and name = 'entries'`)
  if (table.get() === undefined) return
  file.close()
  const what = `The log in ${path} was made by an unreleased draft of Tidings and cannot be read.`
  throw new AppError('conflict', `${what} Start with an empty data directory.`)
}
