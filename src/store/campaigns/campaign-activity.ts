// The table of campaign activity: one row per customer, campaign and week with an audience membership or a touch. It finds the
// campaigns that compete for a conversion. Most facts find the row of their week already there.
import type { CustomerCampaign, CustomerPeriod } from '../../core/campaigns/facts.ts'
import { DAY_MS } from '../../core/time-zone.ts'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'

interface CampaignActivityRow {
  /** `user_identities.number` of the customer id. */
  customer: number
  /** Seven days, counted from 1970-01-01 in UTC, as `weekOf` says. */
  week: number
  /** `campaigns.number`. */
  campaign: number
}

declare module '../tables.ts' {
  interface Tables {
    campaign_activity: CampaignActivityRow
  }
}

/** Never change it: stored weeks depend on it. */
export const WEEK_MS = 7 * DAY_MS

const COLUMNS = { customer: 'integer', week: 'integer', campaign: 'integer' } as const
const KEY = ['customer', 'week', 'campaign'] as const

export async function createCampaignActivity({ query }: Store, { integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('campaign_activity')
    .addColumn('customer', integer, (column) => column.notNull())
    .addColumn('week', integer, (column) => column.notNull())
    .addColumn('campaign', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('campaign_activity_key', [...KEY])
    .modifyEnd(clustered)
    .execute()
}

/** The week of an instant. */
export function weekOf(instant: number): number {
  return Math.trunc(instant / WEEK_MS)
}

/** An instant at which a customer was in the audience of a campaign or had a touch. */
export interface CampaignInstant extends CustomerCampaign {
  /** Milliseconds since the epoch. */
  readonly instant: number
}

/** Adds the weeks of these instants. */
export async function addCampaignActivity(store: Store, instants: readonly CampaignInstant[]): Promise<void> {
  const rows = new Map<string, CampaignActivityRow>()
  for (const { customer, campaign, instant } of instants) {
    const week = weekOf(instant)
    rows.set(`${customer} ${week} ${campaign}`, { customer, week, campaign })
  }
  if (rows.size === 0) return
  // Other transactions may add the same rows. One order for all prevents deadlocks.
  await insertRows(store, 'campaign_activity', { columns: COLUMNS, rows: [...rows.values()], orderBy: KEY })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Deletes all weeks of customers. */
export async function removeActivityOf(store: Store, customers: readonly number[]): Promise<void> {
  if (customers.length === 0) return
  const wanted = store.query.selectFrom(wantedValues(store, 'customer', 'integer', customers))
  await store.query.deleteFrom('campaign_activity').where('customer', 'in', wanted.select('wanted.customer')).execute()
}

/** One customer and one campaign between two instants, both inclusive. */
export type CampaignPeriod = CustomerPeriod & CustomerCampaign

/**
 * At most `max` campaigns that were active with customers in given periods, each with its period. Weeks are coarse: a result may
 * have been active only up to a week before or after its period.
 */
export async function listCampaignsOfPeriods(
  store: Store,
  periods: readonly CustomerPeriod[],
  max = Number.MAX_SAFE_INTEGER,
): Promise<CampaignPeriod[]> {
  if (periods.length === 0) return []
  const inWeeks = periods.map((period) => ({ ...period, first: weekOf(period.from), last: weekOf(period.until) }))
  const columns = { customer: 'integer', from: 'integer', until: 'integer', first: 'integer', last: 'integer' } as const
  return store.query
    .selectFrom(store.rowsOf('period', columns, inWeeks))
    .innerJoin('campaign_activity as activity', (join) =>
      join
        .onRef('activity.customer', '=', 'period.customer')
        .onRef('activity.week', '>=', 'period.first')
        .onRef('activity.week', '<=', 'period.last'),
    )
    .select(['activity.customer', 'activity.campaign', 'period.from', 'period.until'])
    .distinct()
    .limit(max)
    .execute()
}
