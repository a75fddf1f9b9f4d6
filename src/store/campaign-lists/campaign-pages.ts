// Reads pages of campaigns: current or archived ones, those in some states, and those with a text in their names.
import { sql, type RawBuilder } from 'kysely'
import type { CampaignState } from '../../core/delivery/delivery-changes.ts'
import { deliveriesIn, deliveryRowsOf } from './delivery-states.ts'
import { containsText } from '../like-pattern.ts'
import type { Store } from '../store.ts'
import { campaignsOf, toCampaign, type StoredCampaign } from '../campaigns/campaigns.ts'

export interface CampaignsPage {
  /** Whether to list only campaigns that are not archived, only archived ones, or both. */
  readonly archived: boolean | 'all'
  /** Only campaigns whose names contain this text, in any case of ASCII letters. */
  readonly search?: string | undefined
  /** Only campaigns in one of these states. */
  readonly states?: readonly CampaignState[] | undefined
  /** A campaign's number: the page has only older campaigns. */
  readonly before: number | undefined
  readonly max: number
}

/** A page of a workspace's campaigns, newest first. */
export async function listCampaignsOf(
  store: Store,
  workspaceId: string,
  { archived, search, states, before, max }: CampaignsPage,
): Promise<StoredCampaign[]> {
  let campaigns = campaignsOf(store, workspaceId).orderBy('number', 'desc')
  if (archived !== 'all') campaigns = campaigns.where('archived_at', archived ? 'is not' : 'is', null)
  if (before !== undefined) campaigns = campaigns.where('number', '<', before)
  if (states) campaigns = campaigns.where(isIn(store, workspaceId, states))
  if (search !== undefined) {
    // An index has the names (`campaigns_searched`): only what is found is read, not the goals of all others.
    const found = campaigns.select('number').where(containsText('campaigns.name', search)).limit(max)
    campaigns = campaignsOf(store, workspaceId).where('number', 'in', found).orderBy('number', 'desc')
  }
  return (await campaigns.selectAll().limit(max).execute()).map(toCampaign)
}

/** Whether a campaign is in one of these states. */
function isIn(store: Store, workspaceId: string, states: readonly CampaignState[]): RawBuilder<boolean> {
  const shown = states.filter((state) => state !== 'none')
  const number = sql.ref('campaigns.number')
  const ways = shown.length === 0 ? [] : [sql`${number} in ${deliveriesIn(store, workspaceId, shown)}`]
  if (shown.length < states.length) ways.push(sql`${number} not in ${deliveryRowsOf(store, workspaceId)}`)
  return sql<boolean>`(${sql.join(ways, sql` or `)})`
}
