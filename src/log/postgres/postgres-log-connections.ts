// The log's own few connections to PostgreSQL. Every wait on them is bounded, here and in the server, and the driver's errors
// are told apart by their codes.
import { Pool, types, type CustomTypesConfig, type PoolConfig, type QueryConfig, type QueryResultRow } from 'pg'
import { codeOf } from '../../core/thrown.ts'
import { unavailable } from '../unavailable.ts'

/** How long it waits for a connection, and how long for an answer. */
export const CONNECT_WAIT_MS = 3_000
export const ANSWER_WAIT_MS = 7_000
/** The server gives up before we do, so that what became of a statement is nearly always known. */
const STATEMENT_MS_MAX = 6_000
/** Others hold the log's lock for one commit each. */
const LOCK_WAIT_MS = 5_000
/** How soon to check whether the other side of a quiet connection is still there. */
const KEEP_ALIVE_MS = 10_000
/**
 * Once they have the log's lock, the log's functions look at what others have committed by then: with a snapshot from before
 * they had it, they would hand out positions twice. So the isolation level must not be the operator's choice.
 */
const SET_ISOLATION = `set default_transaction_isolation = 'read committed'`
/**
 * How the server learns that this machine is gone. By itself it notices that of a quiet connection only after two hours, and
 * would soon have none left.
 */
const NOTICE_LOSS = [
  'set tcp_user_timeout = 15000',
  'set tcp_keepalives_idle = 10',
  'set tcp_keepalives_interval = 5',
  'set tcp_keepalives_count = 1',
]
/** The pool waits for this, though its types do not say so. */
const SET_SESSION = ((client) => client.query([SET_ISOLATION, ...NOTICE_LOSS].join('; '))) as PoolConfig['onConnect']
const POSTGRES_INT8 = types.builtins.INT8

/**
 * What may pass by itself: broken connections, wrong credentials, missing databases, lack of resources, locks not given in
 * time, servers that go down, start up or may only be read, and broken machines. All else is due to the question itself.
 */
const PASSING = /^(?:08|25006|28|3D|40|53|55|57|58|XX00[12])/
/** The codes of PostgreSQL's own errors. Those of the socket begin with E, and the driver's own errors have none. */
const SQL_STATE = /^[0-9FHPX][0-9A-Z]{4}$/

export class LogConnections {
  readonly #pool: Pool

  /** The first question connects. */
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
    // A connection that breaks while idle is replaced by the pool; the next question tells whether the server is there.
    this.#pool.on('error', () => {})
    // One that breaks in use fails its question, and also emits an error event, which somebody must listen to.
    this.#pool.on('connect', (client) => client.on('error', () => {}))
  }

  /**
   * One statement, or several without parameters, in a transaction of its own. Rejects with AppError `unavailable` for what
   * may pass by itself; the statement may then have been carried out. Anything else is passed on as the driver threw it.
   */
  async ask<Row extends QueryResultRow>(query: QueryConfig): Promise<Row[]> {
    try {
      return (await this.#pool.query<Row>(query)).rows
    } catch (error) {
      throw fromDriverError(error)
    }
  }

  /** For the first question: when it fails, no connection stays open. */
  async create(query: QueryConfig): Promise<void> {
    try {
      await this.ask(query)
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /** Waits for what has been asked. */
  async close(): Promise<void> {
    await this.#pool.end()
  }
}

/** The code that PostgreSQL gave an error; undefined where it gave none. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error)
  return code !== undefined && SQL_STATE.test(code) ? code : undefined
}

function fromDriverError(error: unknown): unknown {
  const code = sqlStateOf(error)
  if (code === undefined) return unavailable('The log database is unreachable. Retry after 1 second.')
  if (!PASSING.test(code)) return error
  return unavailable(`The log database is unavailable (${code}). Retry after 1 second.`)
}

/** bigint arrives as text by default; ours never exceed 2^53. */
function parserOf(oid: typeof POSTGRES_INT8, format?: 'text'): unknown {
  return oid === POSTGRES_INT8 ? Number : types.getTypeParser(oid, format)
}
