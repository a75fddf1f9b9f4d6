// Estimate campaign: the funnel of a campaign as it would be now. Changes nothing.
import { Type } from 'typebox'
import { estimateByKey } from '../../delivery/start/estimate-campaign.ts'
import { ADDRESSES_MAX } from '../../delivery/start/estimate-tally.ts'
import { inDigits } from '../../core/in-digits.ts'
import { GROUPS } from '../../core/campaigns/facts.ts'
import { CampaignPath } from '../campaigns/campaign-body.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'

const Count = Type.Integer()
const Counts = (description: string) => Type.Record(Type.String(), Count, { description })

export const estimateCampaign = defineOperation({
  name: 'estimate_campaign',
  summary: 'Estimate campaign',
  description:
    'Returns what would happen if the campaign started now, counted over everybody as the start does. Missing values are ' +
    'counted over up to 1,000 people. A missing sender, segment or template is 400. Needs no body. With a million people ' +
    `it takes a minute; with more than ${inDigits(ADDRESSES_MAX)} addresses the response is 409.`,
  group: 'Campaigns',
  method: 'POST',
  isReadOnly: true,
  url: '/core-services/v1/campaigns/:campaign_id/estimate',
  requires: 'campaigns.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CampaignPath,
  query: NoFields,
  body: null,
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: Type.Object({
    audience: Count,
    without_address: Type.Integer({ description: 'People of the segments without an address; not in the audience.' }),
    groups: Type.Object(Object.fromEntries(GROUPS.map((group) => [group, Count]))),
    removed: Counts('Reason → people.'),
    sendable: Type.Integer({ description: 'Targets without a reason to be removed.' }),
    variations: Counts('Variation → people; they add up to `sendable`.'),
    locales: Counts('Locale of the template → people.'),
    checked_people: Type.Integer({ description: 'The people over whom `missing_values` are counted.' }),
    missing_values: Counts('Liquid variable → people who have no value for it.'),
    coupons: Type.Array(Type.Object({ label: Type.String(), needed: Count, available: Count })),
    seconds: Type.Integer({ description: 'The time to send to all, at the rate of the sender.' }),
  }),
  // An estimate reads all users, so each workspace makes one at a time.
  handle({ workspace, path, now }, { database, queue, emailVault }) {
    const work = async () => {
      const key = { workspaceId: workspace.id, campaignId: path.campaign_id }
      const estimate = await estimateByKey(database, key, { workspace, now, emailVault })
      const { withoutAddress, checkedPeople, missingValues, ...named } = estimate
      return {
        ...named,
        without_address: withoutAddress,
        checked_people: checkedPeople,
        missing_values: missingValues,
      }
    }
    return queue.run(`estimates ${workspace.id}`, work)
  },
})
