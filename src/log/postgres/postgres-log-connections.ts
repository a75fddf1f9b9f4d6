// The log's own pool of connections to PostgreSQL. Every wait is bounded, here and in the server. It turns errors that may pass
// into AppError `unavailable`, by their codes.
import { Pool, types, type CustomTypesConfig, type PoolConfig, type QueryConfig, type QueryResultRow } from 'pg'
import { codeOf } from '../../core/thrown.ts'
import { unavailable } from '../unavailable.ts'

/** How long to wait for a connection, and for the result of a statement. */
export const CONNECT_WAIT_MS = 3_000
export const ANSWER_WAIT_MS = 7_000
/** The server cancels a statement before the client gives up, so that its outcome is nearly always known. */
const STATEMENT_MS_MAX = 6_000
/** Other writers hold the lock of the log for one commit each. */
const LOCK_WAIT_MS = 5_000
/** When to probe an idle connection for the first time. */
const KEEP_ALIVE_MS = 10_000
/**
 * The functions of the log must see what others committed before they got the lock: with an older snapshot they would assign
 * positions twice. So operators cannot choose the isolation level.
 */
const SET_ISOLATION = `set default_transaction_isolation = 'read committed'`
/**
 * How the server notices that this machine is gone. By default it takes two hours for an idle connection, and the server could run
 * out of connections.
 */
const DETECT_LOSS = [
  'set tcp_user_timeout = 15000',
  'set tcp_keepalives_idle = 10',
  'set tcp_keepalives_interval = 5',
  'set tcp_keepalives_count = 1',
]
/** The pool awaits this, although its types do not say so. */
const SET_SESSION = ((client) => client.query([SET_ISOLATION, ...DETECT_LOSS].join('; '))) as PoolConfig['onConnect']
const POSTGRES_INT8 = types.builtins.INT8

/**
 * Errors that may pass: broken connections, wrong credentials, missing databases, lack of resources, lock timeouts, servers that
 * stop, start or are read-only, and hardware faults. All others are faults of the statement.
 */
const TRANSIENT = /^(?:08|25006|28|3D|40|53|55|57|58|XX00[12])/
/** Codes of PostgreSQL. Codes of socket errors begin with E; errors of the driver have none. */
const SQL_STATE = /^[0-9FHPX][0-9A-Z]{4}$/

export class LogConnections {
  readonly #pool: Pool

  /** Connects with the first statement. */
  constructor(url: string, connectionsMax: number) {
    this.#pool = new Pool({
      connectionString: url,
      max: connectionsMax,
      connectionTimeoutMillis: CONNECT_WAIT_MS,
      query_timeout: ANSWER_WAIT_MS,
      statement_timeout: STATEMENT_MS_MAX,
      lock_timeout: LOCK_WAIT_MS,
      idleTimeoutMillis: 0,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      onConnect: SET_SESSION,
      types: { getTypeParser: parserOf } as CustomTypesConfig,
    })
    // The pool replaces a connection that breaks while idle; the next statement shows whether the server responds.
    this.#pool.on('error', () => {})
    // A connection that breaks in use rejects its statement, and also emits an error event, which needs a listener.
    this.#pool.on('connect', (client) => client.on('error', () => {}))
  }

  /**
   * Runs one statement, or several without parameters, in a transaction of its own. Rejects with AppError `unavailable` for errors
   * that may pass; the server may have executed the statement nevertheless. Rejects with the driver's error for all others.
   */
  async ask<Row extends QueryResultRow>(query: QueryConfig): Promise<Row[]> {
    try {
      return (await this.#pool.query<Row>(query)).rows
    } catch (error) {
      throw fromDriverError(error)
    }
  }

  /** Runs the first statement. If it fails, closes all connections. */
  async create(query: QueryConfig): Promise<void> {
    try {
      await this.ask(query)
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /** Waits for running statements. */
  async close(): Promise<void> {
    await this.#pool.end()
  }
}

/** The code of an error of PostgreSQL; undefined for other errors. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error)
  return code !== undefined && SQL_STATE.test(code) ? code : undefined
}

function fromDriverError(error: unknown): unknown {
  const code = sqlStateOf(error)
  if (code === undefined) return unavailable('The log database is unreachable. Retry after 1 second.')
  if (!TRANSIENT.test(code)) return error
  return unavailable(`The log database is unavailable (${code}). Retry after 1 second.`)
}

/** The driver returns bigint as text by default; ours never exceed 2^53. */
function parserOf(oid: typeof POSTGRES_INT8, format?: 'text'): unknown {
  return oid === POSTGRES_INT8 ? Number : types.getTypeParser(oid, format)
}
