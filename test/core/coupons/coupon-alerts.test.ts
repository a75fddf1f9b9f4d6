// Which alerts of a coupon list are due: shortage once until a refill, expiry once a day.
import { expect, it } from 'vitest'
import { decideAlerts, NOTHING_SENT, type SentAlerts } from '../../../src/core/coupons/coupon-alerts.ts'
import { NO_ALERTS, type CouponList } from '../../../src/core/coupons/coupon-list.ts'

const TODAY = '2026-03-10'

const list: CouponList = {
  id: 'list',
  workspaceId: 'main',
  name: 'Summer',
  label: 'summer',
  expiresAt: '2026-03-13',
  createdBy: 'anna',
  emailAlertSubscribers: ['anna@example.com'],
  alertConditions: {
    ...NO_ALERTS,
    expiryAlert: { alert: true, daysBefore: 3 },
    couponShortageAlert: { alert: true, thresholdCount: 10 },
  },
  archivedAt: null,
  createdAt: 1,
  updatedAt: 1,
  totalCoupons: 100,
  availableCoupons: 10,
  heldCoupons: 0,
  issuedCoupons: 90,
}

it('tells of a shortage once, and again after a refill', () => {
  let sent: SentAlerts = NOTHING_SENT
  const told = [11, 10, 10, 3, 11, 12, 10, 0].map((availableCoupons) => {
    const due = decideAlerts({ ...list, availableCoupons }, sent, TODAY)
    sent = due.next
    return due.news.some(({ kind }) => kind === 'shortage')
  })
  expect(told).toEqual([false, true, false, false, false, false, true, false])
})

it('tells of the expiry daily, from days_before until the last day', () => {
  let sent: SentAlerts = NOTHING_SENT
  const days = ['2026-03-09', '2026-03-10', '2026-03-10', '2026-03-11', '2026-03-13', '2026-03-14']
  const told = days.map((today) => {
    const due = decideAlerts(list, sent, today)
    sent = due.next
    return due.news.filter(({ kind }) => kind === 'expiry')
  })
  const news = (days: number) => [{ kind: 'expiry', expiresAt: '2026-03-13', days }]
  expect(told).toEqual([[], news(3), [], news(2), news(0), []])
})

const silent: [why: string, changes: Partial<CouponList>][] = [
  ['is archived', { archivedAt: 5 }],
  ['has expired', { expiresAt: '2026-03-09' }],
  ['has no subscribers', { emailAlertSubscribers: [] }],
  ['has no alerts', { alertConditions: NO_ALERTS }],
  ['was never filled', { totalCoupons: 0, expiresAt: '2199-12-31' }],
]
it.each(silent)('tells nothing of a list that %s', (_why, changes) => {
  const due = decideAlerts({ ...list, availableCoupons: 0, ...changes }, NOTHING_SENT, TODAY)
  expect(due).toEqual({ news: [], next: NOTHING_SENT })
})
