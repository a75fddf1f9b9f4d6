// Preview campaign: the message that a person would get, and whether they would get it. Sends and changes nothing.
import { Type } from 'typebox'
import { DIMENSION_NAME_LENGTH_MAX } from '../../core/campaigns/report.ts'
import { renderPreview } from '../../delivery/content/render-preview.ts'
import { findPlacedPerson } from '../../delivery/preview/placed-person.ts'
import { openLetter, openPreviewed } from '../../delivery/preview/previewed-campaign.ts'
import { runOnceApplied } from '../applied-entries.ts'
import { CampaignPath } from '../campaigns/campaign-body.ts'
import { CustomerId, NoFields, Strict, Text } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { toPreviewSurroundings } from './preview-surroundings.ts'

export const previewCampaign = defineOperation({
  name: 'preview_campaign',
  summary: 'Preview campaign',
  description:
    'Returns the message that a person would get from a campaign, also from a draft: in their variation, or in the one that ' +
    '`variation` names. `would_send` tells whether they would be sent it now, `reason` why not: `not_in_audience`, a control ' +
    'group, or the reason of a removal. Other people with the same address are not looked for. Coupons are `TEST-CODE`, links ' +
    'are not counted and belong to nobody. Where the message cannot be made, `problem` says why, and its parts are empty.',
  group: 'Campaigns',
  method: 'POST',
  isReadOnly: true,
  url: '/core-services/v1/campaigns/:campaign_id/preview',
  requires: 'campaigns.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CampaignPath,
  query: NoFields,
  body: Strict({
    customer_id: CustomerId,
    variation: Type.Optional(Text(1, DIMENSION_NAME_LENGTH_MAX, "The name of a variation. Default: the person's.")),
  }),
  example: { customer_id: 'customer-17' },
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: Type.Object({
    subject: Type.String(),
    html: Type.String(),
    text: Type.String(),
    headers: Type.Record(Type.String(), Type.String(), { description: 'Name → value, decoded, on one line.' }),
    would_send: Type.Boolean(),
    reason: Type.Optional(Type.String()),
    problem: Type.Optional(Type.String({ description: 'Why the message cannot be made.' })),
  }),
  // A preview may hold a megabyte, so each workspace makes one at a time.
  handle: ({ workspace, path, body, now }, parts) =>
    runOnceApplied(parts, () => {
      const { database, queue, emailVault, renderer } = parts
      const work = async () => {
        const key = { workspaceId: workspace.id, campaignId: path.campaign_id }
        const previewed = await openPreviewed(database, key)
        const search = { workspace, customerId: body.customer_id, variation: body.variation, now, emailVault }
        const { address, template: pinned, placement, ...person } = await findPlacedPerson(database, previewed, search)
        const surroundings = toPreviewSurroundings(workspace, parts)
        const letter = await openLetter(database, previewed, { ...surroundings, pinned, withFiles: false })
        const job = { letter, ...person, to: address, allowsTracking: false, date: now }
        const { wouldSend, headers, ...preview } = await renderPreview(renderer, job, placement)
        return { ...preview, headers: Object.fromEntries(headers), would_send: wouldSend }
      }
      return queue.run(`previews ${workspace.id}`, work, workspace.limits.management_per_minute)
    }),
})
