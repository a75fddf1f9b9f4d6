// The seam between the tables and the database under them. Queries are written once, in Kysely; what must differ between
// SQLite and PostgreSQL is a member here, with the reason.
import type { AliasedExpression, Kysely, RawBuilder, SelectQueryBuilder } from 'kysely'
import { AppError } from '../core/app-error.ts'
import type { Tables } from './tables.ts'

/** `integer`: up to 2^53. `text`: compared by code point. */
export type ColumnType = 'integer' | 'text'

/** Rows to hand over in one parameter: column → type, in the order of the SQL. */
export type BulkColumns<Row> = { readonly [column in keyof Row & string]: ColumnType }

/** Types of columns, and of a table, in the words of this database, for migrations. */
export interface SqlTypes {
  /** Whole numbers up to 2^53: `integer` in SQLite (also as the row's own number), `bigint` in PostgreSQL. */
  readonly integer: RawBuilder<unknown>
  /** Text by code point: SQLite's own order, and the collation "C" in PostgreSQL. */
  readonly text: RawBuilder<unknown>
  /**
   * Ends the statement that creates a table whose rows are stored in the order of its primary key: `without rowid` in SQLite.
   * PostgreSQL has no such tables, and finds rows by the key's index.
   */
  readonly clustered: RawBuilder<unknown>
}

/** What a query function takes: the tables, inside or outside of a transaction. */
export interface Store {
  readonly query: Kysely<Tables>
  /**
   * Rows as a table expression, to insert, join or update from: hundreds of rows in one statement and one parameter.
   * SQLite reads them with `jsonb_each`, PostgreSQL with `json_to_recordset`.
   */
  rowsOf<Row extends object, Alias extends string>(
    alias: Alias,
    columns: BulkColumns<Row>,
    rows: readonly Row[],
  ): AliasedExpression<Row, Alias>
  /**
   * The same for rows that a statement inserts. On SQLite, a value that all of them have in common is not repeated in each;
   * where rows are joined with another table, that would mislead SQLite about how to join the two.
   */
  newRows<Row extends object>(columns: BulkColumns<Row>, rows: readonly Row[]): AliasedExpression<Row, 'fresh'>
  /**
   * Makes other writers of what `key` names wait until this transaction ends. PostgreSQL takes a transaction-scoped
   * advisory lock; SQLite has one writer at a time and needs nothing.
   */
  lock(key: string): Promise<void>
  /** Makes those who `lock` the key wait, but not those who also lock it shared. */
  lockShared(key: string): Promise<void>
  /**
   * Makes other writers of the rows that a query finds wait until this transaction ends: `for update` in PostgreSQL,
   * nothing in SQLite, which has one writer at a time.
   */
  lockRows<Query extends SelectQueryBuilder<Tables, never, unknown>>(query: Query): Query
  /** Whether others may write at the same time, so that rows need locks at all. */
  readonly locksRows: boolean
}

export interface Database extends Store {
  readonly kind: 'sqlite' | 'postgres'
  readonly types: SqlTypes
  /**
   * One transaction: all of `change` or nothing. Durable when it resolves. May run `change` again when the database asks
   * for it (serialization failure, deadlock), or when it has waited in line for the lock with which it begins,
   * so `change` must have no effect outside of the store it is given.
   * Rejects with AppError `unavailable` when the database cannot be reached or stays locked for `WRITE_WAIT_MS`.
   */
  write<Result>(change: (store: Store) => Promise<Result>): Promise<Result>
  /**
   * The same for a change of the tables themselves, whose statements may take as long as they need. It waits for other writers
   * no longer than any other change.
   */
  changeTables(change: (store: Store) => Promise<void>): Promise<void>
  /**
   * Reads everything as it is at one moment, however long that takes, while others write. For commands and long reads: on
   * SQLite it reads on this thread, and keeps the file from being tidied up meanwhile.
   */
  readSnapshot<Result>(read: (store: Store) => Promise<Result>): Promise<Result>
  /**
   * To be called between two of many changes in a row: waits a moment for those who want to write and have waited longer.
   * SQLite has room for one writer, and one that writes without pause would keep it; PostgreSQL has many and needs nothing.
   */
  yieldToWriters(): Promise<void>
  close(): Promise<void>
}

/** Whether at most one process serves HTTP over this store, as with SQLite. Then what another process left unfinished stays so. */
export function hasOneHttpProcess({ kind }: Database): boolean {
  return kind === 'sqlite'
}

/** Whether a long change makes every other writer wait, as with SQLite. */
export function hasOneWriter({ locksRows }: Store): boolean {
  return !locksRows
}

/** How long a change waits for other writers before it answers 503. */
export const WRITE_WAIT_MS = 10_000

/**
 * An error of the database, recognised by its code in the driver's file; never by its text. `unique`: the row is taken.
 * `busy`: others are writing. `broken`: the machine refuses whatever is asked, as with a full disk. `other`: the rest, which
 * is due to what was asked and would happen again.
 */
export class StoreError extends Error {
  readonly reason: 'unique' | 'busy' | 'broken' | 'other'
  readonly driverCode: string

  constructor(reason: StoreError['reason'], driverCode: string, message: string) {
    super(message)
    this.name = 'StoreError'
    this.reason = reason
    this.driverCode = driverCode
  }
}

/** Thrown by a change that has waited `WRITE_WAIT_MS` for others in vain. */
export class TooBusy extends AppError {
  constructor() {
    super('unavailable', 'The store is busy with other writes. Retry after 1 second.', [], 1)
  }
}

/**
 * Thrown in a change that computed for so long between two of its statements that the database ended it. It may have been a
 * moment's trouble of this machine; if it happens again, the change is too much for one transaction.
 */
export class TransactionTimedOut extends AppError {
  constructor() {
    super('unavailable', 'The transaction timed out and was rolled back. Retry after 1 second.', [], 1)
  }
}

/** Thrown to everybody while the database cannot be reached. */
export class Unreachable extends AppError {
  /** In the words of the driver, for operators only: callers are not told of machines. */
  readonly reason: string

  constructor(reason: string) {
    super('unavailable', 'The database is unreachable. Retry after 1 second.', [], 1)
    this.reason = reason
  }
}

/** Whether a change failed because something unique was taken by another. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof StoreError && error.reason === 'unique'
}
