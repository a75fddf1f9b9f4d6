// The words of the list of campaigns, and of a campaign's state and actions.
import type { CampaignState } from '../../src/core/delivery/delivery-changes.ts'
import { formatCounted } from './format.ts'

const states: { readonly [state in CampaignState]: string } = {
  draft: 'Draft',
  scheduled: 'Scheduled',
  running: 'Running',
  paused: 'Paused',
  waiting: 'Waiting',
  finished: 'Finished',
  overdue: 'Overdue',
  cancelled: 'Cancelled',
  none: 'Reported',
}

export const campaignsText = {
  title: 'Campaigns',
  lead: 'Messages to many people, and their results.',
  create: 'Create campaign',
  states,
  caption: 'Campaigns, newest first',
  name: 'Campaign',
  state: 'State',
  search: 'Search by name',
  anyState: 'All states',
  archived: 'Archived',
  created: 'Created',
  by: 'by',
  shown: (count: number) => formatCounted(count, 'campaign'),
  days: (range: string) => `Last 30 days: ${range}`,
  sent: 'Sent',
  openRate: 'Open rate',
  clickRate: 'Click rate',
  conversions: 'Conversions',
  moreGoals: (count: number) => `and ${formatCounted(count, 'more goal')}`,
  noNumbers: 'Nothing counted',
  explain: {
    sent: 'Distinct people who were sent at least one message.',
    openRate:
      'Distinct people who opened a message, of those who received one. Opens by mail scanners are not counted.',
    clickRate: 'Distinct people who clicked, of those who opened.',
    conversions: 'Distinct people who met the first goal of the campaign within its window after a click.',
  },
  explainDays: (zone: string) => `The last 30 days, today included, in ${zone}.`,
  empty: 'No campaigns yet',
  emptyLead:
    'A campaign sends one email to everyone in a segment and counts what they do. Create one here, or report one that another ' +
    'system sends, with POST /core-services/v1/campaigns.',
  noMatch: 'No campaign matches this name and state.',

  edit: 'Edit',
  duplicate: 'Duplicate',
  run: 'Sending',
  report: 'Report',
  pause: 'Pause campaign',
  pauseLead: 'Sending stops until someone resumes the campaign. Messages already on a connection are completed.',
  paused: 'Campaign paused',
  resume: 'Resume campaign',
  resumeLead: 'Sending continues to everyone who has not been sent a message yet.',
  resumed: 'Campaign resumed',
  cancel: 'Cancel campaign',
  cancelLead:
    'Anyone who has not been sent a message will not get one. Sent messages and all numbers stay. This cannot be undone.',
  cancelled: 'Campaign cancelled',
  more: 'More actions',
}
