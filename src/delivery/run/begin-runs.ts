// Begins the runs of campaigns whose time has come: makes the run, with the numbers of its links. A campaign that could not begin within
// its grace period waits for a person.
import { findAppliedThrough } from '../../actions/applied-through.ts'
import { audienceCondition } from '../../core/delivery/audience/audience-condition.ts'
import { HOUR_MS } from '../../core/time-zone.ts'
import {
  changeDeliveryState,
  listDeliveriesOf,
  listDueDeliveries,
  lockDelivery,
  pauseDelivery,
  type StoredDelivery,
} from '../../store/delivery/deliveries.ts'
import { findRunOf, startRun } from '../../store/delivery/runs.ts'
import { resolveCondition } from '../../store/segments/resolve-condition.ts'
import { requireSenderLease, type SenderLease } from '../../store/senders/sender-leases.ts'
import type { Store } from '../../store/store.ts'
import { findNewestUserId } from '../../store/users/users.ts'
import type { DeliveryParts } from '../delivery-parts.ts'
import { prepareRunContent } from './run-letters.ts'

/**
 * Begins what is due for a sender. A run begins once the pipeline has applied what was in the log when it was due, so that people who
 * were acknowledged before are in the audience. `awaited` keeps for each campaign how far that is, from one call to the next. Throws
 * LeaseLost.
 */
export async function beginRuns(parts: DeliveryParts, lease: SenderLease, awaited: Map<number, number>): Promise<void> {
  const { database, logReader, clock } = parts
  for (const due of await listDueDeliveries(database, lease.sender, clock())) {
    const to = isOverdue(due, clock()) ? 'overdue' : 'running'
    await database.write(async (store) => {
      await requireSenderLease(store, lease)
      await changeDeliveryState(store, due.campaign, { to, from: ['scheduled'] })
    })
  }
  for (const delivery of await listDeliveriesOf(database, lease.sender, ['running'])) {
    if (delivery.paused || (await findRunOf(database, delivery.campaign))) continue
    const position = awaited.get(delivery.campaign) ?? (await logReader.lastPosition())
    awaited.set(delivery.campaign, position)
    if ((await findAppliedThrough(database, logReader)) < position) continue
    await beginRun(parts, lease, delivery)
    awaited.delete(delivery.campaign)
  }
}

function isOverdue({ startAt, settings }: StoredDelivery, now: number): boolean {
  return startAt !== null && now > startAt + settings.graceHours * HOUR_MS
}

const NO_AUDIENCE =
  'The audience names a segment that does not exist, or its segments have too many conditions together. Correct the segments, then ' +
  'resume the campaign.'

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
    const named = audienceCondition(settings.audience)
    const { condition, faults } = await resolveCondition(store, workspaceId, named, { field: 'audience' })
    if (faults.length > 0) {
      await pauseDelivery(store, campaign, { since: now, reason: NO_AUDIENCE })
      return
    }
    const { content, links } = await prepareRunContent(store, delivery)
    const lastUser = await findNewestUserId(store, workspaceId)
    const audience = { evaluatedAt: now, startedAt: now, lastUser, condition, isCapped: settings.capped }
    await startRun(store, { campaign, workspaceId, sender: lease.sender, content, ...audience }, links)
  })
}
