// One connection to the SQLite file of the state, on the thread that opens it. Caches prepared statements.
import { existsSync } from 'node:fs'
import SqliteFile from 'better-sqlite3'
import { giveToFolderOwner } from '../../runtime/folder-owner.ts'
import { addConditionFunctions } from './sqlite-conditions.ts'
import { StoreError } from '../store.ts'
import { problemOfCode } from '../../core/phrases/system-problem.ts'

/** The most prepared statements that a connection caches; beyond it, the cache is emptied. */
const PREPARED_STATEMENTS_MAX = 500
/** The default page cache of one connection. */
const PAGE_CACHE_KIB = 4 * 1024

/**
 * Past 64 MiB of pages in the write-ahead log, a commit does the checkpoint itself and waits for the disk. Usually
 * `sqlite-checkpoints.ts` is earlier.
 */
const CHECKPOINT_PAGES = 16_000
/**
 * A write-ahead log that grew during a long read is truncated to this size after it. The size is larger than the log usually gets,
 * so that it is not truncated and extended again and again.
 */
const WAL_SIZE_LIMIT_BYTES = 128 * 1024 * 1024

/** The result of one statement. */
export interface SqlResult {
  readonly rows: unknown[]
  readonly changes: number
}

const NOTHING: SqlResult = { rows: [], changes: 0 }

/**
 * `durable` (default): a commit returns once it is on disk. Without it, it is on disk after the next checkpoint or durable commit.
 */
export interface SqliteOptions {
  readonly readOnly?: boolean
  readonly durable?: boolean
  readonly pageCacheKib?: number
}

export class SqliteConnection {
  readonly #file: SqliteFile.Database
  readonly #statements = new Map<string, SqliteFile.Statement>()

  /** Throws StoreError with the path if SQLite cannot use the file. */
  constructor(path: string, options: SqliteOptions = {}) {
    this.#file = openFile(path, options)
  }

  /**
   * Runs one statement. Throws StoreError, `busy` if another connection writes. A `rollback` does nothing if SQLite has already
   * ended the transaction, as it does when the disk is full or fails.
   */
  execute(sql: string, parameters: readonly unknown[]): SqlResult {
    try {
      if (sql === 'rollback' && !this.#file.inTransaction) return NOTHING
      const statement = this.#prepare(sql)
      if (statement.reader) return { rows: statement.all(...parameters), changes: 0 }
      return { rows: [], changes: statement.run(...parameters).changes }
    } catch (error) {
      throw toStoreError(error)
    }
  }

  close(): void {
    this.#file.close()
  }

  #prepare(sql: string): SqliteFile.Statement {
    const cached = this.#statements.get(sql)
    if (cached) return cached
    const statement = this.#file.prepare(sql)
    if (this.#statements.size >= PREPARED_STATEMENTS_MAX) this.#statements.clear()
    this.#statements.set(sql, statement)
    return statement
  }
}

function openFile(path: string, options: SqliteOptions): SqliteFile.Database {
  let file: SqliteFile.Database | undefined
  const isNew = !existsSync(path)
  try {
    file = new SqliteFile(path, { readonly: options.readOnly ?? false, timeout: 0 })
    if (isNew) giveToFolderOwner(path)
    prepare(file, options)
    return file
  } catch (error) {
    file?.close()
    const refused = toStoreError(error)
    if (!(refused instanceof StoreError)) throw refused
    throw new StoreError(refused.reason, refused.driverCode, `${path} cannot be opened: ${refused.message}`)
  }
}

function prepare(file: SqliteFile.Database, { readOnly, durable, pageCacheKib = PAGE_CACHE_KIB }: SqliteOptions): void {
  // The change to WAL needs an exclusive lock for a moment, and two processes may start at the same time.
  file.pragma('busy_timeout = 5000')
  if (!readOnly) file.pragma('journal_mode = WAL')
  file.pragma('busy_timeout = 0')
  file.pragma(`synchronous = ${durable === false ? 'NORMAL' : 'FULL'}`)
  file.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  file.pragma(`journal_size_limit = ${WAL_SIZE_LIMIT_BYTES}`)
  file.pragma(`cache_size = -${pageCacheKib}`)
  file.pragma('foreign_keys = ON')
  file.pragma('temp_store = MEMORY')
  addConditionFunctions(file)
}

/** The file or the machine fails, not the statement. */
const BROKEN = /^SQLITE_(?:FULL|IOERR|NOMEM|READONLY|CANTOPEN|CORRUPT|NOTADB|PERM|AUTH|PROTOCOL)/

function toStoreError(error: unknown): unknown {
  if (!(error instanceof SqliteFile.SqliteError)) return error
  const { code, message } = error
  if (code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY') {
    return new StoreError('unique', code, message)
  }
  const isBusy = code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')
  if (isBusy) return new StoreError('busy', code, message)
  if (BROKEN.test(code)) return new StoreError('broken', code, problemOfCode(code) ?? message)
  return new StoreError('other', code, message)
}
