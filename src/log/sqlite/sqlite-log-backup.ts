// Copies the embedded log into a backup, an SQLite file that also holds the state, and restores it from one.
import SqliteFile from 'better-sqlite3'
import { copyReadable, isDamage } from './damaged-log.ts'
import {
  copyEntries,
  deleteBatches,
  dropRecordBatches,
  lastPosition,
  requestIdsIn,
  saveLastPosition,
} from './record-batches.ts'
import { LOG_TABLES, openLogForReading, openLogForWriting } from './sqlite-log-file.ts'
import { copyKeys, dropKeys } from './sqlite-log-keys.ts'

/** The log as it was when this was opened; later appends and trims do not change it. */
export class SqliteLogSnapshot {
  /** The last assigned position. Every request acknowledged before is at or below it. */
  readonly head: number
  readonly #log: SqliteFile.Database

  /** Creates the log file if it does not exist. */
  constructor(path: string) {
    openLogForWriting(path).close()
    this.#log = openLogForReading(path)
    this.head = this.#pin()
  }

  /**
   * Adds the log's tables to a file whose state has applied everything up to `cursor`: all entries of the snapshot, and the later
   * ones that the state already contains. It leaves out newer entries with their keys: otherwise a retry of such a request would be
   * answered as a repeat, though the backup does not contain it. New positions follow all of these.
   */
  copyInto(path: string, cursor: number): void {
    const backup = openWithoutSync(path)
    try {
      backup.exec(LOG_TABLES)
      backup.exec('begin')
      this.#copyEntries(backup, cursor)
      copyKeys(this.#log, backup)
      if (cursor > this.head) {
        this.#log.exec('commit')
        this.#pin()
        const later = { after: this.head, through: cursor }
        copyEntries(this.#log, backup, later)
        copyKeys(this.#log, backup, requestIdsIn(backup, later))
      }
      saveLastPosition(backup, Math.max(this.head, cursor))
      backup.exec('commit')
    } finally {
      backup.close()
    }
  }

  close(): void {
    this.#log.close()
  }

  /** Leaves out damaged entries if they are applied: restored, the log is whole again. */
  #copyEntries(backup: SqliteFile.Database, cursor: number): void {
    const range = { after: 0, through: this.head }
    try {
      copyEntries(this.#log, backup, range)
    } catch (error) {
      if (!isDamage(error)) throw error
      deleteBatches(backup)
      copyReadable(this.#log, backup, { ...range, applied: cursor })
    }
  }

  /** Begins a read transaction, so that all reads see the log as it is now. Returns its last position. */
  #pin(): number {
    this.#log.exec('begin')
    return lastPosition(this.#log)
  }
}

/** Creates a log at `path`, where no file may exist, from a backup. */
export function restoreLog(backupPath: string, path: string): void {
  const backup = new SqliteFile(backupPath, { readonly: true, fileMustExist: true })
  try {
    const log = openLogForWriting(path)
    try {
      log.exec('begin')
      const end = lastPosition(backup)
      copyEntries(backup, log, { after: 0, through: end })
      saveLastPosition(log, end)
      copyKeys(backup, log)
      log.exec('commit')
    } finally {
      log.close()
    }
  } finally {
    backup.close()
  }
}

/** Drops the log's tables from a copy of a backup, which leaves the state, and frees their space. */
export function removeLog(path: string): void {
  const file = openWithoutSync(path)
  try {
    dropRecordBatches(file)
    dropKeys(file)
    file.exec('vacuum')
  } finally {
    file.close()
  }
}

/** For a file that nobody else uses yet. The caller syncs it to disk once it is complete. */
function openWithoutSync(path: string): SqliteFile.Database {
  const file = new SqliteFile(path, { fileMustExist: true })
  file.pragma('journal_mode = MEMORY')
  file.pragma('synchronous = OFF')
  return file
}
