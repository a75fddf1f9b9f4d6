// The store on SQLite: one file, opened on this thread (pipeline, command line) or on a thread of its own (HTTP).
import { Worker } from 'node:worker_threads'
import { Kysely, sql } from 'kysely'
import { savePlanHints } from './plan-hints.ts'
import { sqliteConditions } from './sqlite-conditions.ts'
import { SqliteConnection, type SqlResult } from './sqlite-connection.ts'
import { sqliteDialect, type SqliteExecutor } from './sqlite-dialect.ts'
import type { StatementAnswer, StatementMessage } from './sqlite-thread.ts'
import { StoreError, TooBusy, type ColumnType, type Database, type Store } from '../store.ts'
import type { Tables } from '../tables.ts'
import { WriterLock } from '../../runtime/writer-lock.ts'

export interface SqliteDatabaseOptions {
  readonly path: string
  /** Statements run on a thread of their own instead of this one. */
  readonly ownThread?: boolean
  /** False: a commit may return before it is on disk. Only for the pipeline, which can repeat it from the log. */
  readonly durable?: boolean
  /** The page cache of each of the two connections. */
  readonly pageCacheKib?: number
  readonly writerLock?: WriterLock
  /** How long a transaction waits for other writers. Default: `WRITE_WAIT_MS`. */
  readonly writeWaitMs?: number
}

/** Opens the file, and creates it if it is missing. The caller runs the migrations. */
export function openSqliteDatabase(options: SqliteDatabaseOptions): Database {
  const writerLock = options.writerLock ?? new WriterLock()
  const executor = options.ownThread ? new ThreadExecutor(options.path) : localExecutor(options)
  const kysely = new Kysely<Tables>({ dialect: sqliteDialect(executor, writerLock, options.writeWaitMs) })
  let closed: Promise<void> | undefined
  const write: Database['write'] = async (change) => {
    try {
      return await kysely.transaction().execute((transaction) => change(sqliteStore(transaction)))
    } catch (error) {
      throw error instanceof StoreError && error.reason === 'busy' ? new TooBusy() : error
    }
  }
  return {
    ...sqliteStore(kysely),
    kind: 'sqlite',
    types: { integer: sql`integer`, text: sql`text`, clustered: sql`without rowid`, hint: savePlanHints },
    write,
    changeTables: write,
    readSnapshot: (read) => readSnapshot(options.path, writerLock, read),
    yieldToWriters: () => writerLock.yieldToWriters(),
    close: () => (closed ??= closeBoth(kysely, executor)),
  }
}

/** Kysely waits for running transactions; it never closes the executor. */
async function closeBoth(kysely: Kysely<Tables>, executor: SqliteExecutor): Promise<void> {
  await kysely.destroy()
  await executor.close()
}

/** Reads within one transaction on a connection of its own. */
async function readSnapshot<Result>(
  path: string,
  writerLock: WriterLock,
  read: (store: Store) => Promise<Result>,
): Promise<Result> {
  const connection = new SqliteConnection(path, { readOnly: true })
  const executor: SqliteExecutor = {
    execute: (_, text, parameters) => connection.execute(text, parameters),
    close: () => connection.close(),
  }
  const kysely = new Kysely<Tables>({ dialect: sqliteDialect(executor, writerLock) })
  try {
    connection.execute('begin', [])
    return await read(sqliteStore(kysely))
  } finally {
    await closeBoth(kysely, executor)
  }
}

function sqliteStore(query: Kysely<Tables>): Store {
  return {
    query,
    rowsOf: (alias, columns, rows) => rowsOf(alias, columns, { rows, shared: findEmpty(columns, rows) }),
    newRows: (columns, rows) => rowsOf('fresh', columns, { rows, shared: findShared(columns, rows) }),
    async lock() {},
    async lockShared() {},
    lockRows: (rows) => rows,
    ...sqliteConditions,
    locksRows: false,
  }
}

type Columns = Readonly<Record<string, ColumnType>>

interface Rows {
  readonly rows: readonly object[]
  /** Column → the value that all rows share; it is passed once. */
  readonly shared: ReadonlyMap<string, unknown>
}

/** A shared value is not repeated in each row: SQLite takes 0.2 µs to read a value of a row, even null. */
function rowsOf(alias: string, columns: Columns, { rows, shared }: Rows): never {
  const unshared = Object.keys(columns).filter((name) => !shared.has(name))
  const list = listValues(rows, unshared)
  // `json_each` would write each row as text, which `->>` parses again: half of the cost. `jsonb_each` does not.
  const selected = Object.entries(columns).map(([name, type]) => {
    const value = shared.has(name) ? toSql(shared.get(name), type) : sql`value ->> ${sql.lit(unshared.indexOf(name))}`
    return sql`${value} as ${sql.ref(name)}`
  })
  return sql`(select ${sql.join(selected)} from jsonb_each(${JSON.stringify(list)}))`.as(alias) as never
}

/** better-sqlite3 binds numbers as floating point, hence the cast. */
function toSql(value: unknown, type: ColumnType) {
  if (value === null) return sql`null`
  return type === 'integer' ? sql`cast(${value} as integer)` : sql`${value}`
}

/**
 * For each row, the values of the columns. Loops over rows are in module-level functions: V8 drops the compiled code of an inner
 * function with the garbage of the batch.
 */
function listValues(rows: readonly object[], names: readonly string[]): unknown[][] {
  const list: unknown[][] = []
  for (const row of rows) list.push(valuesOf(row, names))
  return list
}

/** Starts from a copy of the names, because V8 reserves 17 elements for an array that grows. */
function valuesOf(row: object, names: readonly string[]): unknown[] {
  const values: unknown[] = [...names]
  for (let index = 0; index < names.length; index++) values[index] = valueOf(row, names[index] as string)
  return values
}

/** The columns without any value. */
function findEmpty(columns: Columns, rows: readonly object[]): Map<string, null> {
  const empty = Object.keys(columns).filter((name) => haveAll(rows, name, null))
  return new Map(empty.map((name) => [name, null]))
}

/** Few rows may share values by chance, and each set of shared columns makes another statement to prepare. */
const SHARING_ROWS_MIN = 50

/** The columns without any value and, if there are many rows, those with the same value in all rows, such as the workspace. */
function findShared(columns: Columns, rows: readonly object[]): Map<string, unknown> {
  const [first] = rows
  if (!first || rows.length < SHARING_ROWS_MIN) return findEmpty(columns, rows)
  const shared = new Map<string, unknown>()
  for (const name of Object.keys(columns)) {
    const value = valueOf(first, name)
    if (haveAll(rows, name, value)) shared.set(name, value)
  }
  return shared
}

function haveAll(rows: readonly object[], name: string, value: unknown): boolean {
  for (const row of rows) if (valueOf(row, name) !== value) return false
  return true
}

function valueOf(row: object, name: string): unknown {
  return (row as Readonly<Record<string, unknown>>)[name] ?? null
}

function localExecutor(options: SqliteDatabaseOptions): SqliteExecutor {
  const { path, durable = true, pageCacheKib } = options
  const cache = pageCacheKib === undefined ? {} : { pageCacheKib }
  const writer = new SqliteConnection(path, { durable, ...cache })
  const reader = new SqliteConnection(path, { readOnly: true, ...cache })
  const connections = { reader, writer }
  return {
    execute: (connection, text, parameters) => connections[connection].execute(text, parameters),
    close() {
      reader.close()
      writer.close()
    },
  }
}

class ThreadExecutor implements SqliteExecutor {
  readonly #thread: Worker
  readonly #waiting = new Map<number, PromiseWithResolvers<SqlResult>>()
  #lastId = 0

  constructor(path: string) {
    this.#thread = new Worker(new URL('./sqlite-thread.ts', import.meta.url), {
      name: 'store',
      workerData: { path },
    })
    this.#thread.on('message', (answer: StatementAnswer) => this.#receive(answer))
    // If the thread fails, the process must end: an `error` event without a listener does that.
  }

  execute(connection: 'reader' | 'writer', text: string, parameters: readonly unknown[]) {
    const id = ++this.#lastId
    const waiting = Promise.withResolvers<SqlResult>()
    this.#waiting.set(id, waiting)
    const message: StatementMessage = { id, connection, sql: text, parameters }
    this.#thread.postMessage(message)
    return waiting.promise
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#thread.once('exit', resolve))
    this.#thread.postMessage('close')
    await ended
  }

  #receive(answer: StatementAnswer): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if ('result' in answer) waiting?.resolve(answer.result)
    else waiting?.reject(new StoreError(answer.failure.reason, answer.failure.driverCode, answer.failure.message))
  }
}
