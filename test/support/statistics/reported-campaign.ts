// A campaign of the last days that another system sent: two locales and variations, every kind of removal, failures, both control
// groups and purchases, so that its report has something in every section.
import { campaignCallsOf } from '../calls/campaign-calls.ts'
import { AUDIENCE, MESSAGE_EVENTS, reportCallsOf } from '../calls/report-calls.ts'
import { trackingOf } from '../calls/tracking.ts'
import type { TestServer } from '../server.ts'

const PEOPLE = 60
const DAY_MS = 24 * 60 * 60 * 1000
const REMOVALS = [
  'user_removed_due_to_opt_out',
  'user_removed_due_to_hard_bounce',
  'user_removed_due_to_frequency_capping',
  'user_removed_due_to_duplicate',
  'quiet_hours',
]

/** Its id. */
export async function addReportedCampaign(server: TestServer, name: string): Promise<string> {
  const goals = [
    { name: 'Purchase', event: 'Order Placed', window_hours: 72 },
    { name: 'Wishlist', event: 'Wishlist Added' },
  ]
  const id = await campaignCallsOf(server).make({ name, conversion_goals: goals })
  const reports = reportCallsOf(server)
  const start = Date.now() - 5 * DAY_MS
  const people = Array.from({ length: PEOPLE }, (_, index) => toPerson(index, start))
  const events = people.flatMap(({ events: own }) => own)
  await reports.send(AUDIENCE, id, { members: people.map(({ member }) => member) })
  await reports.send(MESSAGE_EVENTS, id, { events })
  await reports.close()
  await trackingOf(server).apply(...people.flatMap(({ purchase }) => (purchase ? [purchase] : [])))
  return id
}

function toPerson(index: number, start: number) {
  const [customer_id, platform] = [`person-${index}`, 'EMAIL']
  const [locale, variation] = [index % 3 === 0 ? 'de' : 'en', index % 2 === 0 ? 'A' : 'B']
  const at = (ms: number) => new Date(start + ms).toISOString()
  const group = index % 10 === 0 ? 'campaign_control' : index % 15 === 1 ? 'global_control' : 'target'
  const removed = group === 'target' && index % 7 === 2 ? REMOVALS[index % REMOVALS.length] : undefined
  const member = { customer_id, platform, group, locale, variation, evaluated_at: at(0), ...(removed && { removed }) }
  const event = (kind: string, ms: number, more: object = {}) => {
    return { customer_id, platform, kind, time: at(ms), message_id: `m-${index}`, ...more }
  }
  const bought = index % 4 === 0 || group === 'global_control'
  const action = { action: 'Order Placed', platform: 'WEB', user_time: at(2 * DAY_MS) }
  const purchase = bought ? { type: 'event', customer_id, actions: [action] } : undefined
  if (group !== 'target' || removed !== undefined) return { member, purchase, events: [] }
  if (index % 11 === 3) return { member, purchase, events: [event('failed', 60_000, { reason: 'blocked' })] }
  const opened = [event('impression', DAY_MS), event('impression', 2 * DAY_MS), event('click', DAY_MS + 60_000)]
  const events = [event('attempted', 0), event('sent', 60_000), ...(index % 2 === 0 ? opened : [])]
  return { member, purchase, events }
}
