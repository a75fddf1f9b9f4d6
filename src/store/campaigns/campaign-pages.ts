// Reads pages of campaigns, current or archived.
import { campaignsOf, toCampaign, type StoredCampaign } from './campaigns.ts'
import type { Store } from '../store.ts'

export interface CampaignsPage {
  /** Whether to list only campaigns that are not archived, only archived ones, or both. */
  readonly archived: boolean | 'all'
  /** A campaign's number: the page has only older campaigns. */
  readonly before: number | undefined
  readonly max: number
}

/** A page of a workspace's campaigns, newest first. */
export async function listCampaignsOf(
  store: Store,
  workspaceId: string,
  { archived, before, max }: CampaignsPage,
): Promise<StoredCampaign[]> {
  const all = campaignsOf(store, workspaceId).selectAll()
  const wanted = archived === 'all' ? all : all.where('archived_at', archived ? 'is not' : 'is', null)
  const older = before === undefined ? wanted : wanted.where('number', '<', before)
  return (await older.orderBy('number', 'desc').limit(max).execute()).map(toCampaign)
}
