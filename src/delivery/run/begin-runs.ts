// Begins the runs of campaigns whose time has come: makes the run, with the numbers of its links. A campaign that could not begin within
// its grace period waits for a person.
import { untilApplied } from '../../actions/applied-through.ts'
import { HOUR_MS } from '../../core/time-zone.ts'
import {
  changeDeliveryState,
  listDeliveriesOf,
  listDueDeliveries,
  lockDelivery,
  type StoredDelivery,
} from '../../store/delivery/deliveries.ts'
import { listRunsOf, startRun } from '../../store/delivery/runs.ts'
import { requireSenderLease, type SenderLease } from '../../store/senders/sender-leases.ts'
import type { Store } from '../../store/store.ts'
import { findNewestUserId } from '../../store/users/users.ts'
import type { DeliveryParts } from '../delivery-parts.ts'
import { prepareRunContent } from './run-letters.ts'

/** Begins what is due for a sender, unless `signal` is aborted. Throws LeaseLost. */
export async function beginRuns(parts: DeliveryParts, lease: SenderLease, signal: AbortSignal): Promise<void> {
  const { database, logReader, clock } = parts
  for (const due of await listDueDeliveries(database, lease.sender, clock())) {
    const to = isOverdue(due, clock()) ? 'overdue' : 'running'
    await database.write(async (store) => {
      await requireSenderLease(store, lease)
      await changeDeliveryState(store, due.campaign, { to, from: ['scheduled'] })
    })
  }
  for (const delivery of await listDeliveriesOf(database, lease.sender, ['running'])) {
    if ((await listRunsOf(database, delivery.campaign)).length > 0 || delivery.paused) continue
    // So that people who were acknowledged before are in the audience.
    if (!(await untilApplied(database, logReader, signal))) return
    await beginRun(parts, lease, delivery)
  }
}

function isOverdue({ startAt, settings }: StoredDelivery, now: number): boolean {
  return startAt !== null && now > startAt + settings.graceHours * HOUR_MS
}

async function beginRun(
  { database, clock }: DeliveryParts,
  lease: SenderLease,
  delivery: StoredDelivery,
): Promise<void> {
  const { campaign, workspaceId, settings } = delivery
  await database.write(async (store: Store) => {
    await requireSenderLease(store, lease)
    const locked = await lockDelivery(store, campaign)
    if (locked?.state !== 'running' || locked.paused) return
    const now = clock()
    const { content, links } = await prepareRunContent(store, delivery)
    const lastUser = await findNewestUserId(store, workspaceId)
    const audience = { evaluatedAt: now, startedAt: now, lastUser, isCapped: settings.capped }
    await startRun(store, { campaign, workspaceId, sender: lease.sender, content, ...audience }, links)
  })
}
