// Carries the embedded log into a backup, which is an SQLite file that also holds the state, and out of it again.
import SqliteFile from 'better-sqlite3'
import { hasBodyBytes, LOG_TABLES, openLogForReading, openLogForWriting } from './sqlite-log-file.ts'

const ENTRY_COLUMNS = ['position', 'kind', 'workspace_id', 'request_id', 'received_at', 'context', 'body_bytes', 'body']
const KEY_COLUMNS = ['workspace_id', 'key', 'hash', 'request_id', 'received_at']

/** The log as it was when this was opened: entries that are appended or trimmed meanwhile change nothing. */
export class SqliteLogSnapshot {
  /** The last position handed out; every request acknowledged before is at or below it. */
  readonly head: number
  readonly #log: SqliteFile.Database

  /** Makes the log's file if it is not there. */
  constructor(path: string) {
    openLogForWriting(path).close()
    this.#log = openLogForReading(path)
    this.head = this.#pin()
  }

  /**
   * Adds the log's tables to a file whose state has applied everything up to `cursor`: all entries of the snapshot, and
   * those after it that the state holds already. What is newer than both is left out, with its keys, so that a repeat of
   * such a request is not mistaken for one that is kept. New positions go on after all of them.
   */
  copyInto(path: string, cursor: number): void {
    const backup = openPlain(path)
    try {
      backup.exec(LOG_TABLES)
      backup.exec('begin')
      copyEntries(this.#log, backup, 0, this.head)
      copyKeys(this.#log, backup)
      if (cursor > this.head) {
        this.#log.exec('commit')
        this.#pin()
        copyEntries(this.#log, backup, this.head, cursor)
        copyKeysOf(this.#log, backup, this.head, cursor)
      }
      setLastPosition(backup, Math.max(this.head, cursor))
      backup.exec('commit')
    } finally {
      backup.close()
    }
  }

  close(): void {
    this.#log.close()
  }

  /** Everything read from here on sees the log as it is now; gives its last position. */
  #pin(): number {
    this.#log.exec('begin')
    return lastPosition(this.#log)
  }
}

/** Makes a log from what a backup holds of it. There must be no file at `path`. */
export function restoreLog(backupPath: string, path: string): void {
  const backup = new SqliteFile(backupPath, { readonly: true, fileMustExist: true })
  try {
    const log = openLogForWriting(path)
    try {
      log.exec('begin')
      copyEntries(backup, log, 0, lastPosition(backup))
      copyKeys(backup, log)
      setLastPosition(log, lastPosition(backup))
      log.exec('commit')
    } finally {
      log.close()
    }
  } finally {
    backup.close()
  }
}

/** Takes the log's tables out of a copy of a backup, so that only the state is left, and gives their space back. */
export function removeLog(path: string): void {
  const file = openPlain(path)
  try {
    file.exec('drop table entries; drop table idempotency_keys; vacuum')
  } finally {
    file.close()
  }
}

/** For a file that nobody else knows yet: whoever fills it makes it durable once it is complete. */
function openPlain(path: string): SqliteFile.Database {
  const file = new SqliteFile(path, { fileMustExist: true })
  file.pragma('journal_mode = MEMORY')
  file.pragma('synchronous = OFF')
  return file
}

function copyEntries(from: SqliteFile.Database, to: SqliteFile.Database, after: number, through: number): void {
  // A backup may be older than the compression of bodies: all that it holds is as it came.
  const columns = hasBodyBytes(from) ? ENTRY_COLUMNS : ENTRY_COLUMNS.filter((column) => column !== 'body_bytes')
  const entries = from.prepare(`select ${columns.join(', ')} from entries where position > ? and position <= ?`)
  copyRows(entries.raw().iterate(after, through), to.prepare(insertInto('entries', columns)))
}

/** All keys, even those whose entries have been trimmed since. */
function copyKeys(from: SqliteFile.Database, to: SqliteFile.Database): void {
  const keys = from.prepare(`select ${KEY_COLUMNS.join(', ')} from idempotency_keys`)
  copyRows(keys.raw().iterate(), to.prepare(insertInto('idempotency_keys', KEY_COLUMNS)))
}

function copyKeysOf(from: SqliteFile.Database, to: SqliteFile.Database, after: number, through: number): void {
  const keys = from.prepare(
    `select ${KEY_COLUMNS.map((column) => `known.${column}`).join(', ')} from idempotency_keys as known
     join entries on entries.request_id = known.request_id where entries.position > ? and entries.position <= ?`,
  )
  copyRows(keys.raw().iterate(after, through), to.prepare(insertInto('idempotency_keys', KEY_COLUMNS)))
}

/** A key that was used anew replaces its use of more than a day before. */
function insertInto(table: string, columns: readonly string[]): string {
  return `insert or replace into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`
}

function copyRows(rows: Iterable<unknown>, insertion: SqliteFile.Statement): void {
  for (const row of rows) insertion.run(row)
}

/** The last position handed out; 0 in an empty log. */
export function lastPosition(file: SqliteFile.Database): number {
  const found = file.prepare(`select seq from sqlite_sequence where name = 'entries'`).pluck().get()
  return (found as number | undefined) ?? 0
}

function setLastPosition(file: SqliteFile.Database, position: number): void {
  file.prepare(`delete from sqlite_sequence where name = 'entries'`).run()
  file.prepare(`insert into sqlite_sequence (name, seq) values ('entries', ?)`).run(position)
}
