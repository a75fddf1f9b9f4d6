// The table of recounts, one row for each campaign whose numbers somebody had checked: the last one, or the one that waits or runs. A
// process claims it for a while, and goes on claiming it while it counts, so that another one begins again if it dies.
import type { Selectable } from 'kysely'
import type { SqlTypes, Store } from '../store.ts'

interface RecountRow {
  campaign: number
  workspace_id: string
  requested_at: number
  requested_by: string
  /** When the last process began it. */
  started_at: number | null
  /** Until when a process has it; 0 while it waits, and when it is over. */
  claimed_until: number
  finished_at: number | null
  counted_users: number
  all_users: number
  compared_cells: number
  differing_cells: number
  /** The first ones, as JSON. */
  differences: string
  /** Why it failed. */
  problem: string | null
}

declare module '../tables.ts' {
  interface Tables {
    recounts: RecountRow
  }
}

/** What is stored and what the facts say of one number: of users, and of occurrences. */
export interface RecountDifference {
  readonly metric: string
  readonly group: string
  /** Empty for all, as `locale` and `variation`. */
  readonly platform: string
  readonly locale: string
  readonly variation: string
  readonly day: number
  readonly stored: { readonly users: number; readonly occurrences: number }
  readonly counted: { readonly users: number; readonly occurrences: number }
}

export interface RecountResult {
  readonly comparedCells: number
  readonly differingCells: number
  readonly differences: readonly RecountDifference[]
}

export interface Recount extends RecountResult {
  readonly campaign: number
  readonly workspaceId: string
  readonly requestedAt: number
  readonly requestedBy: string
  readonly startedAt: number | null
  readonly claimedUntil: number
  readonly finishedAt: number | null
  readonly countedUsers: number
  readonly allUsers: number
  readonly problem: string | null
}

/** A recount as the process that claimed it knows it. */
export type RecountClaim = Pick<Recount, 'campaign' | 'workspaceId'> & { readonly startedAt: number }

/** How long a process has a recount after it last said how far it is. */
const CLAIM_MS = 20_000

export async function createRecounts({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('recounts')
    .addColumn('campaign', integer, (column) => column.primaryKey())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('requested_at', integer, (column) => column.notNull())
    .addColumn('requested_by', text, (column) => column.notNull())
    .addColumn('started_at', integer)
    .addColumn('claimed_until', integer, (column) => column.notNull())
    .addColumn('finished_at', integer)
    .addColumn('counted_users', integer, (column) => column.notNull())
    .addColumn('all_users', integer, (column) => column.notNull())
    .addColumn('compared_cells', integer, (column) => column.notNull())
    .addColumn('differing_cells', integer, (column) => column.notNull())
    .addColumn('differences', text, (column) => column.notNull())
    .addColumn('problem', text)
    .execute()
  await query.schema
    .createIndex('recounts_unfinished')
    .on('recounts')
    .columns(['finished_at', 'requested_at'])
    .execute()
}

/** Undefined if the numbers of the campaign were never checked. */
export async function findRecount({ query }: Store, campaign: number): Promise<Recount | undefined> {
  const rows = query.selectFrom('recounts').selectAll().where('campaign', '=', campaign)
  const row = await rows.executeTakeFirst()
  return row && toRecount(row)
}

/** Replaces the last recount of the campaign by one that waits. Changes nothing while one waits or runs. */
export async function requestRecount(
  { query }: Store,
  { campaign, workspaceId, at, by }: { campaign: number; workspaceId: string; at: number; by: string },
): Promise<void> {
  const fresh = {
    workspace_id: workspaceId,
    requested_at: at,
    requested_by: by,
    started_at: null,
    finished_at: null,
    ...NOTHING_COUNTED,
  }
  await query
    .insertInto('recounts')
    .values({ campaign, ...fresh })
    .onConflict((conflict) => {
      return conflict.column('campaign').doUpdateSet(fresh).where('recounts.finished_at', 'is not', null)
    })
    .execute()
}

const NOTHING_COUNTED = {
  claimed_until: 0,
  counted_users: 0,
  all_users: 0,
  compared_cells: 0,
  differing_cells: 0,
  differences: '[]',
  problem: null,
} as const

/** The recount that waits longest, or whose process has died; undefined if there is none. */
export async function findWaitingRecount(
  { query }: Store,
  now: number,
): Promise<Pick<Recount, 'campaign' | 'workspaceId'> | undefined> {
  const waiting = query
    .selectFrom('recounts')
    .select(['campaign', 'workspace_id'])
    .where('finished_at', 'is', null)
    .where('claimed_until', '<', now)
  const row = await waiting.orderBy('requested_at').orderBy('campaign').limit(1).executeTakeFirst()
  return row && { campaign: row.campaign, workspaceId: row.workspace_id }
}

/** Undefined if another process was faster. */
export async function claimRecount(
  { query }: Store,
  { campaign, workspaceId }: Pick<Recount, 'campaign' | 'workspaceId'>,
  now: number,
): Promise<RecountClaim | undefined> {
  const { numUpdatedRows } = await query
    .updateTable('recounts')
    .set({ started_at: now, claimed_until: now + CLAIM_MS, counted_users: 0, all_users: 0 })
    .where('campaign', '=', campaign)
    .where('finished_at', 'is', null)
    .where('claimed_until', '<', now)
    .executeTakeFirst()
  return numUpdatedRows === 1n ? { campaign, workspaceId, startedAt: now } : undefined
}

/** Says how far a claimed recount is, and claims it on. False if it is not this process's any more. */
export async function saveRecountProgress(
  store: Store,
  claim: RecountClaim,
  { countedUsers, allUsers, now }: { countedUsers: number; allUsers: number; now: number },
): Promise<boolean> {
  const progress = { counted_users: countedUsers, all_users: allUsers, claimed_until: now + CLAIM_MS }
  return changeClaimed(store, claim, progress)
}

/** Gives a claimed recount back: another process, or this one after its next start, begins it again. */
export async function releaseRecount(store: Store, claim: RecountClaim): Promise<void> {
  await changeClaimed(store, claim, { claimed_until: 0 })
}

export async function finishRecount(
  store: Store,
  claim: RecountClaim,
  { users, now, ...result }: RecountResult & { readonly users: number; readonly now: number },
): Promise<void> {
  await changeClaimed(store, claim, {
    finished_at: now,
    claimed_until: 0,
    counted_users: users,
    all_users: users,
    compared_cells: result.comparedCells,
    differing_cells: result.differingCells,
    differences: JSON.stringify(result.differences),
  })
}

export async function failRecount(store: Store, claim: RecountClaim, problem: string, now: number): Promise<void> {
  await changeClaimed(store, claim, { finished_at: now, claimed_until: 0, problem })
}

/** With its campaign. */
export async function removeRecount({ query }: Store, campaign: number): Promise<void> {
  await query.deleteFrom('recounts').where('campaign', '=', campaign).execute()
}

async function changeClaimed(
  { query }: Store,
  { campaign, startedAt }: RecountClaim,
  change: Partial<RecountRow>,
): Promise<boolean> {
  const claimed = query.updateTable('recounts').set(change).where('campaign', '=', campaign)
  const own = claimed.where('started_at', '=', startedAt).where('finished_at', 'is', null)
  return (await own.executeTakeFirst()).numUpdatedRows === 1n
}

function toRecount(row: Selectable<RecountRow>): Recount {
  return {
    campaign: row.campaign,
    workspaceId: row.workspace_id,
    requestedAt: row.requested_at,
    requestedBy: row.requested_by,
    startedAt: row.started_at,
    claimedUntil: row.claimed_until,
    finishedAt: row.finished_at,
    countedUsers: row.counted_users,
    allUsers: row.all_users,
    comparedCells: row.compared_cells,
    differingCells: row.differing_cells,
    differences: JSON.parse(row.differences) as RecountDifference[],
    problem: row.problem,
  }
}
