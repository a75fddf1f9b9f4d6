// Reads what responses and commands show of deliveries: each with the wait of its sender, which belongs to all campaigns of the sender.
import { AppError } from '../../core/app-error.ts'
import { STARTED_STATES, toShownState, type ShownState } from '../../core/delivery/delivery-changes.ts'
import type { Halt } from '../../core/delivery/delivery.ts'
import { findDeliveries, type StoredDelivery } from '../../store/delivery/deliveries.ts'
import { findWaiting } from '../../store/senders/sender-leases.ts'
import type { Store } from '../../store/store.ts'

/** A delivery with what responses show beside it. */
export interface ShownDelivery {
  readonly stored: StoredDelivery
  /** Why the SMTP server of its sender takes no mail now. Null if it does, and for a campaign that is not running. */
  readonly waiting: Halt | null
}

/** The deliveries of those of these campaigns that have one, by the number of the campaign. */
export async function findShownDeliveries(
  store: Store,
  campaigns: readonly number[],
): Promise<Map<number, ShownDelivery>> {
  const deliveries = await findDeliveries(store, campaigns)
  const senders = deliveries.flatMap(({ state, sender }) => (state === 'running' && sender !== null ? [sender] : []))
  const waiting = await findWaiting(store, [...new Set(senders)])
  return new Map(
    deliveries.map((stored) => {
      const halt = stored.state === 'running' && stored.sender !== null ? waiting.get(stored.sender) : undefined
      return [stored.campaign, { stored, waiting: halt ?? null }]
    }),
  )
}

/** Undefined if the campaign has no delivery. */
export async function findShownDelivery(store: Store, campaign: number): Promise<ShownDelivery | undefined> {
  return (await findShownDeliveries(store, [campaign])).get(campaign)
}

export function shownStateOf({ stored, waiting }: ShownDelivery): ShownState {
  return toShownState(stored.state, stored.paused, waiting)
}

/** A 409 that names the state of a campaign and says what to do. */
export function wrongState(shown: ShownDelivery, advice: string): AppError {
  return new AppError('conflict', `The campaign is ${shownStateOf(shown)}. ${advice}`)
}

/** Throws AppError `conflict` while the campaign waits for its start or is being sent. */
export async function refuseIfStarted(store: Store, campaign: number): Promise<void> {
  const shown = await findShownDelivery(store, campaign)
  const isStarted = shown && STARTED_STATES.some((state) => state === shown.stored.state)
  if (isStarted) throw wrongState(shown, 'Cancel it first.')
}
