// Opens pools of connections to PostgreSQL that survive lost connections, and translates the driver's errors.
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import { Pool, types, type CustomTypesConfig, type PoolClient, type PoolConfig } from 'pg'
import { AppError } from '../../core/app-error.ts'
import { codeOf } from '../../core/thrown.ts'
import { TransactionTimedOut, StoreError, Unreachable } from '../store.ts'
import { NETWORK_PROBLEMS } from '../../core/phrases/system-problem.ts'

const POSTGRES_INT8 = types.builtins.INT8
const UNIQUE_VIOLATION = '23505'
/** Timeout of a lock or a statement. The statement itself need not be wrong. */
const TIMED_OUT = new Set(['55P03', '57014'])
/** Serialization failure and deadlock: the same transaction may succeed on a retry. */
const REPEATABLE = new Set(['40001', '40P01'])
/**
 * Unknown user or database, no permission to connect, insufficient resources, a shutdown, system errors, corruption, and a
 * read-only server.
 */
const BROKEN = /^(?:28|3D|55000|53|57P|58|XX00[12]|25006)/
/** PostgreSQL ended the session because its transaction was idle for too long. */
const IDLE_IN_TRANSACTION_TIMEOUT = '25P03'
/**
 * Connection exceptions, shutdowns, sessions ended because a transaction took too long, no free connection, and errors of the
 * socket such as ECONNREFUSED.
 */
const UNREACHABLE = /^(?:08...|57P0[1235]|25P04|53300|E(?!RR_)[A-Z_]+)$/
/** When TCP begins to probe an idle connection. */
const KEEP_ALIVE_MS = 10_000
/** Transactions are written for this isolation level, which need not be the default of the database. */
const SET_ISOLATION = `set default_transaction_isolation = 'read committed'`
/** PostgreSQL would compile statements that it believes expensive: 40 of 50 ms for a small page. */
const NO_JIT = 'set jit = off'
/**
 * Lets the server detect that this machine is gone. By default it notices after two hours on an idle connection, and after 15
 * minutes while it sends an answer. Until then a transaction keeps its locks: statement timeouts do not apply while the server
 * waits for the network.
 */
const DETECT_LOST_CLIENTS = [
  'set tcp_user_timeout = 15000',
  'set tcp_keepalives_idle = 10',
  'set tcp_keepalives_interval = 5',
  'set tcp_keepalives_count = 1',
]

export interface PoolOptions extends PoolConfig {
  /** Settings of the server that are off in every connection. */
  readonly turnedOff?: readonly string[]
}

/** Opens a pool; the first query connects. `bigint` values arrive as numbers. */
export function openPostgresPool({ turnedOff = [], ...config }: PoolOptions): Pool {
  const settings = [
    SET_ISOLATION,
    NO_JIT,
    ...DETECT_LOST_CLIENTS,
    ...turnedOff.map((name) => `set ${name} = off`),
  ].join('; ')
  // The pool waits for this, though its types do not say so.
  const onConnect = ((client) => client.query(settings)) as PoolConfig['onConnect']
  const pool = new Pool({
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    ...config,
    onConnect,
    types: { getTypeParser: parserOf } as CustomTypesConfig,
  })
  // The pool replaces a connection that breaks while idle.
  pool.on('error', () => {})
  // A connection that breaks in use fails its query. It also emits an error event, which would end the process without a listener.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/**
 * Adapts a pool to Kysely: translates errors, and closes a connection after a timeout. The driver would give such a connection to
 * the next caller, behind the unanswered statement, and would let a rollback wait for the same timeout again.
 */
export function toKyselyPool(pool: Pool): PostgresPool {
  return {
    connect: async () => toKyselyClient(await fromDriver(() => pool.connect())),
    end: () => pool.end(),
    options: pool.options,
  }
}

function toKyselyClient(client: PoolClient): PostgresPoolClient {
  /** Why the connection is lost; the rollback that follows fails with it too. */
  let lost: AppError | undefined
  const query = async (text: string, parameters: unknown[]) => {
    if (lost) throw lost
    try {
      return await client.query(text, parameters)
    } catch (error) {
      const translated = fromPostgresError(error)
      if (translated instanceof AppError) lost = translated
      throw translated
    }
  }
  return {
    // Kysely can also query through cursors, for streams, which this project does not use.
    query: query as never,
    release: (isDiscarded) => client.release(lost !== undefined || isDiscarded),
  }
}

/**
 * Runs work of the driver and translates its errors to StoreError or AppError `unavailable`, also those that it throws
 * synchronously, for example when a certificate file named in the URL is missing.
 */
export async function fromDriver<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw fromPostgresError(error)
  }
}

export function isRepeatable(error: unknown): boolean {
  return error instanceof StoreError && REPEATABLE.has(error.driverCode)
}

/** Translates an error of the driver; returns any other error unchanged. */
function fromPostgresError(error: unknown): unknown {
  const code = codeOf(error)
  if (error instanceof StoreError) return error
  if (isConnectionLost(error)) return new Unreachable(error.message)
  if (code === undefined) return error
  // If a host has several addresses, the error for all of them has a code but no message.
  const message = (error instanceof Error && error.message) || code
  if (code === IDLE_IN_TRANSACTION_TIMEOUT) return new TransactionTimedOut()
  if (code === UNIQUE_VIOLATION) return new StoreError('unique', code, message)
  if (UNREACHABLE.test(code)) return new Unreachable(NETWORK_PROBLEMS[code] ?? message)
  if (REPEATABLE.has(code) || TIMED_OUT.has(code)) return new StoreError('busy', code, message)
  return new StoreError(BROKEN.test(code) ? 'broken' : 'other', code, message)
}

/** The driver's own errors have no code; all of them say that a connection is lost or does not answer. */
function isConnectionLost(error: unknown): error is Error {
  return error instanceof Error && error.name === 'Error' && codeOf(error) === undefined
}

/** The driver returns bigint as text by default; values here never exceed 2^53. */
function parserOf(oid: typeof POSTGRES_INT8, format?: 'text'): unknown {
  return oid === POSTGRES_INT8 ? Number : types.getTypeParser(oid, format)
}
