// The table of revisions: one number for each campaign that grows whenever its statistics change. A cache compares it to see
// whether its content is still valid (`docs/decisions/0018`).
import { randomInt } from 'node:crypto'
import { sql } from 'kysely'
import { campaignsOf } from '../campaigns/campaigns.ts'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'

interface StatisticsRevisionRow {
  /** The number of the campaign; if it has no row, nothing has been counted for it. */
  campaign: number
  /** Grows with every transaction that changes cells of the campaign, by at most `STEP_MAX`. */
  revision: number
}

declare module '../tables.ts' {
  interface Tables {
    statistics_revisions: StatisticsRevisionRow
  }
}

/**
 * A revision grows by a random step: a standby that takes over may lack the last changes, and its own changes must not reach a
 * revision under which a process has cached an answer with the lost ones. Small enough for billions of changes.
 */
const STEP_MAX = 2 ** 20

export async function createStatisticsRevisions({ query }: Store, { integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('statistics_revisions')
    .addColumn('campaign', integer, (column) => column.primaryKey())
    .addColumn('revision', integer, (column) => column.notNull())
    .execute()
}

/**
 * Records that cells of the campaigns have changed, in the transaction that changes them. Locks rows in the order of the campaigns'
 * numbers, so that no two transactions deadlock.
 */
export async function raiseRevisions(store: Store, campaigns: ReadonlySet<number>): Promise<void> {
  if (campaigns.size === 0) return
  const step = randomInt(1, STEP_MAX)
  const rows = [...campaigns].toSorted((left, right) => left - right).map((campaign) => ({ campaign, revision: step }))
  await insertRows(store, 'statistics_revisions', { columns: { campaign: 'integer', revision: 'integer' }, rows })
    .onConflict((conflict) =>
      conflict.column('campaign').doUpdateSet((row) => ({
        revision: row('statistics_revisions.revision', '+', row.ref('excluded.revision')),
      })),
    )
    .execute()
}

/** Campaign → its revision, for the few campaigns of a page; campaigns without counts are left out. */
export async function findCampaignRevisions(
  { query }: Store,
  campaigns: readonly number[],
): Promise<Map<number, number>> {
  if (campaigns.length === 0) return new Map()
  const rows = await query.selectFrom('statistics_revisions').selectAll().where('campaign', 'in', campaigns).execute()
  return new Map(rows.map(({ campaign, revision }) => [campaign, revision]))
}

/** The sum over all campaigns of a workspace, which grows whenever one of them changes. */
export async function sumRevisionsOf(store: Store, workspaceId: string): Promise<number> {
  const { sum } = await store.query
    .selectFrom('statistics_revisions')
    .select(sql<number>`cast(coalesce(sum(revision), 0) as bigint)`.as('sum'))
    .where('campaign', 'in', campaignsOf(store, workspaceId).select('campaigns.number'))
    .executeTakeFirstOrThrow()
  return sum
}
