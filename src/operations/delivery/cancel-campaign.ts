// Cancel campaign: sends nothing more, for good.
import { cancelByKey } from '../../actions/delivery/change-campaign.ts'
import { defineStateChange } from './change-state.ts'

export const cancelCampaign = defineStateChange({
  name: 'cancel_campaign',
  summary: 'Cancel campaign',
  description:
    'Cancels a campaign for good, in any state but `finished`, where the response is 409. Messages on a connection end; ' +
    'everybody who was not sent to yet is removed with `user_removed_due_to_cancelled`. Cancelling it again changes ' +
    'nothing. Needs no body.',
  verb: 'cancel',
  change: (key, request, { database }) => cancelByKey(database, key, request),
})
