// The store on PostgreSQL 15 or newer, over one bounded pool of connections.
import { Kysely, PostgresDialect, sql } from 'kysely'
import { Semaphore } from '../../concurrency/semaphore.ts'
import { postgresConditions } from './postgres-conditions.ts'
import { isRepeatable, openPostgresPool, toKyselyPool, type PoolOptions } from './postgres-pool.ts'
import { StoreError, TooBusy, WRITE_WAIT_MS, type ColumnType, type Database, type Store } from '../store.ts'
import type { Tables } from '../tables.ts'

export interface PostgresOptions {
  readonly url: string
  readonly connectionsMax?: number
  /** The timeout of a statement. Default: `ANSWER_WAIT_MS`. */
  readonly answerWaitMs?: number | undefined
  /** How long a transaction waits for a lock. Default: `WRITE_WAIT_MS`. */
  readonly writeWaitMs?: number | undefined
  /** Whether all statements are planned as those of a snapshot (`BY_INDEX`). */
  readonly readsByIndex?: boolean | undefined
}

/** For the pipeline and commands, where no client waits. */
const ANSWER_WAIT_MS = 61_000
/** For requests: longer than the wait for a lock, so that the lock's own error arrives first. */
export const REQUEST_ANSWER_WAIT_MS = WRITE_WAIT_MS + 2_000
/** The server ends a statement this much earlier than the client gives up, so that its outcome is nearly always known. */
const SERVER_EARLIER_MS = 1_000

const CONNECTIONS_MAX = 10
const CONNECT_WAIT_MS = 5_000
/**
 * How many transactions that begin with the same lock may have a connection: one that holds the lock, and the next. Otherwise the
 * transactions of one workspace could occupy every connection.
 */
const CHANGES_PER_LOCK_MAX = 2
/** PostgreSQL rolls a transaction back, and releases its locks, when its process has sent no statement for this long. */
const IDLE_IN_TRANSACTION_MS_MAX = 5_000
/** A snapshot holds no locks that others wait for, and its reader may compute for long between two statements. */
const IDLE_IN_SNAPSHOT = sql`set local idle_in_transaction_session_timeout = '10min'`
/** A migration takes as long as it needs, even if the operator has set a statement timeout. */
const NO_STATEMENT_TIMEOUT = sql`set local statement_timeout = 0`
/**
 * Planner methods that are off where many small pages are read, each by an index. With them, PostgreSQL scans whole tables, or all
 * rows of a workspace, while it has no statistics of their contents or overestimates the rows of a user: 600 ms instead of 9 for
 * the facts of 500 of 200,000 users.
 */
const BY_INDEX = ['enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin'] as const
/** How often a transaction is tried again after a deadlock or a serialization failure. */
const WRITE_TRIES_MAX = 5
const BULK_TYPES = { integer: sql`bigint`, text: sql`text` }

/** Opens the pool; the first query connects. The caller runs the migrations. */
export function openPostgresDatabase(options: PostgresOptions): Database {
  const answerWaitMs = options.answerWaitMs ?? ANSWER_WAIT_MS
  const writeWaitMs = options.writeWaitMs ?? WRITE_WAIT_MS
  const common = {
    connectionString: options.url,
    connectionTimeoutMillis: CONNECT_WAIT_MS,
    lock_timeout: writeWaitMs,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS_MAX,
  }
  const kysely = openKysely({
    ...common,
    max: options.connectionsMax ?? CONNECTIONS_MAX,
    query_timeout: answerWaitMs,
    statement_timeout: answerWaitMs - SERVER_EARLIER_MS,
    turnedOff: options.readsByIndex ? BY_INDEX : [],
  })
  const lockQueues = new Semaphore({ slotsPerKeyMax: CHANGES_PER_LOCK_MAX, refusal: () => new TooBusy() })
  return {
    ...postgresStore(kysely),
    kind: 'postgres',
    types: { integer: sql`bigint`, text: sql`text collate "C"`, clustered: sql``, hint: async () => {} },
    write: (change) => writeQueued(kysely, change, { lockQueues, waitMs: writeWaitMs }),
    async changeTables(change) {
      const migrating = openKysely({ ...common, max: 1 })
      try {
        await writeWithRetries(migrating, async (store) => {
          await NO_STATEMENT_TIMEOUT.execute(store.query)
          await change(store)
        })
      } finally {
        await migrating.destroy()
      }
    },
    readSnapshot: (read) => {
      const transaction = kysely.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
      return transaction.execute(async (snapshot) => {
        await IDLE_IN_SNAPSHOT.execute(snapshot)
        for (const name of BY_INDEX) await sql`set local ${sql.ref(name)} = off`.execute(snapshot)
        return read(postgresStore(snapshot))
      })
    },
    async yieldToWriters() {},
    close: () => kysely.destroy(),
  }
}

function openKysely(config: PoolOptions): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: toKyselyPool(openPostgresPool(config)) }) })
}

/** Thrown in a transaction when `CHANGES_PER_LOCK_MAX` others of this process hold or want its first lock. */
class MustQueue extends Error {
  readonly key: string

  constructor(key: string) {
    super(`other transactions are waiting for the lock ${key}`)
    this.key = key
  }
}

/**
 * Runs one transaction in the queue of its first lock. If it has to wait, it returns its connection to the pool, and starts again
 * when it is its turn. It waits for later locks in the database, which detects deadlocks.
 */
async function writeQueued<Result>(
  kysely: Kysely<Tables>,
  change: (store: Store) => Promise<Result>,
  { lockQueues, waitMs }: { readonly lockQueues: Semaphore; readonly waitMs: number },
): Promise<Result> {
  let acquiredKey: string | undefined
  const enterQueue = (key: string) => {
    if (acquiredKey !== undefined) return
    if (!lockQueues.tryAcquire(key)) throw new MustQueue(key)
    acquiredKey = key
  }
  try {
    for (;;) {
      try {
        return await writeWithRetries(kysely, change, enterQueue)
      } catch (error) {
        if (!(error instanceof MustQueue)) throw error
        await lockQueues.acquire(error.key, { waitMs })
        acquiredKey = error.key
      }
    }
  } finally {
    if (acquiredKey !== undefined) lockQueues.release(acquiredKey)
  }
}

async function writeWithRetries<Result>(
  kysely: Kysely<Tables>,
  change: (store: Store) => Promise<Result>,
  enterQueue?: (key: string) => void,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await kysely.transaction().execute((transaction) => change(postgresStore(transaction, enterQueue)))
    } catch (error) {
      if (isRepeatable(error) && tries < WRITE_TRIES_MAX) continue
      throw error instanceof StoreError && error.reason === 'busy' ? new TooBusy() : error
    }
  }
}

/** Calls `enterQueue` with the key of the first lock before it requests the lock. */
function postgresStore(query: Kysely<Tables>, enterQueue?: (key: string) => void): Store {
  let hasLocked = false
  return {
    query,
    rowsOf,
    newRows: (columns, rows) => rowsOf('fresh', columns, rows),
    async lock(key) {
      if (!hasLocked) enterQueue?.(key)
      hasLocked = true
      await sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`.execute(query)
    },
    async lockShared(key) {
      hasLocked = true
      await sql`select pg_advisory_xact_lock_shared(hashtextextended(${key}, 0))`.execute(query)
    },
    lockRows: (rows) => rows.forUpdate() as typeof rows,
    ...postgresConditions,
    locksRows: true,
  }
}

const rowsOf: Store['rowsOf'] = (alias, columns, rows) => {
  const names = Object.keys(columns)
  const typed = Object.entries<ColumnType>(columns).map(([name, type]) => sql`${sql.ref(name)} ${BULK_TYPES[type]}`)
  const selected = sql.join(names.map((name) => sql.ref(name)))
  const json = JSON.stringify(rows)
  const source = sql`json_to_recordset(${json}::json) as bulk(${sql.join(typed)})`
  return sql`(select ${selected} from ${source})`.as(alias) as never
}
