// Decide messages in doubt: whether messages of which nobody knows if they were accepted are sent again, or given up.
import { Type } from 'typebox'
import { giveUp, sendAgain } from '../../actions/delivery/decide-doubt.ts'
import { requireDelivery } from '../../actions/delivery/require-delivery.ts'
import { invalidRequest, type Fault } from '../../core/app-error.ts'
import { parseMessageId } from '../../core/delivery/delivery-entry.ts'
import { findRunOf, type Run } from '../../store/delivery/runs.ts'
import { CampaignPath } from '../campaigns/campaign-body.ts'
import { NoFields, OneOf, Strict, Text } from '../fields.ts'
import { defineOperation } from '../operation.ts'

const MESSAGE_IDS_MAX = 1_000
const MESSAGE_ID_LENGTH_MAX = 64

export const decideInDoubt = defineOperation({
  name: 'decide_in_doubt',
  summary: 'Decide messages in doubt',
  description:
    'Says what becomes of messages `in_doubt`, which the SMTP server may or may not have accepted. `send_again` queues them, ' +
    'so some people may get the message twice, and the campaign runs again; the response is 409 if it was cancelled, or if its ' +
    'sender or one of its templates was deleted. ' +
    '`give_up` ends them as `failed` with the reason `in_doubt`. Without `message_ids`, it concerns all of the campaign. ' +
    'Messages that are not in doubt stay as they are, so a repeat changes nothing.',
  group: 'Campaigns',
  method: 'POST',
  url: '/core-services/v1/campaigns/:campaign_id/in-doubt',
  requires: 'campaigns.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CampaignPath,
  query: NoFields,
  body: Strict({
    action: OneOf(['send_again', 'give_up']),
    message_ids: Type.Optional(
      Type.Array(Text(1, MESSAGE_ID_LENGTH_MAX), { minItems: 1, maxItems: MESSAGE_IDS_MAX, uniqueItems: true }),
    ),
  }),
  example: { action: 'give_up', message_ids: ['7-1204'] },
  refusals: ['not_found', 'conflict'],
  successStatus: 204,
  output: null,
  async handle(request, { database, log, receiptClock, appliedEntries }) {
    const { workspace, path, body } = request
    const key = { workspaceId: workspace.id, campaignId: path.campaign_id }
    const { campaign } = await requireDelivery(database, key)
    const run = await findRunOf(database, campaign.number)
    const numbers = body.message_ids && toNumbers(body.message_ids, run)
    if (!run) return
    const decision = { numbers, campaign, by: request }
    if (body.action === 'send_again') return sendAgain(database, run, decision)
    const untilApplied = () => appliedEntries.wait()
    return giveUp({ database, log, receiptClock, untilApplied }, run, decision)
  },
})

/** The numbers of messages of a run. Throws AppError `invalid_request` with every id that is none of them. */
function toNumbers(ids: readonly string[], run: Pick<Run, 'number'> | undefined): number[] {
  const faults: Fault[] = []
  const numbers = ids.flatMap((id, index) => {
    const parsed = parseMessageId(id)
    if (parsed && parsed.run === run?.number) return [parsed.message]
    faults.push({ field: `message_ids[${index}]`, problem: 'is not the id of a message of the campaign' })
    return []
  })
  if (faults.length > 0) throw invalidRequest(faults)
  return numbers
}
