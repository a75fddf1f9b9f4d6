// The same tables on PostgreSQL 15 or newer, through one bounded pool of connections.
import { Kysely, PostgresDialect, sql, type DatabaseConnection, type Driver } from 'kysely'
import { Pool, types, type CustomTypesConfig } from 'pg'
import { AppError } from '../core/app-error.ts'
import { StoreError, tooBusy, WRITE_WAIT_MS, type ColumnType, type Database, type Store } from './store.ts'
import type { Tables } from './tables.ts'

export interface PostgresOptions {
  readonly url: string
  readonly connectionsMax?: number
}

const CONNECTIONS_MAX = 10
const CONNECT_WAIT_MS = 5_000
/** How often a transaction is tried again after a deadlock or a serialization failure. */
const WRITE_TRIES_MAX = 5
const POSTGRES_INT8 = types.builtins.INT8
const BULK_TYPES = { integer: sql`bigint`, text: sql`text`, double: sql`double precision` }

const UNIQUE_VIOLATION = '23505'
const REPEATABLE = new Set(['40001', '40P01'])
/**
 * No such user or database, or none that may be entered; insufficient resources, a server going down, system errors,
 * corruption; and a server that may only be read.
 */
const BROKEN = /^(?:28|3D|55000|53|57P|58|XX00[12]|25006)/
/** Connection exceptions, shutdowns and what the socket says. */
const UNREACHABLE = new Set([
  '57P01',
  '57P02',
  '57P03',
  '53300',
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'ENOTFOUND',
])

/** Opens the pool; the first query connects. The caller runs the migrations. */
export function openPostgresDatabase(options: PostgresOptions): Database {
  const pool = new Pool({
    connectionString: options.url,
    max: options.connectionsMax ?? CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_WAIT_MS,
    statement_timeout: WRITE_WAIT_MS * 6,
    lock_timeout: WRITE_WAIT_MS,
    types: { getTypeParser: parserOf } as CustomTypesConfig,
  })
  // A connection that breaks while idle is replaced by the pool; the next query tells whether the server is there.
  pool.on('error', () => {})
  const kysely = new Kysely<Tables>({ dialect: new CodedPostgresDialect({ pool }) })
  return {
    ...postgresStore(kysely),
    kind: 'postgres',
    types: { integer: sql`bigint`, text: sql`text collate "C"` },
    write: (change) => writeWithRetries(kysely, change),
    async letOthersPass() {},
    close: () => kysely.destroy(),
  }
}

/** Kysely's own dialect, with the driver's errors told apart by their codes. */
class CodedPostgresDialect extends PostgresDialect {
  override createDriver(): Driver {
    const driver = super.createDriver()
    const acquire = driver.acquireConnection.bind(driver)
    driver.acquireConnection = async () => {
      const connection = await coded(acquire()).catch((error: unknown) => {
        // The pool's own error, that none came free in time, has no code.
        const isKnown = error instanceof StoreError || errorCode(error) !== undefined
        throw isKnown ? error : unreachable()
      })
      codeErrorsOf(connection)
      return connection
    }
    return driver
  }
}

/** Connections come back from the pool; each is changed once. */
const codedConnections = new WeakSet<DatabaseConnection>()

function codeErrorsOf(connection: DatabaseConnection): void {
  if (codedConnections.has(connection)) return
  codedConnections.add(connection)
  const execute = connection.executeQuery.bind(connection)
  connection.executeQuery = (query) => coded(execute(query))
}

async function coded<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw fromPostgresError(error)
  }
}

/** What an error of the driver means to us; anything else is given back as it is. */
function fromPostgresError(error: unknown): unknown {
  const code = errorCode(error)
  if (code === undefined || error instanceof StoreError) return error
  const message = error instanceof Error ? error.message : code
  if (code === UNIQUE_VIOLATION) return new StoreError('unique', code, message)
  if (code.startsWith('08') || UNREACHABLE.has(code)) return unreachable()
  if (REPEATABLE.has(code) || code === '55P03') return new StoreError('busy', code, message)
  return new StoreError(BROKEN.test(code) ? 'broken' : 'other', code, message)
}

async function writeWithRetries<Result>(
  kysely: Kysely<Tables>,
  change: (store: Store) => Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await kysely.transaction().execute((transaction) => change(postgresStore(transaction)))
    } catch (error) {
      const mayRepeat = error instanceof StoreError && REPEATABLE.has(error.driverCode) && tries < WRITE_TRIES_MAX
      if (mayRepeat) continue
      throw error instanceof StoreError && error.reason === 'busy' ? tooBusy() : error
    }
  }
}

function postgresStore(query: Kysely<Tables>): Store {
  return {
    query,
    rowsOf(alias, columns, rows) {
      const names = Object.keys(columns)
      const typed = Object.entries<ColumnType>(columns).map(([name, type]) => sql`${sql.ref(name)} ${BULK_TYPES[type]}`)
      const selected = sql.join(names.map((name) => sql.ref(name)))
      const json = JSON.stringify(rows)
      const source = sql`json_to_recordset(${json}::json) as bulk(${sql.join(typed)})`
      return sql`(select ${selected} from ${source})`.as(alias) as never
    },
    async lock(key) {
      await sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`.execute(query)
    },
  }
}

/** bigint arrives as text by default; ours never exceed 2^53. */
function parserOf(oid: typeof POSTGRES_INT8, format?: 'text'): unknown {
  return oid === POSTGRES_INT8 ? Number : types.getTypeParser(oid, format)
}

function unreachable(): AppError {
  return new AppError('unavailable', 'The database cannot be reached; please repeat the request.', [], 1)
}

function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
  return typeof code === 'string' ? code : undefined
}
