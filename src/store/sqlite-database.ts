// The embedded store: one SQLite file, opened on this thread (pipeline, command line) or on one of its own (HTTP).
import { Worker } from 'node:worker_threads'
import { Kysely, sql } from 'kysely'
import { SqliteConnection } from './sqlite-connection.ts'
import { sqliteDialect, type SqliteExecutor } from './sqlite-dialect.ts'
import type { StatementAnswer, StatementMessage } from './sqlite-thread.ts'
import { StoreError, TooBusy, type Database, type Store } from './store.ts'
import type { Tables } from './tables.ts'
import { Turnstile } from './turnstile.ts'

export interface SqliteDatabaseOptions {
  readonly path: string
  /** Statements run on a thread of their own instead of this one. */
  readonly ownThread?: boolean
  /** False: a commit may return before it is on disk, for who can repeat it from the log. */
  readonly durable?: boolean
  /** Memory for pages of the file while writing. */
  readonly pageCacheKib?: number
  readonly turnstile?: Turnstile
  /** How long a change waits for other writers; `WRITE_WAIT_MS` without it. */
  readonly writeWaitMs?: number
}

/** Opens the file and makes it if it is not there. The caller runs the migrations. */
export function openSqliteDatabase(options: SqliteDatabaseOptions): Database {
  const turnstile = options.turnstile ?? new Turnstile()
  const executor = options.ownThread ? new ThreadExecutor(options.path) : localExecutor(options)
  const kysely = new Kysely<Tables>({ dialect: sqliteDialect(executor, turnstile, options.writeWaitMs) })
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
    types: { integer: sql`integer`, text: sql`text`, clustered: sql`without rowid` },
    write,
    changeTables: write,
    readSnapshot: (read) => readSnapshot(options.path, turnstile, read),
    letOthersPass: () => turnstile.letOthersPass(),
    close: () => (closed ??= closeBoth(kysely, executor)),
  }
}

/** Kysely waits for what it has in hand, and does nothing where it was never asked anything. */
async function closeBoth(kysely: Kysely<Tables>, executor: SqliteExecutor): Promise<void> {
  await kysely.destroy()
  await executor.close()
}

/** A connection of its own, whose one transaction never ends before all is read. */
async function readSnapshot<Result>(
  path: string,
  turnstile: Turnstile,
  read: (store: Store) => Promise<Result>,
): Promise<Result> {
  const connection = new SqliteConnection(path, { readOnly: true })
  const executor: SqliteExecutor = {
    execute: (_, text, parameters) => connection.execute(text, parameters),
    close: () => connection.close(),
  }
  const kysely = new Kysely<Tables>({ dialect: sqliteDialect(executor, turnstile) })
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
    rowsOf(alias, columns, rows) {
      const valueOf = (row: object, name: string) => (row as Record<string, unknown>)[name] ?? null
      const names = Object.keys(columns)
      // A column without any value is left out, because SQLite takes 0.2 us a row to read one, empty or not.
      const filled = names.filter((name) => rows.some((row) => valueOf(row, name) !== null))
      const list = rows.map((row) => filled.map((name) => valueOf(row, name)))
      // Unlike `json_each` it does not write every row out as text for `->>` to read it again: half of the cost.
      const selected = names.map((name) => {
        const index = filled.indexOf(name)
        return sql`${index < 0 ? sql`null` : sql`value ->> ${sql.lit(index)}`} as ${sql.ref(name)}`
      })
      return sql`(select ${sql.join(selected)} from jsonb_each(${JSON.stringify(list)}))`.as(alias) as never
    },
    async lock() {},
    async lockShared() {},
    lockRows: (rows) => rows,
    locksRows: false,
  }
}

function localExecutor(options: SqliteDatabaseOptions): SqliteExecutor {
  const { path, durable = true, pageCacheKib } = options
  const writer = new SqliteConnection(path, { durable, ...(pageCacheKib !== undefined && { pageCacheKib }) })
  const reader = new SqliteConnection(path, { readOnly: true })
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
  readonly #waiting = new Map<number, PromiseWithResolvers<{ rows: unknown[]; changes: number }>>()
  #lastId = 0

  constructor(path: string) {
    this.#thread = new Worker(new URL('./sqlite-thread.ts', import.meta.url), {
      name: 'store',
      workerData: { path },
    })
    this.#thread.on('message', (answer: StatementAnswer) => this.#receive(answer))
    // A broken thread is a broken process: `error` without listener ends it, as it should.
  }

  execute(connection: 'reader' | 'writer', text: string, parameters: readonly unknown[]) {
    const id = ++this.#lastId
    const waiting = Promise.withResolvers<{ rows: unknown[]; changes: number }>()
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
