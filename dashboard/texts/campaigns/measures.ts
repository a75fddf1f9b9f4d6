// The numbers of messages: their names, and what each counts.
import type { MetricType } from '../../../src/core/statistics/series/series-tree.ts'
import type { PerformanceStats } from '../../../src/operations/statistics/campaign-stats-body.ts'
import type { Static } from 'typebox'

export type PerformanceNumbers = Static<typeof PerformanceStats>
export type Measure = keyof PerformanceNumbers

interface MeasureText {
  readonly title: string
  /** What happened to a message, after «messages that». */
  readonly counts: string
}

const COUNTS: Readonly<Partial<Record<Measure, MeasureText>>> = {
  attempted: { title: 'Attempted', counts: 'the sending system tried to send' },
  sent: { title: 'Sent', counts: 'the server of the recipient, or the gateway, accepted' },
  failed: { title: 'Failed', counts: 'could not be sent' },
  delivered: { title: 'Delivered', counts: 'were reported as delivered' },
  impression: {
    title: 'Opens',
    counts: 'were shown or, for email, opened. Mail scanners are excluded, image proxies included',
  },
  click: { title: 'Clicks', counts: 'had a link clicked. Mail scanners are excluded' },
  bounce: { title: 'Bounces', counts: 'bounced after they were sent: hard, soft and blocked' },
  hard_bounce: { title: 'Hard bounces', counts: 'bounced because the address does not exist' },
  soft_bounce: { title: 'Soft bounces', counts: 'bounced temporarily, such as from a full mailbox' },
  complaint: { title: 'Complaints', counts: 'were reported as spam' },
  unsubscribe: { title: 'Unsubscribes', counts: 'led to an unsubscribe' },
  machine_impression: {
    title: 'Machine opens',
    counts: 'were opened by mail scanners. Opens do not include them',
  },
  machine_click: {
    title: 'Machine clicks',
    counts: 'had links followed by mail scanners. Clicks do not include them',
  },
  proxy_impression: {
    title: 'Proxy opens',
    counts: 'were opened through image proxies of mail services. Opens include them',
  },
}

const RATES: Readonly<Partial<Record<Measure, readonly [title: string, counts: string]>>> = {
  sent_rate: ['Sent rate', 'Sent divided by attempted.'],
  failure_rate: ['Failure rate', 'Failed divided by attempted.'],
  delivery_rate: [
    'Delivery rate',
    'Delivered divided by sent. Without delivery reports: for email, sent minus bounces, divided by sent; otherwise opens divided by sent.',
  ],
  open_rate: ['Open rate', 'Opens divided by delivered; for email without delivery reports, by sent minus bounces.'],
  ctr: ['Click rate', 'Clicks divided by opens.'],
  bounce_rate: ['Bounce rate', 'Bounces divided by sent.'],
  unsubscribe_rate: ['Unsubscribe rate', 'Unsubscribes divided by sent.'],
  complaint_rate: ['Complaint rate', 'Complaints divided by sent.'],
}

export function measureTitle(measure: Measure): string {
  return COUNTS[measure]?.title ?? RATES[measure]?.[0] ?? measure
}

export function measureHint(measure: Measure, metric: MetricType): string {
  const count = COUNTS[measure]
  if (!count) return RATES[measure]?.[1] ?? ''
  return metric === 'TOTAL'
    ? `Messages that ${count.counts}. A message counts each time this happens.`
    : `Distinct people with messages that ${count.counts}.`
}
