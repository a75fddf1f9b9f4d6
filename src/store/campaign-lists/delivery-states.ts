// Finds the deliveries of a workspace by the states that responses show. `paused` and `waiting` are shown in place of `running`, as
// `toShownState` says.
import { DELIVERY_STATES, type DeliveryState } from '../../core/delivery/delivery.ts'
import type { ShownState } from '../../core/delivery/delivery-changes.ts'
import { waitingSenders } from '../senders/sender-leases.ts'
import type { Store } from '../store.ts'
import { deliveryRows } from '../delivery/deliveries.ts'

/** The numbers of the campaigns of a workspace that have a delivery, as a query. */
export function deliveryRowsOf(store: Store, workspaceId: string) {
  return deliveryRows(store).select('delivery.campaign').where('delivery.workspace_id', '=', workspaceId)
}

/** The same for those in one of these states. */
export function deliveriesIn(store: Store, workspaceId: string, states: readonly ShownState[]) {
  const plain = DELIVERY_STATES.filter((state) => state !== 'running' && states.includes(state))
  return deliveryRowsOf(store, workspaceId).where((row) => {
    const isRunning = row('delivery.state', '=', 'running' satisfies DeliveryState)
    const isPaused = row('delivery.paused', 'is not', null)
    const isWaiting = row.exists(waitingSenders(store).where('lease.sender', '=', row.ref('delivery.sender')))
    const goesOn = row.and([isRunning, row.not(isPaused)])
    return row.or([
      ...(plain.length > 0 ? [row('delivery.state', 'in', plain)] : []),
      ...(states.includes('paused') ? [row.and([isRunning, isPaused])] : []),
      ...(states.includes('waiting') ? [row.and([goesOn, isWaiting])] : []),
      ...(states.includes('running') ? [row.and([goesOn, row.not(isWaiting)])] : []),
    ])
  })
}
