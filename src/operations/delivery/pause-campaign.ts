// Pause campaign: no further message is begun until it is resumed.
import { pauseByKey } from '../../actions/delivery/change-campaign.ts'
import { defineStateChange } from './change-state.ts'

export const pauseCampaign = defineStateChange({
  name: 'pause_campaign',
  summary: 'Pause campaign',
  description:
    'Pauses a running campaign: no further message is begun, and those on a connection end. Pausing it again changes ' +
    'nothing; in any other state the response is 409. Needs no body.',
  verb: 'pause',
  change: (key, request, { database }) => pauseByKey(database, key, request),
})
