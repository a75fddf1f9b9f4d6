// Resume campaign: ends a pause, or starts a campaign that is overdue.
import { resumeByKey } from '../../actions/delivery/change-campaign.ts'
import { defineStateChange } from './change-state.ts'

export const resumeCampaign = defineStateChange({
  name: 'resume_campaign',
  summary: 'Resume campaign',
  description:
    'Ends a pause, whoever or whatever caused it, and starts a campaign that is `overdue`. Resuming a running campaign ' +
    'changes nothing; in any other state the response is 409. Needs no body.',
  verb: 'resume',
  change: (key, request, { database }) => resumeByKey(database, key, request),
})
