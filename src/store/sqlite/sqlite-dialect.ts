// Kysely over SQLite, wherever the connection lives: on this thread or, for HTTP, on a thread of its own.
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

/** Where statements run. `reader` never writes, so that reading never waits for a writer. */
export interface SqliteExecutor {
  execute(connection: 'reader' | 'writer', sql: string, parameters: readonly unknown[]): Promise<SqlResult> | SqlResult
  close(): Promise<void> | void
}

const BUSY_RETRY_MS = 1

/** A Kysely dialect over one executor: transactions take the writer, in turn; everything else reads. */
export function sqliteDialect(executor: SqliteExecutor, writerLock: WriterLock, writeWaitMs = WRITE_WAIT_MS): Dialect {
  return {
    createAdapter: () => new ConcurrentSqliteAdapter(),
    createDriver: () => new SqliteDriver(executor, writerLock, writeWaitMs),
    createIntrospector: (db: Kysely<unknown>) => new SqliteIntrospector(db),
    createQueryCompiler: () => new PreparedOnceCompiler(),
  }
}

/** Kysely's own adapter lets one query through at a time; here transactions take turns, and readers never wait for them. */
class ConcurrentSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

/**
 * Writes statements so that each is compiled once (`docs/decisions/0026`). Hides the parameters of `limit` and `offset` in
 * expressions: SQLite looks at the value of a parameter that stands there alone, and therefore compiles the statement anew each
 * time it is given a value, even the same one. The list of values of an `in` is one parameter, so that lists of all lengths make
 * the same statement.
 */
class PreparedOnceCompiler extends SqliteQueryCompiler {
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
    // The values of a row that is inserted are such a list too, but stay as they are.
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
  /** The end of the queue of this process's own transactions on the one writer. */
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
      await untilDeadline(before, deadline)
      await this.#begin(deadline)
      own.beginTurn(turn.resolve)
    } catch (error) {
      // Whoever has waited too long passes the turn on when it comes.
      void before.then(turn.resolve)
      throw error
    }
  }

  /** Kysely rolls back what cannot be committed: only then is it somebody else's turn. */
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

  /** Waits for transactions that run; whoever made the executor closes it. */
  async destroy(): Promise<void> {
    await this.#lastTurn
  }

  /** Asks again and again for the one place to write, without blocking the thread as SQLite's own waiting would. */
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

/** Waits for something that is sure to come; throws StoreError `busy` when it has not come by the deadline. */
async function untilDeadline(coming: Promise<void>, deadline: number): Promise<void> {
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
  /** Lets the next transaction begin; undefined outside of one. */
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
