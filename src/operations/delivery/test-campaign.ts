// Test campaign: sends a campaign's message to a few addresses, to look at it where people will read it.
import { Type } from 'typebox'
import { EMAIL_LENGTH_MAX, isEmail } from '../../core/users/email-address.ts'
import { findPlacedPerson } from '../../delivery/preview/placed-person.ts'
import { openPreviewed } from '../../delivery/preview/previewed-campaign.ts'
import { sendTests } from '../../delivery/preview/send-tests.ts'
import { runOnceApplied } from '../applied-entries.ts'
import { CampaignPath } from '../campaigns/campaign-body.ts'
import { CustomerId, NoFields, OneOf, Strict, Text } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { toPreviewSurroundings } from './preview-surroundings.ts'

/** Addresses of one request. */
const ADDRESSES_MAX = 10

export const testCampaign = defineOperation({
  name: 'test_campaign',
  summary: 'Send test messages',
  description:
    "Sends a campaign's message, also of a draft, to up to 10 addresses at once, through its sender. The attributes, the language and " +
    'the variation are those of `customer_id`; without it the template gets no attributes, and it is the first variation. The subject ' +
    'begins with `[Test] `. Coupons are `TEST-CODE`, links are not counted and belong to nobody, and no statistics change. The ' +
    'response has the reply of the server for each address, and comes within a minute.',
  group: 'Campaigns',
  method: 'POST',
  url: '/core-services/v1/campaigns/:campaign_id/test',
  requires: 'campaigns.write',
  takesAppKey: true,
  limits: ['campaign_tests_per_minute'],
  path: CampaignPath,
  query: NoFields,
  body: Strict({
    to: Type.Array(Text(1, EMAIL_LENGTH_MAX), {
      minItems: 1,
      maxItems: ADDRESSES_MAX,
      description: 'Email addresses.',
    }),
    customer_id: Type.Optional(CustomerId),
  }),
  example: { to: ['anna@shop.example'], customer_id: 'customer-17' },
  faults: ({ body }) =>
    (body?.to ?? []).flatMap((address, index) =>
      address === undefined || isEmail(address) ? [] : [{ field: `to[${index}]`, problem: 'must be an email address' }],
    ),
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        to: Type.String(),
        result: OneOf(['sent', 'failed']),
        reply: Type.String({ description: 'The reply of the server, or why it was not asked.' }),
      }),
      { maxItems: ADDRESSES_MAX },
    ),
  }),
  outputExample: { data: [{ to: 'anna@shop.example', result: 'sent', reply: '250 2.0.0 Ok: queued' }] },
  // Servers may take long, so each workspace sends the tests of one request at a time.
  handle: ({ workspace, path, body, now }, parts) =>
    runOnceApplied(parts, () => {
      const { database, queue, emailVault, renderer } = parts
      const work = async () => {
        const key = { workspaceId: workspace.id, campaignId: path.campaign_id }
        const previewed = await openPreviewed(database, key)
        const { customer_id: customerId, to } = body
        const search = { workspace, variation: undefined, now, emailVault }
        const person =
          customerId === undefined ? undefined : await findPlacedPerson(database, previewed, { ...search, customerId })
        const surroundings = toPreviewSurroundings(workspace, parts)
        return { data: await sendTests(database, previewed, { ...surroundings, to, person, now, renderer }) }
      }
      return queue.run(`tests of campaigns ${workspace.id}`, work, workspace.limits.campaign_tests_per_minute)
    }),
})
