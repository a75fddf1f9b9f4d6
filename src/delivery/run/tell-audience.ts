// Tells the log of the memberships of a run: everybody in its audience, with group, variation, locale, and the reason of those whom the
// freeze removed. A crash repeats at most one entry, and memberships have identities.
import { v7 as newRequestId } from 'uuid'
import { deliveryPartitionKey, EMAIL_PLATFORM } from '../../core/delivery/delivery-entry.ts'
import { listMessagesAfter } from '../../store/delivery/frozen-messages.ts'
import type { RunMessage } from '../../store/delivery/messages.ts'
import { beginPhase, findRun, saveToldThrough } from '../../store/delivery/runs.ts'
import { requireSenderLease, type SenderLease } from '../../store/senders/sender-leases.ts'
import type { DeliveryParts } from '../delivery-parts.ts'
import type { OpenRun } from './open-run.ts'

/** Members in one entry: some 500 KB, and a batch of the pipeline. */
const MEMBERS_PER_ENTRY = 2_500

/** Tells a slice. After the last one the run goes on with `sending`. Throws LeaseLost, and as the log does. */
export async function tellSlice({ database, log }: DeliveryParts, lease: SenderLease, open: OpenRun): Promise<void> {
  const run = await findRun(database, open.run.number)
  if (run?.phase !== 'telling') return
  const slice = { after: run.toldThrough, max: MEMBERS_PER_ENTRY }
  const messages = await listMessagesAfter(database, run.number, slice)
  const last = messages.at(-1)
  if (last) {
    const { campaign, workspaceId, evaluatedAt } = run
    await log.append({
      kind: 'svc_audience',
      workspaceId,
      requestId: newRequestId(),
      receivedAt: 0,
      context: { campaign },
      // The numbers of the messages show the pipeline who was erased meanwhile.
      body: Buffer.from(
        JSON.stringify({ run: run.number, members: messages.map((one) => toMember(one, evaluatedAt)) }),
      ),
      events: messages.length,
      partitionKey: deliveryPartitionKey(campaign),
    })
  }
  await database.write(async (store) => {
    await requireSenderLease(store, lease)
    if (last) await saveToldThrough(store, run.number, last.number)
    if (messages.length < MEMBERS_PER_ENTRY) await beginPhase(store, run.number, 'sending')
  })
}

function toMember({ number, customerId, group, variation, locale, state, reason }: RunMessage, evaluatedAt: number) {
  return {
    message: number,
    customer_id: customerId,
    group,
    platform: EMAIL_PLATFORM,
    evaluated_at: evaluatedAt,
    ...(variation !== null && { variation }),
    ...(locale !== null && { locale }),
    ...(state === 'removed' && reason !== null && { removed: reason }),
  }
}
