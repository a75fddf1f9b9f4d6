// The table of limit windows: the used units of each rate limit ("Rate limits"). One row for each workspace and operation, which
// starts again with each minute and day, so that nothing has to be deleted. Processes over one PostgreSQL share their limits: class
// LimitWindows takes units there, with connections of its own. An embedded server counts in memory, and loads and saves windows
// here.
import type { Pool } from 'pg'
import { insertRows } from '../insert-rows.ts'
import { fromDriver, openPostgresPool } from '../postgres/postgres-pool.ts'
import type { BulkColumns, SqlTypes, Store } from '../store.ts'
import { DAY_MS } from '../../core/time-zone.ts'

/** One statement runs at a time. If it hangs until its caller gives up, the other connection takes over. */
const CONNECTIONS_MAX = 2
const CONNECT_WAIT_MS = 2_000
/** The timeout of a statement, which takes less than a millisecond. */
const ANSWER_WAIT_MS = 3_000
/** A lock on a row lasts for one statement. */
const LOCK_WAIT_MS = 2_500
const MINUTE_MS = 60_000
/** A time up to this far before a window's start counts in that window; an earlier one means that the clock was set back. */
export const CLOCK_BEHIND_MS_MAX = 10 * MINUTE_MS

/** The start of both windows, and the units used since. */
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

/** The units that requests of one process want together. */
export interface LimitQuestion extends LimitKey {
  /** Null if the operation has no limit of this length. */
  readonly minuteLimit: number | null
  readonly dayLimit: number | null
  /** Units to take from both windows: all or none. */
  readonly units: number
  /** Requests already refused: each uses one unit of every window that has one left. */
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

/** The windows with the refused requests counted, but before the units were taken. */
export interface LimitAnswer extends UsedWindows {
  readonly isTaken: boolean
  /** The time of the statement: milliseconds since the epoch. */
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

/** All saved windows, ended ones included: at most one for each workspace and operation. */
export async function listLimitWindows({ query }: Store): Promise<UsedWindows[]> {
  const rows = await query.selectFrom('limit_windows').selectAll().execute()
  return rows.map(toUsedWindows)
}

/** Inserts or replaces windows. Each key may occur only once. */
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
 * Takes units from the windows in PostgreSQL. A statement that fails or times out rejects with AppError `unavailable` or
 * StoreError; PostgreSQL may still have executed it.
 */
export class LimitWindows {
  readonly #pool: Pool

  /** Connects with the first statement. */
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
   * Takes units for several different keys with one statement, which is a transaction of its own. Returns no answer for a key
   * without windows. Uses the clock of the database, which all processes share, unless a test passes `now`.
   */
  async take(questions: readonly LimitQuestion[], now: number | undefined): Promise<LimitAnswer[]> {
    // Prepared once for each connection: planning takes ten times as long as execution.
    const statement = { name: 'take from limits', text: TAKE, values: [JSON.stringify(questions.map(toAsked)), now] }
    const { rows } = await fromDriver(() => this.#pool.query<AnswerRow>(statement))
    return rows.map(toAnswer)
  }

  /** Inserts the windows of keys for which `take` returned no answer. */
  async open(keys: readonly LimitKey[]): Promise<void> {
    const rows = keys.map(({ workspaceId, operation }) => ({ workspace_id: workspaceId, operation }))
    await fromDriver(() => this.#pool.query(OPEN, [JSON.stringify(rows)]))
  }

  /** The windows of a workspace, ended ones included. */
  async listOf(workspaceId: string): Promise<UsedWindows[]> {
    const { rows } = await fromDriver(() => this.#pool.query<LimitWindowRow>(LIST, [workspaceId]))
    return rows.map(toUsedWindows)
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }
}

/** All processes insert in the same order, so that no two deadlock. */
const OPEN = `
  insert into limit_windows (workspace_id, operation, minute_starts_at, minute_used, day_starts_at, day_used)
  select workspace_id, operation, 0, 0, 0, 0
  from json_to_recordset($1) as fresh (workspace_id text, operation text)
  order by workspace_id collate "C", operation collate "C"
  on conflict do nothing`

/**
 * Always locks rows in the same order, so that no two statements deadlock. The commit does not wait for the disk: a crash of the
 * database may give back the units of its last second, but no request waits for one more write.
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

const LIST = 'select * from limit_windows where workspace_id = $1'

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
