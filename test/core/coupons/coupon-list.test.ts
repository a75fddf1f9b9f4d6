// Coupon lists without store or HTTP: the state table of the status, calendar dates, and valid labels and codes.
import { describe, expect, it } from 'vitest'
import {
  calendarDate,
  couponCodeProblem,
  couponListStatus,
  expiryFaults,
  labelProblem,
  NO_ALERTS,
  personalizationSnippet,
  toActiveList,
  toArchivedList,
  toCouponCode,
  type CouponList,
} from '../../../src/core/coupons/coupon-list.ts'

const TODAY = '2026-03-10'
const YESTERDAY = '2026-03-09'
const NOW = Date.parse('2026-03-10T12:00:00Z')

const list: CouponList = {
  id: 'list',
  workspaceId: 'main',
  name: 'Summer',
  label: 'summer',
  expiresAt: TODAY,
  createdBy: 'anna',
  emailAlertSubscribers: [],
  alertConditions: NO_ALERTS,
  archivedAt: null,
  createdAt: 1,
  updatedAt: 1,
  totalCoupons: 0,
  availableCoupons: 0,
  heldCoupons: 0,
  issuedCoupons: 0,
}
const lists = {
  ACTIVE: list,
  EXPIRED: { ...list, expiresAt: YESTERDAY },
  ARCHIVED: { ...list, archivedAt: 5 },
}

describe('the status of a coupon list', () => {
  const days: [expiresAt: string, archivedAt: number | null, status: string][] = [
    ['2026-03-11', null, 'ACTIVE'],
    [TODAY, null, 'ACTIVE'],
    [YESTERDAY, null, 'EXPIRED'],
    ['2025-12-31', null, 'EXPIRED'],
    ['9999-12-31', null, 'ACTIVE'],
    ['2026-03-11', 5, 'ARCHIVED'],
    [YESTERDAY, 5, 'ARCHIVED'],
  ]
  it.each(days)('that expires on %s and was archived at %s is %s', (expiresAt, archivedAt, status) => {
    expect(couponListStatus({ expiresAt, archivedAt }, TODAY)).toBe(status)
  })

  const changes: [from: keyof typeof lists, change: string, to: string][] = [
    ['ACTIVE', 'archive', 'ARCHIVED'],
    ['EXPIRED', 'archive', 'ARCHIVED'],
    ['ARCHIVED', 'archive', 'ARCHIVED'],
    ['ACTIVE', 'activate', 'ACTIVE'],
    ['EXPIRED', 'activate', 'ACTIVE'],
    ['ARCHIVED', 'activate', 'ACTIVE'],
  ]
  it.each(changes)('changes from %s on %s to %s', (from, change, to) => {
    const changed = change === 'archive' ? toArchivedList(lists[from], NOW) : toActiveList(lists[from], TODAY, NOW)
    expect(couponListStatus(changed, TODAY)).toBe(to)
  })

  it('stays the same when nothing changes, and so does the update time', () => {
    expect(toArchivedList(lists.ARCHIVED, NOW)).toBe(lists.ARCHIVED)
    expect(toActiveList(lists.ACTIVE, TODAY, NOW)).toBe(lists.ACTIVE)
    expect(toArchivedList(lists.ACTIVE, NOW).updatedAt).toBe(NOW)
    expect(toActiveList(lists.ARCHIVED, TODAY, NOW).updatedAt).toBe(NOW)
  })
})

describe('dates of coupon lists', () => {
  const zones: [zone: string, instant: string, date: string][] = [
    ['UTC', '2026-03-10T23:59:59.999Z', '2026-03-10'],
    ['UTC', '2026-03-11T00:00:00.000Z', '2026-03-11'],
    ['America/Los_Angeles', '2026-03-11T06:59:59.999Z', '2026-03-10'],
    ['America/Los_Angeles', '2026-03-11T07:00:00.000Z', '2026-03-11'],
    ['Pacific/Kiritimati', '2026-03-10T10:00:00.000Z', '2026-03-11'],
    ['Asia/Kathmandu', '2026-03-10T18:14:59.999Z', '2026-03-10'],
    ['Asia/Kathmandu', '2026-03-10T18:15:00.000Z', '2026-03-11'],
  ]
  it.each(zones)('follow the time zone: in %s at %s it is %s', (zone, instant, date) => {
    expect(calendarDate(zone, Date.parse(instant))).toBe(date)
  })

  it('must not lie in the past', () => {
    expect(expiryFaults(YESTERDAY, TODAY)).toEqual([{ field: 'expires_at', problem: expect.any(String) as string }])
    expect(expiryFaults(TODAY, TODAY)).toEqual([])
    expect(expiryFaults(undefined, TODAY)).toEqual([])
  })
})

describe('labels and codes', () => {
  const labels: [label: string, isValid: boolean][] = [
    ['summer_Sale-2026', true],
    ['7', true],
    ['summer sale', false],
    ['sömmer', false],
    ['a]b', false],
    ['', false],
    ['a\n', false],
  ]
  it.each(labels)('the label %j is valid: %s', (label, isValid) => {
    expect(labelProblem(label) === undefined).toBe(isValid)
  })

  it('the snippet contains the label without quotes', () => {
    expect(personalizationSnippet('summer')).toBe('{{Coupons.CouponListName[summer]}}')
  })

  const codes: [sent: string, code: string | undefined][] = [
    ['SUMMER', 'SUMMER'],
    ['  SUMMER\u00a0', 'SUMMER'],
    ['TWO WORDS', 'TWO WORDS'],
    ['Größe-😀', 'Größe-😀'],
    ['x'.repeat(128), 'x'.repeat(128)],
    [` ${'😀'.repeat(128)} `, '😀'.repeat(128)],
    ['x'.repeat(129), undefined],
    ['😀'.repeat(129), undefined],
    ['', undefined],
    ['   ', undefined],
    ['A\tB', undefined],
    ['\tA', undefined],
    ['A\u0085B', undefined],
    ['A\u007f', undefined],
  ]
  it.each(codes)('the code %j becomes %j', (sent, code) => {
    expect(couponCodeProblem(sent) === undefined ? toCouponCode(sent) : undefined).toBe(code)
  })
})
