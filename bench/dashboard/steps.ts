// What the bench of the dashboard opens: a campaign's report with its filters, and the lists.
import { customerIdOf } from '../population.ts'
import { RARE_NAME } from './dashboard-rows.ts'

const FILTER_MS_MAX = 100
const LIST_MS_MAX = 300
const OLDER = '.pager a:last-child'
/** Of the loaded campaigns, those with a number of one digit. */
const CAMPAIGNS = 9

export interface Step {
  readonly what: string
  /** An address, or the selector of a link. */
  readonly target: string
  /** The goal; undefined: only measured. */
  readonly maxMs: number | undefined
}

/** Of another campaign and another range in each round, so that no answer is cached. */
export function reportAddress(round: number, more: Readonly<Record<string, string>> = {}): string {
  const days = { days: 'dates', from: `2026-05-${String((round % 20) + 1).padStart(2, '0')}`, to: '2026-05-30' }
  const query = new URLSearchParams({ ...days, ...more }).toString()
  return `/dashboard/bench/campaigns/campaign-${(round % CAMPAIGNS) + 1}?${query}`
}

/** Each adds to the filters before it. */
export function reportSteps(round: number): Step[] {
  const changes: [what: string, values: Readonly<Record<string, string>>][] = [
    ['attribution', { attribution: 'VIEW_THROUGH' }],
    ['total', { count: 'TOTAL' }],
    ['platform', { platform: 'IOS' }],
    ['range', { to: '2026-05-31' }],
  ]
  return changes.map(([what], index) => {
    const all = Object.assign({}, ...changes.slice(0, index + 1).map(([, values]) => values)) as Record<string, string>
    return { what: `report: ${what}`, target: reportAddress(round, all), maxMs: FILTER_MS_MAX }
  })
}

/** `ask` answers a GET request. */
export async function listSteps(ask: (path: string) => Promise<unknown>): Promise<Step[]> {
  const newest = (await ask('/v1/customer/bench/users?limit=1')) as { data: [{ customer_id: string }] }
  const [{ customer_id: id }] = newest.data
  const targets: [what: string, target: string][] = [
    ['users: first page', 'users'],
    ['users: next page', OLDER],
    ['users: part of many ids', `users?search=${id.slice(-7, -2)}`],
    ['users: part of few ids', `users?search=${id.slice(-5)}`],
    ['users: part of the oldest id', `users?search=${customerIdOf(0).slice(-8)}`],
    ['users: whole id', `users?search=${customerIdOf(5)}`],
    ['events: first page', 'events'],
    ['events: next page', OLDER],
    ['events: name', 'events?action=Page+Viewed'],
    ['events: rare name', `events?action=${encodeURIComponent(RARE_NAME)}`],
    ['events: platform', 'events?platform=IOS'],
    ['events: platform without events', 'events?platform=TV'],
    ['events: user', `events?user=${id}`],
    ['campaigns: first page', 'campaigns'],
    ['campaigns: next page', OLDER],
    ['campaigns: search', 'campaigns?search=campaign-'],
    ['templates: first page', 'templates'],
    ['templates: next page', OLDER],
    ['templates: search', 'templates?search=ews+77'],
    ['audit: first page', 'settings/audit'],
    ['audit: next page', OLDER],
    ['audit: who', 'settings/audit?who=key%3Areports'],
  ]
  return targets.map(([what, target]) => {
    return { what, target: target === OLDER ? OLDER : `/dashboard/bench/${target}`, maxMs: LIST_MS_MAX }
  })
}
