// One connection to the SQLite file of the state, on the thread that opens it. Statements are prepared once and kept.
import SqliteFile from 'better-sqlite3'
import { StoreError } from '../store.ts'

/** How many SQL statements a connection keeps prepared; past it, all are dropped. */
const STATEMENTS_KEPT_MAX = 500
/** Memory of one connection for pages of the file, unless another size is given. */
const PAGE_CACHE_KIB = 4 * 1024

/**
 * Past 64 MiB of pages in the write-ahead log, a commit moves into the file what `sqlite-checkpoints.ts` has not moved yet, and
 * whoever commits waits for the disk.
 */
const CHECKPOINT_PAGES = 16_000
/**
 * A write-ahead log that grew while somebody read for long is cut back to this size as soon as nobody does. This is more than it
 * has otherwise, so that it is not cut and grown by turns.
 */
const KEPT_BESIDE_BYTES = 128 * 1024 * 1024

/** What one statement gave. */
export interface SqlResult {
  readonly rows: unknown[]
  readonly changes: number
}

const NOTHING: SqlResult = { rows: [], changes: 0 }

/** `durable`: each commit is on disk before it returns; without it, only after the next checkpoint or durable commit. */
export interface SqliteOptions {
  readonly readOnly?: boolean
  readonly durable?: boolean
  readonly pageCacheKib?: number
}

export class SqliteConnection {
  readonly #file: SqliteFile.Database
  readonly #statements = new Map<string, SqliteFile.Statement>()

  /** Throws StoreError, which names the file, when SQLite cannot use it. */
  constructor(path: string, options: SqliteOptions = {}) {
    this.#file = openFile(path, options)
  }

  /**
   * Runs one statement. Throws StoreError; `busy` when another connection is writing. A `rollback` has nothing to do where
   * SQLite has ended the transaction itself, as it does when the disk is full or fails.
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
    const known = this.#statements.get(sql)
    if (known) return known
    const statement = this.#file.prepare(sql)
    if (this.#statements.size >= STATEMENTS_KEPT_MAX) this.#statements.clear()
    this.#statements.set(sql, statement)
    return statement
  }
}

function openFile(path: string, options: SqliteOptions): SqliteFile.Database {
  let file: SqliteFile.Database | undefined
  try {
    file = new SqliteFile(path, { readonly: options.readOnly ?? false, timeout: 0 })
    prepare(file, options)
    return file
  } catch (error) {
    file?.close()
    const found = toStoreError(error)
    if (!(found instanceof StoreError)) throw found
    throw new StoreError(found.reason, found.driverCode, `${path} cannot be opened: ${found.message}`)
  }
}

function prepare(file: SqliteFile.Database, { readOnly, durable, pageCacheKib = PAGE_CACHE_KIB }: SqliteOptions): void {
  // Changing to WAL needs the file to itself for a moment; two processes may start together.
  file.pragma('busy_timeout = 5000')
  if (!readOnly) file.pragma('journal_mode = WAL')
  file.pragma('busy_timeout = 0')
  file.pragma(`synchronous = ${durable === false ? 'NORMAL' : 'FULL'}`)
  file.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  file.pragma(`journal_size_limit = ${KEPT_BESIDE_BYTES}`)
  file.pragma(`cache_size = -${pageCacheKib}`)
  file.pragma('foreign_keys = ON')
  file.pragma('temp_store = MEMORY')
}

/** The file or its machine fails, whatever the statement. */
const BROKEN = /^SQLITE_(?:FULL|IOERR|NOMEM|READONLY|CANTOPEN|CORRUPT|NOTADB|PERM|AUTH|PROTOCOL)/

/** SQLite's code, as if the disk had failed, when there is no room for the shared-memory file beside the file. */
const NO_ROOM_BESIDE = 'SQLITE_IOERR_SHMSIZE'
/** What SQLite says when there is no room for the file itself. */
const NO_ROOM = 'database or disk is full'

function toStoreError(error: unknown): unknown {
  if (!(error instanceof SqliteFile.SqliteError)) return error
  const { code } = error
  const message = code === NO_ROOM_BESIDE ? NO_ROOM : error.message
  if (code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY') {
    return new StoreError('unique', code, message)
  }
  const isBusy = code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')
  if (isBusy) return new StoreError('busy', code, message)
  return new StoreError(BROKEN.test(code) ? 'broken' : 'other', code, message)
}
