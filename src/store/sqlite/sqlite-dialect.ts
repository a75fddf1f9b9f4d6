// A Kysely dialect over SQLite connections on this thread or, for HTTP, on a thread of their own.
import {
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Kysely,
  type LimitNode,
  type OffsetNode,
  type PrimitiveValueListNode,
  type QueryResult,
} from 'kysely'
import type { SqlResult } from './sqlite-connection.ts'
import { StoreError, WRITE_WAIT_MS } from '../store.ts'
import { pause } from '../../runtime/pause.ts'
import type { WriterLock } from '../../runtime/writer-lock.ts'

/** Runs statements on one of two connections. `reader` never writes, so reads never wait for a writer. */
export interface SqliteExecutor {
  execute(connection: 'reader' | 'writer', sql: string, parameters: readonly unknown[]): Promise<SqlResult> | SqlResult
  close(): Promise<void> | void
}

const BUSY_RETRY_MS = 1

/** A dialect over one executor: transactions use the writer, one after the other; all other queries use the reader. */
export function sqliteDialect(executor: SqliteExecutor, writerLock: WriterLock, writeWaitMs = WRITE_WAIT_MS): Dialect {
  return {
    createAdapter: () => new ConcurrentSqliteAdapter(),
    createDriver: () => new SqliteDriver(executor, writerLock, writeWaitMs),
    createIntrospector: (db: Kysely<unknown>) => new SqliteIntrospector(db),
    createQueryCompiler: () => new ReusableStatementCompiler(),
  }
}

/** Kysely's own adapter runs one query at a time. Here only transactions queue, and reads never wait for them. */
class ConcurrentSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

/**
 * Writes statements that SQLite compiles once (`docs/decisions/0026`). Wraps the parameters of `limit` and `offset` in expressions:
 * SQLite plans by the value of a bare parameter there, and compiles the statement again each time a value is bound. Passes the list
 * of an `in` as one parameter, so that lists of all lengths make the same statement.
 */
class ReusableStatementCompiler extends SqliteQueryCompiler {
  protected override visitLimit({ limit }: LimitNode): void {
    this.append('limit cast(')
    this.visitNode(limit)
    this.append(' as integer)')
  }

  protected override visitOffset({ offset }: OffsetNode): void {
    this.append('offset cast(')
    this.visitNode(offset)
    this.append(' as integer)')
  }

  protected override visitPrimitiveValueList(list: PrimitiveValueListNode): void {
    // The values of `insert` are such a list too, and stay as they are.
    if (this.parentNode?.kind !== 'BinaryOperationNode') return super.visitPrimitiveValueList(list)
    this.append('(select value from json_each(')
    this.appendValue(JSON.stringify(list.values))
    this.append('))')
  }
}

class SqliteDriver implements Driver {
  readonly #executor: SqliteExecutor
  readonly #writerLock: WriterLock
  readonly #writeWaitMs: number
  /** Resolves when the last queued transaction on the writer has ended. */
  #lastTurn: Promise<void> = Promise.resolve()

  constructor(executor: SqliteExecutor, writerLock: WriterLock, writeWaitMs: number) {
    this.#executor = executor
    this.#writerLock = writerLock
    this.#writeWaitMs = writeWaitMs
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<ExecutorConnection> {
    return new ExecutorConnection(this.#executor)
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    const own = connection as ExecutorConnection
    const deadline = performance.now() + this.#writeWaitMs
    const before = this.#lastTurn
    const turn = Promise.withResolvers<void>()
    this.#lastTurn = turn.promise
    try {
      await waitUntilDeadline(before, deadline)
      await this.#begin(deadline)
      own.beginTurn(turn.resolve)
    } catch (error) {
      // A transaction that timed out passes its turn on when it comes.
      void before.then(turn.resolve)
      throw error
    }
  }

  /** If the commit fails, Kysely rolls back, and only then does the turn end. */
  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    const own = connection as ExecutorConnection
    await this.#executor.execute('writer', 'commit', [])
    own.endTurn()
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    const own = connection as ExecutorConnection
    try {
      await this.#executor.execute('writer', 'rollback', [])
    } finally {
      own.endTurn()
    }
  }

  async releaseConnection(): Promise<void> {}

  /** Waits for running transactions. The owner of the executor closes it. */
  async destroy(): Promise<void> {
    await this.#lastTurn
  }

  /** Retries until it has SQLite's writer lock. SQLite's own busy timeout would block the thread. */
  async #begin(deadline: number): Promise<void> {
    const leave = this.#writerLock.enter()
    try {
      for (;;) {
        try {
          await this.#executor.execute('writer', 'begin immediate', [])
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
}

/** Waits for a promise that always resolves; throws StoreError `busy` if it has not by the deadline. */
async function waitUntilDeadline(coming: Promise<void>, deadline: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    const refuse = () => reject(new StoreError('busy', '', 'other writes in this process took too long'))
    timer = setTimeout(refuse, deadline - performance.now())
  })
  try {
    await Promise.race([coming, tooLate])
  } finally {
    clearTimeout(timer)
  }
}

class ExecutorConnection implements DatabaseConnection {
  readonly #executor: SqliteExecutor
  /** Lets the next transaction begin; undefined outside of a transaction. */
  #passOn: (() => void) | undefined

  constructor(executor: SqliteExecutor) {
    this.#executor = executor
  }

  beginTurn(passOn: () => void): void {
    this.#passOn = passOn
  }

  endTurn(): void {
    this.#passOn?.()
    this.#passOn = undefined
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const connection = this.#passOn ? 'writer' : 'reader'
    const { rows, changes } = await this.#executor.execute(connection, query.sql, query.parameters)
    return { rows: rows as Row[], numAffectedRows: BigInt(changes) }
  }

  // oxlint-disable-next-line require-yield -- Kysely's interface wants a generator; nothing here streams rows.
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('streaming rows is not supported; read them in pages')
  }
}
