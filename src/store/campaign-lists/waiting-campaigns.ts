// Finds the campaigns of a workspace that go on only when somebody does something.
import type { ShownState } from '../../core/delivery/delivery-changes.ts'
import { campaignsOf } from '../campaigns/campaigns.ts'
import { deliveryRows } from '../delivery/deliveries.ts'
import { messageRows } from '../delivery/messages.ts'
import { runRows } from '../delivery/runs.ts'
import type { Store } from '../store.ts'
import { deliveriesIn } from './delivery-states.ts'

const HALTED_STATES = ['overdue', 'paused', 'waiting'] as const satisfies readonly ShownState[]
/** The states in which a campaign can have messages. */
const BEGUN_STATES = ['running', 'finished', 'cancelled']

/** The numbers of the campaigns that are overdue, paused or waiting, newest first. */
export async function listHaltedCampaigns(store: Store, workspaceId: string, max: number): Promise<number[]> {
  const halted = deliveriesIn(store, workspaceId, HALTED_STATES).orderBy('delivery.campaign', 'desc').limit(max)
  return (await halted.execute()).map(({ campaign }) => campaign)
}

export interface DoubtfulCampaign {
  readonly campaign: number
  readonly messages: number
}

/** Those of the newest `max` campaigns that have messages in doubt, newest first. */
export async function listDoubtfulCampaigns(
  store: Store,
  workspaceId: string,
  max: number,
): Promise<DoubtfulCampaign[]> {
  const begun = deliveryRows(store)
    .select('delivery.campaign')
    .where('delivery.workspace_id', '=', workspaceId)
    .where('delivery.state', 'in', BEGUN_STATES)
    .orderBy('delivery.campaign', 'desc')
    .limit(max)
  const runs = runRows(store)
    .select('run.number')
    .where('run.campaign', 'in', store.query.selectFrom(begun.as('begun')).select('begun.campaign'))
  const doubtful = messageRows(store)
    .select((message) => ['message.run', message.fn.countAll<number>().as('messages')])
    .where('message.run', 'in', runs)
    .where('message.state', '=', 'in_doubt')
    .groupBy('message.run')
  const counts = await doubtful.execute()
  if (counts.length === 0) return []
  const campaigns = await runRows(store)
    .select(['run.number', 'run.campaign'])
    .where(
      'run.number',
      'in',
      counts.map(({ run }) => run),
    )
    .orderBy('run.campaign', 'desc')
    .execute()
  const messagesOf = new Map(counts.map(({ run, messages }) => [run, messages]))
  return campaigns.map(({ number, campaign }) => ({ campaign, messages: messagesOf.get(number) ?? 0 }))
}

export interface NamedCampaign {
  readonly number: number
  readonly id: string
  readonly name: string
}

/** Number → id and name, of few campaigns. */
export async function findCampaignNames(
  store: Store,
  workspaceId: string,
  numbers: readonly number[],
): Promise<Map<number, NamedCampaign>> {
  if (numbers.length === 0) return new Map()
  const named = campaignsOf(store, workspaceId).select(['campaigns.number', 'campaigns.id', 'campaigns.name'])
  const rows = await named.where('campaigns.number', 'in', numbers).execute()
  return new Map(rows.map((row) => [row.number, row]))
}
