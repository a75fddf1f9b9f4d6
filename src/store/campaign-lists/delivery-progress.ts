// Reads how far the deliveries of a workspace are, in few small columns: to tell whether anything has changed.
import { STARTED_STATES } from '../../core/delivery/delivery-changes.ts'
import { DELIVERIES_AT_ONCE_MAX, deliveryRows } from '../delivery/deliveries.ts'
import { runRows } from '../delivery/runs.ts'
import { findWaiting } from '../senders/sender-leases.ts'
import type { Store } from '../store.ts'

/**
 * What differs whenever a started delivery of the workspace differs: its state and pause, the progress of its run, and the wait of its
 * sender. What is sent comes through the log. At most `DELIVERIES_AT_ONCE_MAX` are looked at.
 */
export async function readDeliveryProgress(store: Store, workspaceId: string): Promise<readonly unknown[]> {
  const deliveries = await deliveryRows(store)
    .select(['delivery.campaign', 'delivery.state', 'delivery.sender', 'delivery.paused'])
    .where('delivery.workspace_id', '=', workspaceId)
    .where('delivery.state', 'in', STARTED_STATES)
    .orderBy('delivery.campaign')
    .limit(DELIVERIES_AT_ONCE_MAX)
    .execute()
  if (deliveries.length === 0) return []
  const campaigns = deliveries.map(({ campaign }) => campaign)
  const runs = await runRows(store)
    .select(['run.campaign', 'run.phase', 'run.frozen_through', 'run.told_through'])
    .where('run.campaign', 'in', campaigns)
    .orderBy('run.campaign')
    .execute()
  const senders = new Set(deliveries.flatMap(({ sender }) => (sender === null ? [] : [sender])))
  const waiting = await findWaiting(store, [...senders])
  return [deliveries, runs, [...waiting]]
}
