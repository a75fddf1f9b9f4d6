// The words of the home page.
import { formatCount, formatCounted } from './format.ts'

/** What is told of a subject beside its name. */
interface Told {
  readonly count?: number
  readonly of?: number
  readonly state?: string
}

const ofAll = ({ count = 0, of = 0 }: Told, what: string) => `${formatCount(count)} of ${formatCount(of)} ${what}`
const nothing = () => ''

export const homeText = {
  lead: (role: string, id: string, zone: string) =>
    `Your role in the workspace ${id} is ${role}. Times are in ${zone}.`,
  eventsPerMinute: 'Events per minute',
  eventsPerMinuteNote: 'Received in the last minute and processed',
  lag: 'Lag',
  lagValue: (seconds: number) => `${formatCount(Math.round(seconds))} s`,
  processedUntil: 'Numbers include everything received until',
  attention: 'Needs attention',
  nothingNeeds: 'Nothing to do',
  nothingNeedsLead: 'Halted campaigns, messages in doubt, coupon lists running short and the like appear here.',
  kinds: {
    campaigns_halted: { title: (count: number) => `${formatCounted(count, 'campaign')} on hold`, lead: '' },
    messages_in_doubt: {
      title: (count: number) => `${formatCounted(count, 'message')} in doubt`,
      lead: 'It is unknown whether the mail servers accepted them. Send them again, or give up.',
    },
    senders_waiting: { title: (count: number) => `${formatCounted(count, 'sender')} waiting`, lead: '' },
    parked_entries: {
      title: (count: number) => formatCounted(count, 'parked entry', 'parked entries'),
      lead: 'Accepted requests that could not be processed. Replay them once the cause is fixed, or drop them.',
    },
    coupons_short: { title: (count: number) => `${formatCounted(count, 'coupon list')} running short`, lead: '' },
    coupons_expiring: { title: (count: number) => `${formatCounted(count, 'coupon list')} about to expire`, lead: '' },
    limits_nearly_used: {
      title: (count: number) => `${formatCounted(count, 'limit')} nearly used`,
      lead: 'Over its limit, an operation returns 429 until the window ends.',
    },
  },
  details: {
    campaigns_halted: ({ state }: Told) =>
      state === 'overdue' ? 'Its start time has passed. Resume or cancel it.' : '',
    messages_in_doubt: ({ count = 0 }: Told) => formatCounted(count, 'message'),
    senders_waiting: nothing,
    parked_entries: nothing,
    coupons_short: (told: Told) => ofAll(told, 'codes left'),
    coupons_expiring: ({ count = 0 }: Told) =>
      count === 0 ? 'expires today' : `expires in ${formatCounted(count, 'day')}`,
    limits_nearly_used: (told: Told) => ofAll(told, 'used'),
  },
  more: (count: number) => `and ${formatCount(count)} more`,
  /** `track_events_per_minute` as people read it. */
  limit: (name: string) => name.replaceAll('_', ' ').replace(/^./, (first) => first.toUpperCase()),
  underWay: 'Campaigns under way',
  allCampaigns: 'All campaigns',
  noCampaigns: 'No campaign is under way',
  noCampaignsLead: 'Scheduled and running campaigns appear here with their progress.',
  newestShown: (count: number) => `The newest ${formatCount(count)}`,
  campaign: 'Campaign',
  state: 'State',
  starts: 'Starts',
  progress: 'Progress',
  doneOf: (done: string, all: string) => `${done} of ${all} done`,
  firstSteps: 'First steps',
  firstStepsLead: 'Nothing has arrived in this workspace yet.',
  steps: {
    event: {
      title: 'Send your first event',
      lead: 'One command in a terminal. The event appears here within two seconds.',
      action: 'Show the command',
    },
    keys: {
      title: 'Connect your programs',
      lead: 'They send events and users, and read reports, with a key.',
      action: 'Manage keys',
    },
    sender: {
      title: 'Set up a sender',
      lead: 'A sender has an address and an SMTP server.',
      action: 'Add a sender',
    },
    template: {
      title: 'Write an email template',
      lead: 'HTML with each person’s name, links and coupons.',
      action: 'Write a template',
    },
    segment: {
      title: 'Choose an audience',
      lead: 'A segment is everyone who meets its conditions.',
      action: 'Create a segment',
    },
    campaign: {
      title: 'Send a campaign',
      lead: 'Send a template to a segment, and measure goals.',
      action: 'Create a campaign',
    },
  },
  reference: {
    title: 'Read the API reference',
    lead: 'Read about every operation, and try it.',
    action: 'Open the reference',
  },
}
