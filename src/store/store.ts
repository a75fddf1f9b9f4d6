// The interface between table files and the database. Queries are written once, in Kysely. Each difference between SQLite and
// PostgreSQL is a member of `Store` or `Database`, with the reason; nothing outside of store/ asks which database it is.
import type { AliasedExpression, Kysely, RawBuilder, SelectQueryBuilder } from 'kysely'
import { AppError } from '../core/app-error.ts'
import type { ValueTest } from '../core/segments/value-test.ts'
import type { Tables } from './tables.ts'

/** `integer`: up to 2^53. `text`: compared by code point. */
export type ColumnType = 'integer' | 'text'

/** The columns of rows that go into one parameter: column → type, in the order of the SQL. */
export type BulkColumns<Row> = { readonly [column in keyof Row & string]: ColumnType }

/** The SQL types of this database, for migrations. */
export interface SqlTypes {
  /** Whole numbers up to 2^53: `integer` in SQLite (as a primary key also the rowid), `bigint` in PostgreSQL. */
  readonly integer: RawBuilder<unknown>
  /** Text by code point: SQLite's own order, and the collation "C" in PostgreSQL. */
  readonly text: RawBuilder<unknown>
  /**
   * The end of `create table` for rows stored in the order of the primary key: `without rowid` in SQLite, nothing in PostgreSQL,
   * which has no such tables.
   */
  readonly clustered: RawBuilder<unknown>
  /** Tells SQLite's planner how full the indexes of a table become (`sqlite/plan-hints.ts`). PostgreSQL finds out by itself. */
  readonly hint: (store: Store, table: string, hints: PlanHints) => Promise<void>
}

/** Index → rows of its table, then rows that share its first column, its first two columns and so on. The primary key has the table's name. */
export type PlanHints = Readonly<Record<string, readonly number[]>>

/** The tables, inside or outside of a transaction. Every query function takes one. */
export interface Store {
  readonly query: Kysely<Tables>
  /**
   * Rows as a table expression, to join or update from: hundreds of rows in one parameter of one statement. SQLite reads them with
   * `jsonb_each`, PostgreSQL with `json_to_recordset`.
   */
  rowsOf<Row extends object, Alias extends string>(
    alias: Alias,
    columns: BulkColumns<Row>,
    rows: readonly Row[],
  ): AliasedExpression<Row, Alias>
  /**
   * The same for rows to insert. On SQLite, a value that all rows share is passed once. Joins must not use this: a shared value
   * makes SQLite choose a worse join order.
   */
  newRows<Row extends object>(columns: BulkColumns<Row>, rows: readonly Row[]): AliasedExpression<Row, 'fresh'>
  /**
   * Holds the lock `key` until this transaction ends. PostgreSQL takes an advisory lock; SQLite has one writer at a time and does
   * nothing.
   */
  lock(key: string): Promise<void>
  /** Holds the lock in shared mode: it excludes `lock`, but not other shared holders. */
  lockShared(key: string): Promise<void>
  /**
   * Locks the rows that a query selects until this transaction ends: `for update` in PostgreSQL, nothing in SQLite, which has one
   * writer at a time.
   */
  lockRows<Query extends SelectQueryBuilder<Tables, never, unknown>>(query: Query): Query
  /**
   * The value at `steps` (names of members, positions in lists) in a text of JSON; null if there is none. SQLite returns its text,
   * PostgreSQL `jsonb`: only `meetsTest` and `jsonText` can read it.
   */
  jsonAt(text: RawBuilder<string>, steps: readonly (string | number)[]): RawBuilder<unknown>
  /** The text of a value of `jsonAt`. */
  jsonText(value: RawBuilder<unknown>): RawBuilder<string | null>
  /**
   * Whether a value of `jsonAt` meets a test; never null. SQLite calls the function of the same name in core; PostgreSQL, which has
   * exact numbers and compares JSON by value, computes the same.
   */
  meetsTest(value: RawBuilder<unknown>, test: ValueTest): RawBuilder<boolean>
  /** Whether transactions can write at the same time, so that rows need locks. */
  readonly locksRows: boolean
}

export interface Database extends Store {
  readonly kind: 'sqlite' | 'postgres'
  readonly types: SqlTypes
  /**
   * Runs `change` in one transaction: all of it or nothing. Durable when it resolves. May run `change` again after a serialization
   * failure, a deadlock, or a wait for its first lock, so `change` must have no effect outside of the store it is given. Rejects
   * with AppError `unavailable` when the database is unreachable or stays locked for `WRITE_WAIT_MS`.
   */
  write<Result>(change: (store: Store) => Promise<Result>): Promise<Result>
  /**
   * The same for migrations: a statement may take as long as it needs. The wait for other writers is limited as in `write`.
   */
  changeTables(change: (store: Store) => Promise<void>): Promise<void>
  /**
   * Reads one consistent snapshot while others write, without a time limit. For commands and long reads: on SQLite it reads on this
   * thread, and checkpoints cannot shorten the write-ahead log meanwhile.
   */
  readSnapshot<Result>(read: (store: Store) => Promise<Result>): Promise<Result>
  /**
   * Lets writers go first that have waited longer. Call it between the transactions of a long job: otherwise it would keep SQLite's
   * one writer lock to itself. PostgreSQL has many writers and does nothing.
   */
  yieldToWriters(): Promise<void>
  close(): Promise<void>
}

/** Whether at most one process serves HTTP over this store, as with SQLite. Then uploads of an earlier process have ended. */
export function hasOneHttpProcess({ kind }: Database): boolean {
  return kind === 'sqlite'
}

/** Whether a long change makes every other writer wait, as with SQLite. */
export function hasOneWriter({ locksRows }: Store): boolean {
  return !locksRows
}

/** How long a transaction waits for other writers before it fails with `TooBusy`. */
export const WRITE_WAIT_MS = 10_000

/**
 * An error of the database, recognised by the driver's code, never by its text. `unique`: a unique key is taken. `busy`: other
 * transactions hold the lock. `broken`: the machine refuses every statement, for example because the disk is full. `other`: caused
 * by this statement, and would happen again.
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

/** A transaction waited `WRITE_WAIT_MS` for other writers in vain. */
export class TooBusy extends AppError {
  constructor() {
    super('unavailable', 'The store is busy with other writes. Retry after 1 second.', [], 1)
  }
}

/**
 * PostgreSQL rolled a transaction back because it sent no statement for too long. Once, the machine may have been overloaded; again
 * and again, the transaction does too much.
 */
export class TransactionTimedOut extends AppError {
  constructor() {
    super('unavailable', 'The transaction timed out and was rolled back. Retry after 1 second.', [], 1)
  }
}

/** The database is unreachable. */
export class Unreachable extends AppError {
  /** The driver's message. For operators only: it may name hosts. */
  readonly reason: string

  constructor(reason: string) {
    super('unavailable', 'The database is unreachable. Retry after 1 second.', [], 1)
    this.reason = reason
  }
}

/** Whether a transaction failed because another row has the same unique key. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof StoreError && error.reason === 'unique'
}
