// Kysely over SQLite, wherever the connection lives: on this thread or, for HTTP, on a thread of its own.
import {
  CompiledQuery,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Kysely,
  type QueryResult,
} from 'kysely'
import type { SqlResult } from './sqlite-connection.ts'
import { StoreError, WRITE_WAIT_MS } from './store.ts'
import { pause, type Turnstile } from './turnstile.ts'

/** Where statements run. `reader` never writes, so that reading never waits for a writer. */
export interface SqliteExecutor {
  execute(connection: 'reader' | 'writer', sql: string, parameters: readonly unknown[]): Promise<SqlResult> | SqlResult
  close(): Promise<void> | void
}

const BUSY_RETRY_MS = 1

/** A Kysely dialect over one executor: transactions take the writer, in turn; everything else reads. */
export function sqliteDialect(executor: SqliteExecutor, turnstile: Turnstile): Dialect {
  return {
    createAdapter: () => new ConcurrentSqliteAdapter(),
    createDriver: () => new SqliteDriver(executor, turnstile),
    createIntrospector: (db: Kysely<unknown>) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

/** Kysely's own lets one query at a time through; here transactions take turns and readers never wait for them. */
class ConcurrentSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

class SqliteDriver implements Driver {
  readonly #executor: SqliteExecutor
  readonly #turnstile: Turnstile
  /** The end of the queue of this process's own transactions on the one writer. */
  #lastTurn: Promise<void> = Promise.resolve()

  constructor(executor: SqliteExecutor, turnstile: Turnstile) {
    this.#executor = executor
    this.#turnstile = turnstile
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<ExecutorConnection> {
    return new ExecutorConnection(this.#executor)
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    const own = connection as ExecutorConnection
    const before = this.#lastTurn
    const turn = Promise.withResolvers<void>()
    this.#lastTurn = turn.promise
    await before
    try {
      await this.#begin(own)
      own.endTurn = turn.resolve
    } catch (error) {
      turn.resolve()
      throw error
    }
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await this.#end(connection as ExecutorConnection, 'commit')
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await this.#end(connection as ExecutorConnection, 'rollback')
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    await this.#lastTurn
    await this.#executor.close()
  }

  /** Asks again and again for the one place to write, without blocking the thread as SQLite's own waiting would. */
  async #begin(connection: ExecutorConnection): Promise<void> {
    const deadline = performance.now() + WRITE_WAIT_MS
    const leave = this.#turnstile.enter()
    try {
      for (;;) {
        try {
          await this.#executor.execute('writer', 'begin immediate', [])
          connection.writes = true
          return
        } catch (error) {
          const isBusy = error instanceof StoreError && error.reason === 'busy'
          if (!isBusy || performance.now() > deadline) throw error
          await pause(BUSY_RETRY_MS)
        }
      }
    } finally {
      leave()
    }
  }

  async #end(connection: ExecutorConnection, statement: 'commit' | 'rollback'): Promise<void> {
    try {
      await this.#executor.execute('writer', statement, [])
    } catch (error) {
      // A commit that fails (a full disk) leaves the transaction open; the caller only rolls back before a commit.
      if (statement === 'commit') await this.#executor.execute('writer', 'rollback', [])
      throw error
    } finally {
      connection.writes = false
      connection.endTurn()
    }
  }
}

class ExecutorConnection implements DatabaseConnection {
  readonly #executor: SqliteExecutor
  writes = false
  endTurn: () => void = () => {}

  constructor(executor: SqliteExecutor) {
    this.#executor = executor
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const connection = this.writes ? 'writer' : 'reader'
    const { rows, changes } = await this.#executor.execute(connection, query.sql, query.parameters)
    return { rows: rows as Row[], numAffectedRows: BigInt(changes) }
  }

  // oxlint-disable-next-line require-yield -- Kysely's interface wants a generator; nothing here streams rows.
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('rows are read in pages, not as a stream')
  }
}
