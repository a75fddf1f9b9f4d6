// The table of revisions: how often the numbers of each campaign have changed. Whoever keeps what follows from them sees in
// one look whether it still holds (`docs/decisions/0018`).
import { randomInt } from 'node:crypto'
import { insertRows } from './insert-rows.ts'
import type { SqlTypes, Store } from './store.ts'

interface StatisticsRevisionRow {
  /** The number of the campaign; without a row nothing has been counted for it. */
  campaign: number
  /** Grows with every transaction that changes cells of the campaign, by `STEP_MAX` at the most. */
  revision: number
}

declare module './tables.ts' {
  interface Tables {
    statistics_revisions: StatisticsRevisionRow
  }
}

/**
 * By how much is chance: a standby that takes over may lack the last changes, and what is counted there instead must not come to
 * the revision under which a process keeps an answer made of those. Small enough for billions of changes.
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
 * Says that cells of the campaigns have changed, in the transaction that changes them. In the order of their numbers, so that
 * two transactions do not wait for each other in a circle.
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

/** Campaign → its revision, of the few campaigns of a page; those without any number are not there. */
export async function findRevisions({ query }: Store, campaigns: readonly number[]): Promise<Map<number, number>> {
  if (campaigns.length === 0) return new Map()
  const rows = await query.selectFrom('statistics_revisions').selectAll().where('campaign', 'in', campaigns).execute()
  return new Map(rows.map(({ campaign, revision }) => [campaign, revision]))
}
