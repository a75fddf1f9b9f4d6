// The same tables on PostgreSQL 15 or newer, through one bounded pool of connections.
import { Kysely, PostgresDialect, sql } from 'kysely'
import { Semaphore } from '../../concurrency/semaphore.ts'
import { isRepeatable, openPostgresPool, toKyselyPool, type PoolOptions } from './postgres-pool.ts'
import { StoreError, TooBusy, WRITE_WAIT_MS, type ColumnType, type Database, type Store } from '../store.ts'
import type { Tables } from '../tables.ts'

export interface PostgresOptions {
  readonly url: string
  readonly connectionsMax?: number
  /** How long to wait for an answer; by default `ANSWER_WAIT_MS`. */
  readonly answerWaitMs?: number | undefined
  /** How long a change waits for locks of others; by default `WRITE_WAIT_MS`. */
  readonly writeWaitMs?: number | undefined
  /** Whether all statements are carried out as those of a snapshot are (`BY_INDEX`). */
  readonly readsByIndex?: boolean | undefined
}

/** For what no caller waits for: the pipeline, commands. */
const ANSWER_WAIT_MS = 61_000
/** For requests: enough to be told that others held a lock for `WRITE_WAIT_MS`. */
export const REQUEST_ANSWER_WAIT_MS = WRITE_WAIT_MS + 2_000
/** The server gives up this much earlier than we do, so that what became of a statement is nearly always known. */
const SERVER_EARLIER_MS = 1_000

const CONNECTIONS_MAX = 10
const CONNECT_WAIT_MS = 5_000
/**
 * Changes of this process that begin with the same lock and have a connection: one has the lock, and one gets it as soon as the
 * first ends. Otherwise the changes of one workspace could hold every connection.
 */
const CHANGES_PER_LOCK_MAX = 2
/** After this time, whatever a process has locked that was stopped or cut off in the middle of a transaction is released. */
const IDLE_IN_TRANSACTION_MS_MAX = 5_000
/** Whoever reads a snapshot has locked nothing that others wait for, and may compute for long between two statements. */
const IDLE_IN_SNAPSHOT = sql`set local idle_in_transaction_session_timeout = '10min'`
/** Changing tables takes as long as their rows demand, however long the operator lets a statement take by default. */
const UNHURRIED = sql`set local statement_timeout = 0`
/**
 * What is turned off where many small pages are read, each of which has its index, as has each table that it joins. Left to itself,
 * PostgreSQL reads whole tables, or all rows of a workspace, where it knows nothing of their contents yet, or believes that a
 * user has thousands of rows: 600 ms instead of 9 for the facts of 500 of 200,000 users.
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
  const lines = new Semaphore({ slotsPerKeyMax: CHANGES_PER_LOCK_MAX, refusal: () => new TooBusy() })
  return {
    ...postgresStore(kysely),
    kind: 'postgres',
    types: { integer: sql`bigint`, text: sql`text collate "C"`, clustered: sql`` },
    write: (change) => writeInLine(kysely, change, { lines, waitMs: writeWaitMs }),
    async changeTables(change) {
      const unhurried = openKysely({ ...common, max: 1 })
      try {
        await writeWithRetries(unhurried, async (store) => {
          await UNHURRIED.execute(store.query)
          await change(store)
        })
      } finally {
        await unhurried.destroy()
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

/** Thrown in a change when so many others of this process want its first lock that it has to wait in line. */
class InLine extends Error {
  readonly key: string

  constructor(key: string) {
    super(`other transactions are waiting for the lock ${key}`)
    this.key = key
  }
}

/**
 * One transaction, in the line for the lock with which it begins. If it has to wait, it gives its connection back, and begins
 * anew when it is its turn. It waits for later locks only in the database, so that no two wait for each other in a circle.
 */
async function writeInLine<Result>(
  kysely: Kysely<Tables>,
  change: (store: Store) => Promise<Result>,
  { lines, waitMs }: { readonly lines: Semaphore; readonly waitMs: number },
): Promise<Result> {
  let place: string | undefined
  const enterLine = (key: string) => {
    if (place !== undefined) return
    if (!lines.tryAcquire(key)) throw new InLine(key)
    place = key
  }
  try {
    for (;;) {
      try {
        return await writeWithRetries(kysely, change, enterLine)
      } catch (error) {
        if (!(error instanceof InLine)) throw error
        await lines.acquire(error.key, { waitMs })
        place = error.key
      }
    }
  } finally {
    if (place !== undefined) lines.release(place)
  }
}

async function writeWithRetries<Result>(
  kysely: Kysely<Tables>,
  change: (store: Store) => Promise<Result>,
  enterLine?: (key: string) => void,
): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await kysely.transaction().execute((transaction) => change(postgresStore(transaction, enterLine)))
    } catch (error) {
      if (isRepeatable(error) && tries < WRITE_TRIES_MAX) continue
      throw error instanceof StoreError && error.reason === 'busy' ? new TooBusy() : error
    }
  }
}

/** `enterLine` is told the key of the first lock, before that is asked for. */
function postgresStore(query: Kysely<Tables>, enterLine?: (key: string) => void): Store {
  let hasLocked = false
  return {
    query,
    rowsOf,
    newRows: (columns, rows) => rowsOf('fresh', columns, rows),
    async lock(key) {
      if (!hasLocked) enterLine?.(key)
      hasLocked = true
      await sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`.execute(query)
    },
    async lockShared(key) {
      hasLocked = true
      await sql`select pg_advisory_xact_lock_shared(hashtextextended(${key}, 0))`.execute(query)
    },
    lockRows: (rows) => rows.forUpdate() as typeof rows,
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
