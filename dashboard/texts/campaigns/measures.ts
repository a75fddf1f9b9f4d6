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
    counts: 'were shown; an email was opened. Programs that check mail are left out, picture proxies are included',
  },
  click: { title: 'Clicks', counts: 'had a link clicked. Programs that check mail are left out' },
  bounce: { title: 'Bounces', counts: 'came back after they had been sent: hard, soft and blocked' },
  hard_bounce: { title: 'Hard bounces', counts: 'came back because the address does not exist' },
  soft_bounce: { title: 'Soft bounces', counts: 'came back for now, such as from a full mailbox' },
  complaint: { title: 'Complaints', counts: 'were reported as spam' },
  unsubscribe: { title: 'Unsubscribes', counts: 'led to an unsubscription' },
  machine_impression: {
    title: 'Opens by machines',
    counts: 'were opened by programs that check mail. Opens do not include them',
  },
  machine_click: {
    title: 'Clicks by machines',
    counts: 'had links followed by programs that check mail. Clicks do not include them',
  },
  proxy_impression: {
    title: 'Opens through proxies',
    counts: 'were opened through picture proxies of mail services. Opens include them',
  },
}

const RATES: Readonly<Partial<Record<Measure, readonly [title: string, counts: string]>>> = {
  sent_rate: ['Sent rate', 'Sent divided by attempted.'],
  failure_rate: ['Failure rate', 'Failed divided by attempted.'],
  delivery_rate: [
    'Delivery rate',
    'Delivered divided by sent. Where no delivery is reported: for email sent without bounces, divided by sent; else opens divided by sent.',
  ],
  open_rate: [
    'Open rate',
    'Opens divided by delivered; for email, where no delivery is reported, by sent without bounces.',
  ],
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
    ? `All messages, or times, that ${count.counts}.`
    : `Distinct people with messages that ${count.counts}.`
}
