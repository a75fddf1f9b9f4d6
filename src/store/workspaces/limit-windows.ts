// The table of limit windows: what has been used of each limit ("Rate limits"). One row for each workspace and operation,
// which begins anew with its minute and its day, so that nothing has to be deleted. Processes on one PostgreSQL share limits;
// so what takes from limits is written for PostgreSQL alone, and has connections of its own. A server that has its store to
// itself counts in memory, and lists and saves here what is to outlive it.
import type { Pool } from 'pg'
import { insertRows } from '../insert-rows.ts'
import { fromDriver, openPostgresPool } from '../postgres/postgres-pool.ts'
import type { BulkColumns, SqlTypes, Store } from '../store.ts'

/** One statement runs at a time; while one hangs that nobody waits for any more, the other connection serves. */
const CONNECTIONS_MAX = 2
const CONNECT_WAIT_MS = 2_000
/** How long to wait for a statement, which needs less than a millisecond. */
const ANSWER_WAIT_MS = 3_000
/** Others hold a row for one statement each. */
const LOCK_WAIT_MS = 2_500
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** A clock up to this far behind a window's start counts in that window; one farther behind was set back, and begins anew. */
export const CLOCK_BEHIND_MS_MAX = 10 * MINUTE_MS

/** Of both windows: when they began, and what has been used since. */
interface LimitWindowRow {
  workspace_id: string
  operation: string
  minute_starts_at: number
  minute_used: number
  day_starts_at: number
  day_used: number
}

const ROW_TYPES = {
  workspace_id: 'text',
  operation: 'text',
  minute_starts_at: 'integer',
  minute_used: 'integer',
  day_starts_at: 'integer',
  day_used: 'integer',
} as const satisfies BulkColumns<LimitWindowRow>

declare module '../tables.ts' {
  interface Tables {
    limit_windows: LimitWindowRow
  }
}

export interface LimitKey {
  readonly workspaceId: string
  readonly operation: string
}

/** What requests of one process ask for together. */
export interface LimitQuestion extends LimitKey {
  /** Null where the operation has no limit of this length. */
  readonly minuteLimit: number | null
  readonly dayLimit: number | null
  /** To be taken from both windows, all of them or none. */
  readonly units: number
  /** Requests that are refused anyway: each uses one unit of every window that has one left. */
  readonly refused: number
}

export interface LimitUsed {
  readonly startsAt: number
  readonly used: number
}

export interface UsedWindows extends LimitKey {
  readonly minute: LimitUsed
  readonly day: LimitUsed
}

/** The windows after the refused requests were counted, and before the units were taken. */
export interface LimitAnswer extends UsedWindows {
  readonly isTaken: boolean
  /** What time it was: milliseconds since the epoch. */
  readonly now: number
}

export async function createLimitWindows({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('limit_windows')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('operation', text, (column) => column.notNull())
    .addColumn('minute_starts_at', integer, (column) => column.notNull())
    .addColumn('minute_used', integer, (column) => column.notNull())
    .addColumn('day_starts_at', integer, (column) => column.notNull())
    .addColumn('day_used', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('limit_windows_key', ['workspace_id', 'operation'])
    .modifyEnd(clustered)
    .execute()
}

/** All that were saved, even those that have ended: at most one for each workspace and operation. */
export async function listLimitWindows({ query }: Store): Promise<UsedWindows[]> {
  const rows = await query.selectFrom('limit_windows').selectAll().execute()
  return rows.map(toUsedWindows)
}

/** Replaces what was saved for these keys, each of which may occur only once. */
export async function saveLimitWindows(store: Store, windows: readonly UsedWindows[]): Promise<void> {
  await insertRows(store, 'limit_windows', { columns: ROW_TYPES, rows: windows.map(toRow) })
    .onConflict((conflict) =>
      conflict.columns(['workspace_id', 'operation']).doUpdateSet((row) => ({
        minute_starts_at: row.ref('excluded.minute_starts_at'),
        minute_used: row.ref('excluded.minute_used'),
        day_starts_at: row.ref('excluded.day_starts_at'),
        day_used: row.ref('excluded.day_used'),
      })),
    )
    .execute()
}

export interface LimitWindowsOptions {
  /** A shorter wait, for tests. */
  readonly answerWaitMs?: number
}

/**
 * The windows as one process reaches them. What cannot be answered, or not in time, rejects with AppError `unavailable` or
 * StoreError; it may have been carried out all the same.
 */
export class LimitWindows {
  readonly #pool: Pool

  /** The first question connects. */
  constructor(url: string, { answerWaitMs = ANSWER_WAIT_MS }: LimitWindowsOptions = {}) {
    this.#pool = openPostgresPool({
      connectionString: url,
      max: CONNECTIONS_MAX,
      connectionTimeoutMillis: CONNECT_WAIT_MS,
      query_timeout: answerWaitMs,
      lock_timeout: LOCK_WAIT_MS,
      idleTimeoutMillis: 0,
    })
  }

  /**
   * Answers questions of different keys, each as if nobody else asked meanwhile, in one statement that is a transaction of
   * its own. Gives no answer for a key that has no windows yet. The time is the database's, the one clock that all processes
   * share, unless a test gives its own.
   */
  async take(questions: readonly LimitQuestion[], now: number | undefined): Promise<LimitAnswer[]> {
    // Prepared once for each connection: planning it anew takes ten times as long as carrying it out.
    const statement = { name: 'take from limits', text: TAKE, values: [JSON.stringify(questions.map(toAsked)), now] }
    const { rows } = await fromDriver(() => this.#pool.query<AnswerRow>(statement))
    return rows.map(toAnswer)
  }

  /** Makes the windows of keys for which `take` gave no answer. */
  async open(keys: readonly LimitKey[]): Promise<void> {
    const rows = keys.map(({ workspaceId, operation }) => ({ workspace_id: workspaceId, operation }))
    await fromDriver(() => this.#pool.query(OPEN, [JSON.stringify(rows)]))
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }
}

/** All processes insert in the same order, so that no two wait for each other. */
const OPEN = `
  insert into limit_windows (workspace_id, operation, minute_starts_at, minute_used, day_starts_at, day_used)
  select workspace_id, operation, 0, 0, 0, 0
  from json_to_recordset($1) as fresh (workspace_id text, operation text)
  order by workspace_id collate "C", operation collate "C"
  on conflict do nothing`

/**
 * Rows are always locked in the same order, so that no two statements wait for each other. The commit does not wait for the
 * disk: a crash of the database may undo what was used in its last second, but no request waits for one more write.
 */
const TAKE = `
  with locked as (
    select asked.*, minute_starts_at, minute_used, day_starts_at, day_used
    from json_to_recordset($1) as asked
      (workspace_id text, operation text, minute_limit bigint, day_limit bigint, units bigint, refused bigint)
    join limit_windows as windows on windows.workspace_id = asked.workspace_id and windows.operation = asked.operation
    order by windows.workspace_id, windows.operation
    for update of windows
  ),
  clock as (
    select coalesce($2::bigint, floor(extract(epoch from clock_timestamp()) * 1000)::bigint) as now
  ),
  running as (
    select workspace_id, operation, minute_limit, day_limit, units, refused, now,
      ${startOf('minute_starts_at', MINUTE_MS)} as minute_starts_at,
      ${usedOf('minute_used', 'minute_starts_at', MINUTE_MS)} as minute_used,
      ${startOf('day_starts_at', DAY_MS)} as day_starts_at,
      ${usedOf('day_used', 'day_starts_at', DAY_MS)} as day_used
    from locked cross join clock
  ),
  counted as (
    -- Refused requests never fill more than a window holds, nor empty one whose limit was lowered.
    select workspace_id, operation, minute_limit, day_limit, units, refused, now, minute_starts_at, day_starts_at,
      greatest(minute_used, least(minute_limit, minute_used + refused)) as minute_used,
      greatest(day_used, least(day_limit, day_used + refused)) as day_used
    from running
  ),
  decided as (
    select *,
      coalesce(minute_used + units <= minute_limit, true) and coalesce(day_used + units <= day_limit, true) as is_taken
    from counted
  ),
  changed as (
    update limit_windows as windows set
      minute_starts_at = decided.minute_starts_at,
      minute_used = decided.minute_used + case when is_taken then units else 0 end,
      day_starts_at = decided.day_starts_at,
      day_used = decided.day_used + case when is_taken then units else 0 end
    from decided
    where windows.workspace_id = decided.workspace_id and windows.operation = decided.operation
      and (refused > 0 or (is_taken and units > 0))
  )
  select workspace_id, operation, minute_starts_at, minute_used, day_starts_at, day_used, is_taken, now,
    set_config('synchronous_commit', 'off', true)
  from decided`

interface AnswerRow extends LimitWindowRow {
  is_taken: boolean
  now: number
}

function isRunning(startsAt: string, lengthMs: number): string {
  return `${startsAt} > now - ${lengthMs} and ${startsAt} <= now + ${CLOCK_BEHIND_MS_MAX}`
}

/** Windows are aligned to the UTC minute and day. */
function startOf(startsAt: string, lengthMs: number): string {
  return `case when ${isRunning(startsAt, lengthMs)} then ${startsAt} else now - now % ${lengthMs} end`
}

function usedOf(used: string, startsAt: string, lengthMs: number): string {
  return `case when ${isRunning(startsAt, lengthMs)} then ${used} else 0 end`
}

function toAsked(question: LimitQuestion) {
  return {
    workspace_id: question.workspaceId,
    operation: question.operation,
    minute_limit: question.minuteLimit,
    day_limit: question.dayLimit,
    units: question.units,
    refused: question.refused,
  }
}

function toAnswer(row: AnswerRow): LimitAnswer {
  return { ...toUsedWindows(row), isTaken: row.is_taken, now: row.now }
}

function toUsedWindows(row: LimitWindowRow): UsedWindows {
  return {
    workspaceId: row.workspace_id,
    operation: row.operation,
    minute: { startsAt: row.minute_starts_at, used: row.minute_used },
    day: { startsAt: row.day_starts_at, used: row.day_used },
  }
}

function toRow({ workspaceId, operation, minute, day }: UsedWindows): LimitWindowRow {
  return {
    workspace_id: workspaceId,
    operation,
    minute_starts_at: minute.startsAt,
    minute_used: minute.used,
    day_starts_at: day.startsAt,
    day_used: day.used,
  }
}
