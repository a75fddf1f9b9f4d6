// Pools of connections to PostgreSQL that survive what may happen to these, and what the driver's errors mean to us.
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import { Pool, types, type CustomTypesConfig, type PoolClient, type PoolConfig } from 'pg'
import { AppError } from '../../core/app-error.ts'
import { codeOf } from '../../core/thrown.ts'
import { TransactionTimedOut, StoreError, Unreachable } from '../store.ts'

const POSTGRES_INT8 = types.builtins.INT8
const UNIQUE_VIOLATION = '23505'
/** Waited too long: for a lock, or for a statement, whatever it did. Nothing need be wrong with what was asked. */
const TAKES_TOO_LONG = new Set(['55P03', '57014'])
/** Serialization failure and deadlock: the same transaction may succeed when it is tried again. */
const REPEATABLE = new Set(['40001', '40P01'])
/**
 * No such user or database, or one that does not let us in; insufficient resources, a server going down, system errors,
 * corruption; and a server that may only be read.
 */
const BROKEN = /^(?:28|3D|55000|53|57P|58|XX00[12]|25006)/
/** The session was ended because its transaction stood still. */
const STOOD_STILL = '25P03'
/**
 * Connection exceptions, shutdowns, sessions that were ended for a transaction that took too long, no connection left, and
 * what the socket says, such as ECONNREFUSED.
 */
const UNREACHABLE = /^(?:08...|57P0[1235]|25P04|53300|E(?!RR_)[A-Z_]+)$/
/** How soon to check whether the other side of a quiet connection is still there. */
const KEEP_ALIVE_MS = 10_000
/** The isolation that our transactions are written for, whatever the operator made the database's default. */
const SET_ISOLATION = `set default_transaction_isolation = 'read committed'`
/** PostgreSQL would compile what it takes for much work before it begins: 40 ms of 50 for a small page. */
const COMPILE_NOTHING = 'set jit = off'
/**
 * How the server learns that this machine is gone. By itself it notices that of a quiet connection after two hours, and of one with
 * an answer on its way after a quarter of an hour: until then a transaction keeps its locks, because no time limit of a statement
 * holds while the network is waited for.
 */
const NOTICE_LOSS = [
  'set tcp_user_timeout = 15000',
  'set tcp_keepalives_idle = 10',
  'set tcp_keepalives_interval = 5',
  'set tcp_keepalives_count = 1',
]

export interface PoolOptions extends PoolConfig {
  /** Settings of the server that are off in every connection. */
  readonly turnedOff?: readonly string[]
}

/** Opens a pool; the first query connects. Whole numbers arrive as numbers. */
export function openPostgresPool({ turnedOff = [], ...config }: PoolOptions): Pool {
  const settings = [
    SET_ISOLATION,
    COMPILE_NOTHING,
    ...NOTICE_LOSS,
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
  // A connection that breaks while idle is replaced by the pool; the next query tells whether the server is there.
  pool.on('error', () => {})
  // One that breaks in use fails its query; it also emits an error event, which would end the process if nobody listened.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/**
 * A pool as Kysely takes it, whose errors are told apart by their codes. Closes connections that the driver would leave open:
 * when an answer did not come in time, the driver would give the connection to the next caller, behind the statement that is
 * never answered, and let a transaction wait as long again for its rollback.
 */
export function toKyselyPool(pool: Pool): PostgresPool {
  return {
    connect: async () => toKyselyClient(await fromDriver(() => pool.connect())),
    end: () => pool.end(),
    options: pool.options,
  }
}

function toKyselyClient(client: PoolClient): PostgresPoolClient {
  /** Why the connection is gone; the rollback that follows fails with this too. */
  let lost: AppError | undefined
  const query = async (text: string, parameters: unknown[]) => {
    if (lost) throw lost
    try {
      return await client.query(text, parameters)
    } catch (error) {
      const known = fromPostgresError(error)
      if (known instanceof AppError) lost = known
      throw known
    }
  }
  return {
    // Kysely also queries through cursors, for streams, which nobody here uses.
    query: query as never,
    release: (isDiscarded) => client.release(lost !== undefined || isDiscarded),
  }
}

/**
 * Gives the result of the driver's work. Rejects with StoreError, or with AppError `unavailable`, where the driver fails, even
 * where it throws at once, as when a file of certificates that the address names is not there.
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

/** What an error of the driver means to us; anything else is given back as it is. */
function fromPostgresError(error: unknown): unknown {
  const code = codeOf(error)
  if (error instanceof StoreError) return error
  if (isConnectionLost(error)) return new Unreachable(error.message)
  if (code === undefined) return error
  // Where a host has several addresses, the error for all of them together says nothing but its code.
  const message = (error instanceof Error && error.message) || code
  if (code === STOOD_STILL) return new TransactionTimedOut()
  if (code === UNIQUE_VIOLATION) return new StoreError('unique', code, message)
  if (UNREACHABLE.test(code)) return new Unreachable(message)
  if (REPEATABLE.has(code) || TAKES_TOO_LONG.has(code)) return new StoreError('busy', code, message)
  return new StoreError(BROKEN.test(code) ? 'broken' : 'other', code, message)
}

/** The driver gives no code to its own errors, which are all about a connection that is gone or does not answer. */
function isConnectionLost(error: unknown): error is Error {
  return error instanceof Error && error.name === 'Error' && codeOf(error) === undefined
}

/** bigint arrives as text by default; ours never exceed 2^53. */
function parserOf(oid: typeof POSTGRES_INT8, format?: 'text'): unknown {
  return oid === POSTGRES_INT8 ? Number : types.getTypeParser(oid, format)
}
