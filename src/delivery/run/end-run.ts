// Ends runs: removes the rest of a cancelled one, and finishes one when nobody waits any more.
import { OPEN_STATES } from '../../core/delivery/message-state.ts'
import { changeDeliveryState, lockDelivery } from '../../store/delivery/deliveries.ts'
import { claimMessages, listWaitingMessages } from '../../store/delivery/message-claims.ts'
import { hasMessagesIn, type RunMessage } from '../../store/delivery/messages.ts'
import { endRun } from '../../store/delivery/runs.ts'
import { requireSenderLease, type SenderLease } from '../../store/senders/sender-leases.ts'
import type { DeliveryParts } from '../delivery-parts.ts'
import type { HeldLease } from '../sender-lease.ts'
import type { Teller } from '../teller.ts'
import type { OpenRun } from './open-run.ts'

/** Messages of a cancelled run that are removed at once. */
const REMOVED_PER_SLICE = 1_000

/** Claims a slice of the rest of a cancelled run, and tells the log that it is removed. Returns how many. Throws LeaseLost. */
export async function removeRest(
  { database, clock }: DeliveryParts,
  { held, teller }: { readonly held: HeldLease; readonly teller: Teller },
  { run }: OpenRun,
): Promise<number> {
  const claim = held.nextClaim()
  const rest = await database.write(async (store) => {
    await requireSenderLease(store, held.lease)
    const waiting = await listWaitingMessages(store, run.number, REMOVED_PER_SLICE)
    const claims = waiting.map(({ number, emailKey }) => ({ number, emailKey, claimedAt: null }))
    await claimMessages(store, { run: run.number, claim }, claims)
    return waiting
  })
  const at = clock()
  await Promise.all(rest.map((message) => teller.tell(run, toCancelled(message, claim, at))))
  return rest.length
}

function toCancelled({ number, customerId, variation, locale }: RunMessage, claim: number, at: number) {
  const who = { message: number, customer_id: customerId, at, claim }
  return { ...who, kind: 'removed', reason: 'user_removed_due_to_cancelled', variation, locale } as const
}

/** Finishes a run that sends, if nobody waits or is being sent to. Returns whether it did. Throws LeaseLost. */
export function finishRun({ database, clock }: DeliveryParts, lease: SenderLease, { run }: OpenRun): Promise<boolean> {
  return database.write(async (store) => {
    await requireSenderLease(store, lease)
    // Before the messages, so that nobody in doubt is queued again meanwhile.
    await lockDelivery(store, run.campaign)
    if (await hasMessagesIn(store, run.number, OPEN_STATES)) return false
    await endRun(store, run.number, clock())
    await changeDeliveryState(store, run.campaign, { to: 'finished' })
    return true
  })
}
