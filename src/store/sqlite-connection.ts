// One connection to the SQLite file of the state, on the thread that opens it. Statements are prepared once and kept.
import SqliteFile from 'better-sqlite3'
import { StoreError } from './store.ts'

/** Texts of SQL kept prepared per connection; past it the memory starts anew. */
const STATEMENTS_KEPT_MAX = 500
/** Memory of one connection for pages of the file, unless it is given another. */
const PAGE_CACHE_KIB = 4 * 1024

/**
 * Past 64 MiB of pages beside the file a commit brings in what `sqlite-checkpoints.ts` has not yet, and whoever commits waits
 * for the disk.
 */
const CHECKPOINT_PAGES = 16_000
/**
 * What grew beside the file while somebody read for long is given back to the disk down to this, as soon as nobody does: more than
 * there is otherwise, so that it is never cut and grown in turn.
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
  // Changing to WAL wants the file alone for a moment; two processes may start together.
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

/** The file or its machine does not do its work, whatever statement it is given. */
const BROKEN = /^SQLITE_(?:FULL|IOERR|NOMEM|READONLY|CANTOPEN|CORRUPT|NOTADB|PERM|AUTH|PROTOCOL)/

function toStoreError(error: unknown): unknown {
  if (!(error instanceof SqliteFile.SqliteError)) return error
  const { code, message } = error
  if (code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY') {
    return new StoreError('unique', code, message)
  }
  const isBusy = code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')
  if (isBusy) return new StoreError('busy', code, message)
  return new StoreError(BROKEN.test(code) ? 'broken' : 'other', code, message)
}
