// Delete sender: removes a sender and its secrets for good, unless something may still be sent through it.
import { recordChange } from '../../actions/audit/record-change.ts'
import { AppError } from '../../core/app-error.ts'
import { STARTED_STATES } from '../../core/delivery/delivery-changes.ts'
import { requireSender } from '../../actions/senders/store-sender.ts'
import { listCampaignsUsing } from '../../store/delivery/deliveries.ts'
import { listOpenRuns } from '../../store/delivery/runs.ts'
import { lockSenders, removeSender, type StoredSender } from '../../store/senders/senders.ts'
import type { Store } from '../../store/store.ts'
import { findWorkspace, lockWorkspaces } from '../../store/workspaces/workspaces.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { SenderPath, toSenderBody } from './sender-body.ts'

/** The most campaigns that a refusal names. */
const CAMPAIGNS_NAMED_MAX = 10

export const deleteSender = defineOperation({
  name: 'delete_sender',
  summary: 'Delete sender',
  description:
    'Deletes a sender with its password and private key for good. While a campaign that is scheduled, running, paused or ' +
    'overdue uses it, or it is the `alert_sender_id` of the workspace, the response is 409. Drafts that name it can be ' +
    'started only with another sender.',
  group: 'Senders',
  method: 'DELETE',
  url: '/core-services/v1/senders/:sender_id',
  requires: 'senders.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: SenderPath,
  query: NoFields,
  body: null,
  refusals: ['not_found', 'conflict'],
  successStatus: 204,
  output: null,
  async handle(request, { database }) {
    const { workspace, path, now } = request
    await database.write(async (store) => {
      // In this order, as `workspace set` takes them.
      await lockWorkspaces(store)
      await lockSenders(store)
      const sender = await requireSender(store, workspace.id, path.sender_id)
      await refuseIfUsed(store, sender)
      await removeSender(store, sender.number, now)
      const { id, name } = sender
      const before = toSenderBody(sender)
      await recordChange(store, request, { kind: 'sender', id, name, action: 'delete_sender', before })
    })
  },
})

/** Throws AppError `conflict` while something may still be sent through the sender. */
async function refuseIfUsed(store: Store, { id, number, workspaceId }: StoredSender): Promise<void> {
  const use = { workspaceId, kind: 'sender', id } as const
  const campaigns = await listCampaignsUsing(store, use, { states: STARTED_STATES, max: CAMPAIGNS_NAMED_MAX })
  if (campaigns.length > 0) {
    const message = `Campaigns that are not over use the sender: ${campaigns.join(', ')}. Cancel them first.`
    throw new AppError('conflict', message)
  }
  // A campaign that was cancelled may still have messages on their way.
  if ((await listOpenRuns(store, number)).length > 0) {
    throw new AppError('conflict', 'A run of the sender is ending. Retry in a minute.')
  }
  const stored = await findWorkspace(store, workspaceId)
  if (stored?.workspace.alertSenderId !== id) return
  const message = 'The sender is the alert_sender_id of the workspace. Ask the operator to set another one, or off.'
  throw new AppError('conflict', message)
}
