// The table of runs: one sending of a campaign to an audience that was frozen at one instant.
import { sql, type Selectable } from 'kysely'
import type { RunContent } from '../../core/delivery/run-content.ts'
import { parseJsonText } from '../../core/json/parse-json.ts'
import type { SegmentCondition } from '../../core/segments/condition.ts'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'

interface RunRow {
  number: number
  /** `campaigns.number`. */
  campaign: number
  workspace_id: string
  /** `senders.number`. */
  sender: number
  /** A `RunPhase`. */
  phase: string
  evaluated_at: number
  started_at: number
  finished_at: number | null
  /** The id of the newest user when the audience was decided: later ones are not in it. */
  last_user: number
  /** The id of the last user that the freeze has looked at. */
  frozen_through: number
  /** The number of the last message whose membership is in the log. */
  told_through: number
  without_address: number
  /** 1 if its messages count towards the frequency caps. */
  is_capped: number
  /** JSON of `RunContent`. */
  content: string
  /** JSON of `SegmentCondition`: who is in the audience, as the segments were when the run began. */
  condition: string
}

interface RunLinkRow {
  run: number
  /** 1, 2, … over all templates of the run. */
  number: number
  /** The target; Liquid if it differs between people. */
  url: string
}

declare module '../tables.ts' {
  interface Tables {
    runs: RunRow
    run_links: RunLinkRow
  }
}

/**
 * What a run does: freezes its audience slice by slice, looks for duplicates among the addresses, tells the log of all memberships, and
 * sends. It ends `finished`; a cancelled one does too, after its rest was removed.
 */
export const RUN_PHASES = ['freezing', 'comparing', 'telling', 'sending', 'finished'] as const
export type RunPhase = (typeof RUN_PHASES)[number]

export interface Run {
  readonly number: number
  readonly campaign: number
  readonly workspaceId: string
  readonly sender: number
  readonly phase: RunPhase
  readonly evaluatedAt: number
  readonly startedAt: number
  readonly finishedAt: number | null
  readonly lastUser: number
  readonly frozenThrough: number
  readonly toldThrough: number
  readonly withoutAddress: number
  readonly isCapped: boolean
  readonly content: RunContent
}

export async function createRuns({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('runs')
    .addColumn('number', integer, (column) => column.primaryKey())
    .addColumn('campaign', integer, (column) => column.notNull())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('sender', integer, (column) => column.notNull())
    .addColumn('phase', text, (column) => column.notNull())
    .addColumn('evaluated_at', integer, (column) => column.notNull())
    .addColumn('started_at', integer, (column) => column.notNull())
    .addColumn('finished_at', integer)
    .addColumn('last_user', integer, (column) => column.notNull())
    .addColumn('frozen_through', integer, (column) => column.notNull())
    .addColumn('told_through', integer, (column) => column.notNull())
    .addColumn('without_address', integer, (column) => column.notNull())
    .addColumn('is_capped', integer, (column) => column.notNull())
    .addColumn('content', text, (column) => column.notNull())
    .addColumn('condition', text, (column) => column.notNull())
    .execute()
  await query.schema.createIndex('runs_by_campaign').on('runs').columns(['campaign', 'number']).execute()
  await query.schema.createIndex('runs_by_sender').on('runs').columns(['sender', 'phase']).execute()
  await query.schema
    .createTable('run_links')
    .addColumn('run', integer, (column) => column.notNull())
    .addColumn('number', integer, (column) => column.notNull())
    .addColumn('url', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('run_links_key', ['run', 'number'])
    .modifyEnd(clustered)
    .execute()
}

/** A run that begins now. */
export interface NewRun extends Pick<
  Run,
  'campaign' | 'workspaceId' | 'sender' | 'evaluatedAt' | 'startedAt' | 'lastUser' | 'isCapped' | 'content'
> {
  /** Who is in the audience. Names no segments (`resolveCondition`). */
  readonly condition: SegmentCondition
}

/** Adds a run, with the targets of its links from number 1 on. Returns its number. Call it in a transaction. */
export async function startRun(store: Store, run: NewRun, links: readonly string[]): Promise<number> {
  await store.lock('runs')
  const { last } = await store.query
    .selectFrom('runs')
    .select(({ fn }) => fn.max('number').as('last'))
    .executeTakeFirstOrThrow()
  const number = (last ?? 0) + 1
  const row: RunRow = {
    number,
    campaign: run.campaign,
    workspace_id: run.workspaceId,
    sender: run.sender,
    phase: 'freezing',
    evaluated_at: run.evaluatedAt,
    started_at: run.startedAt,
    finished_at: null,
    last_user: run.lastUser,
    frozen_through: 0,
    told_through: 0,
    without_address: 0,
    is_capped: run.isCapped ? 1 : 0,
    content: JSON.stringify(run.content),
    condition: JSON.stringify(run.condition),
  }
  await store.query.insertInto('runs').values(row).execute()
  const columns = { run: 'integer', number: 'integer', url: 'text' } as const
  const rows = links.map((url, index) => ({ run: number, number: index + 1, url }))
  if (rows.length > 0) await insertRows(store, 'run_links', { columns, rows }).execute()
  return number
}

/** The rows of runs, for queries that join other tables to them. */
export function runRows({ query }: Store) {
  return query.selectFrom('runs as run')
}

export async function findRun({ query }: Store, number: number): Promise<Run | undefined> {
  const row = await query.selectFrom('runs').select(RUN_COLUMNS).where('number', '=', number).executeTakeFirst()
  return row && toRun(row)
}

/** Who is in the audience of a run: the condition that it began with. */
export async function findRunCondition({ query }: Store, run: number): Promise<SegmentCondition> {
  const found = query.selectFrom('runs').select('condition').where('number', '=', run)
  return parseJsonText((await found.executeTakeFirstOrThrow()).condition) as SegmentCondition
}

/** The run of a campaign; undefined if it has not begun. */
export async function findRunOf({ query }: Store, campaign: number): Promise<Run | undefined> {
  const row = await query.selectFrom('runs').select(RUN_COLUMNS).where('campaign', '=', campaign).executeTakeFirst()
  return row && toRun(row)
}

/** The runs of a sender that are not over, oldest first. */
export async function listOpenRuns({ query }: Store, sender: number): Promise<Run[]> {
  const rows = query
    .selectFrom('runs')
    .select(RUN_COLUMNS)
    .where('sender', '=', sender)
    .where('phase', '!=', 'finished')
  return (await rows.orderBy('number').execute()).map(toRun)
}

/** The targets of a run's links, in the order of their numbers, which begin with 1. */
export async function listRunLinks({ query }: Store, run: number): Promise<string[]> {
  const rows = await query.selectFrom('run_links').select('url').where('run', '=', run).orderBy('number').execute()
  return rows.map(({ url }) => url)
}

/** What a slice of the freeze found. */
export interface FrozenSlice {
  readonly through: number
  readonly withoutAddress: number
}

/** Records a slice of the freeze. Call it in the transaction that adds its messages. */
export async function saveFrozenSlice({ query }: Store, run: number, slice: FrozenSlice): Promise<void> {
  await query
    .updateTable('runs')
    .set({
      frozen_through: slice.through,
      without_address: sql`without_address + ${slice.withoutAddress}`,
    })
    .where('number', '=', run)
    .execute()
}

export async function saveToldThrough({ query }: Store, run: number, through: number): Promise<void> {
  await query.updateTable('runs').set({ told_through: through }).where('number', '=', run).execute()
}

/** The run goes on with a phase; one that was finished is so no longer. */
export async function beginPhase({ query }: Store, run: number, phase: Exclude<RunPhase, 'finished'>): Promise<void> {
  await query.updateTable('runs').set({ phase, finished_at: null }).where('number', '=', run).execute()
}

export async function endRun({ query }: Store, run: number, now: number): Promise<void> {
  await query.updateTable('runs').set({ phase: 'finished', finished_at: now }).where('number', '=', run).execute()
}

/** Without the condition, which only the freeze needs. */
const RUN_COLUMNS = [
  'number',
  'campaign',
  'workspace_id',
  'sender',
  'phase',
  'evaluated_at',
  'started_at',
  'finished_at',
  'last_user',
  'frozen_through',
  'told_through',
  'without_address',
  'is_capped',
  'content',
] as const

function toRun(row: Pick<Selectable<RunRow>, (typeof RUN_COLUMNS)[number]>): Run {
  return {
    number: row.number,
    campaign: row.campaign,
    workspaceId: row.workspace_id,
    sender: row.sender,
    phase: row.phase as RunPhase,
    evaluatedAt: row.evaluated_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    lastUser: row.last_user,
    frozenThrough: row.frozen_through,
    toldThrough: row.told_through,
    withoutAddress: row.without_address,
    isCapped: row.is_capped === 1,
    content: JSON.parse(row.content) as RunContent,
  }
}
