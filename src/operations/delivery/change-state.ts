// Defines the operations that change the state of a campaign with delivery, which differ in what they call.
import type { Static } from 'typebox'
import type { CampaignKey } from '../../actions/delivery/require-delivery.ts'
import { CampaignPath } from '../campaigns/campaign-body.ts'
import { NoFields } from '../fields.ts'
import { defineOperation, type Operation, type OperationRequest, type Parts } from '../operation.ts'

type Request = OperationRequest<Static<typeof CampaignPath>, object, unknown>

/** What distinguishes one of these operations from the others. */
interface StateChange<Verb extends string> extends Pick<Operation, 'name' | 'summary' | 'description'> {
  /** The last part of the URL. */
  readonly verb: Verb
  readonly change: (key: CampaignKey, request: Request, parts: Parts) => Promise<void>
}

export function defineStateChange<const Verb extends string>({ verb, change, ...named }: StateChange<Verb>) {
  return defineOperation({
    ...named,
    group: 'Campaigns',
    method: 'PUT',
    url: `/core-services/v1/campaigns/:campaign_id/${verb}` as const,
    requires: 'campaigns.write',
    takesAppKey: true,
    limits: ['management_per_minute'],
    path: CampaignPath,
    query: NoFields,
    body: null,
    refusals: ['not_found', 'conflict'],
    successStatus: 204,
    output: null,
    handle(request, parts) {
      return change({ workspaceId: request.workspace.id, campaignId: request.path.campaign_id }, request, parts)
    },
  })
}
