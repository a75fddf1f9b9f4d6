// For whom conditions hold ("Segments").
import { describe, expect, it } from 'vitest'
import { toJsonNumber } from '../../../src/core/json/exact-number.ts'
import type { SegmentCondition } from '../../../src/core/segments/condition.ts'
import { holdsFor, type Person } from '../../../src/core/segments/holds-for.ts'
import { toRule } from '../../../src/core/segments/rule.ts'
import { NOTHING_SET } from '../../../src/core/users/preference.ts'

const NOW = Date.parse('2026-05-20T12:00:00Z')
const DAY = 24 * 60 * 60 * 1000
const CAMPAIGN = 7

const ANNA: Person = {
  attributes: {
    plan: 'premium',
    age: 41,
    id: toJsonNumber('12345678901234567890'),
    tags: ['vip', 2],
    cart: { total: 99.5 },
    cleared: null,
    birthday: '1962-02-28',
    signed_up: '2026-05-20T00:30:00+02:00',
    local: '2026-05-20T00:30:00',
    epoch: '1777888800',
  },
  events: [
    { action: 'Order', time: NOW - DAY, attributes: { amount: 10 } },
    { action: 'Order', time: NOW - 9 * DAY, attributes: { amount: 200 } },
  ],
  messages: [{ campaign: CAMPAIGN, kind: 'impression', time: NOW - 2 * DAY }],
  preference: { status: ['OPTED_IN', 1], categories: { news: [true, 1], offers: [false, 1] } },
  createdAt: NOW - 30 * DAY,
}
const BEN: Person = { ...ANNA, attributes: {}, events: [], messages: [], preference: NOTHING_SET }

function holds(condition: SegmentCondition, person = ANNA, timezone = 'UTC'): boolean {
  return holdsFor(toRule(condition, { now: NOW, timezone, campaigns: new Map([['c', CAMPAIGN]]) }), person)
}

describe('A condition on', () => {
  const cases: [what: string, condition: SegmentCondition, verdict: boolean][] = [
    ['an equal text', { attribute: 'plan', operator: 'is', value: 'premium' }, true],
    ['a text in another case', { attribute: 'plan', operator: 'is', value: 'Premium' }, false],
    ['a number as text', { attribute: 'age', operator: 'is', value: '41' }, false],
    ['an absent attribute', { attribute: 'x', operator: 'is_not', value: 1 }, true],
    [
      'all digits of a number',
      { attribute: 'id', operator: 'greater_than', value: toJsonNumber('12345678901234567889') },
      true,
    ],
    ['a nested attribute', { attribute: 'cart.total', operator: 'less_than', value: 100 }, true],
    ['one of some values', { attribute: 'age', operator: 'is_one_of', value: ['41', 41] }, true],
    ['none of some values', { attribute: 'age', operator: 'is_one_of', value: ['41', 40] }, false],
    ['an absent one of some values', { attribute: 'x', operator: 'is_one_of', value: [null] }, false],
    ['an element of a list', { attribute: 'tags', operator: 'contains', value: 2 }, true],
    ['a prefix', { attribute: 'plan', operator: 'starts_with', value: 'pre' }, true],
    ['a prefix of a number', { attribute: 'age', operator: 'starts_with', value: '4' }, false],
    ['an attribute with a value', { attribute: 'plan', operator: 'exists' }, true],
    ['a cleared attribute', { attribute: 'cleared', operator: 'exists' }, false],
    ['null', { attribute: 'cleared', operator: 'is', value: null }, true],
    ['a date before 1970', { attribute: 'birthday', operator: 'before', value: '1962-03-01' }, true],
    ['the same date', { attribute: 'birthday', operator: 'before', value: '1962-02-28' }, false],
    ['an instant with a zone', { attribute: 'signed_up', operator: 'before', value: '2026-05-20' }, true],
    ['days ago', { attribute: 'signed_up', operator: 'after', value: { days_ago: 1 } }, true],
    ['a local time', { attribute: 'local', operator: 'after', value: '2000-01-01' }, false],
    ['epoch seconds in a text', { attribute: 'epoch', operator: 'after', value: '2000-01-01' }, false],
    ['an event', { event: 'Order', did: true }, true],
    ['another event', { event: 'Opened', did: true }, false],
    ['an event that did not happen', { event: 'Opened', did: false }, true],
    ['two events', { event: 'Order', did: true, times: { at_least: 2 } }, true],
    ['three events', { event: 'Order', did: true, times: { at_least: 3 } }, false],
    ['at most no event', { event: 'Opened', did: true, times: { at_most: 0 } }, true],
    ['exactly one event of a window', { event: 'Order', did: true, times: { exactly: 1 }, within_days: 1 }, true],
    ['an event at the edge of a window', { event: 'Order', did: true, times: { exactly: 2 }, within_days: 9 }, true],
    [
      'an event between two instants',
      { event: 'Order', did: true, between: { from: '2026-05-11', to: '2026-05-11T12:00:00Z' } },
      false,
    ],
    [
      'an event with an attribute',
      { event: 'Order', did: true, where: [{ attribute: 'amount', operator: 'greater_than', value: 100 }] },
      true,
    ],
    [
      'an event with an attribute in a window',
      {
        event: 'Order',
        did: true,
        within_days: 2,
        where: [{ attribute: 'amount', operator: 'greater_than', value: 100 }],
      },
      false,
    ],
    ['an impression', { campaign: 'c', did: 'impression' }, true],
    ['an impression that is too old', { campaign: 'c', did: 'impression', within_days: 1 }, false],
    ['a click', { campaign: 'c', did: 'click' }, false],
    ['a campaign that was deleted', { campaign: 'gone', did: 'impression' }, false],
    ['a status', { preference: { opt_in_status: ['OPTED_IN', 'DOUBLE_OPTED_IN'] } }, true],
    ['a category that is wanted', { preference: { category: 'news', is: true } }, true],
    ['a category that is not wanted', { preference: { category: 'offers', is: true } }, false],
    ['a category that was never asked', { preference: { category: 'other', is: 'never_asked' } }, true],
    ['a name that every object has', { preference: { category: 'toString', is: 'never_asked' } }, true],
    ['the creation', { created: { after: { days_ago: 31 }, before: { days_ago: 29 } } }, true],
    ['the instant of creation itself', { created: { after: { days_ago: 30 } } }, false],
    [
      'all of two',
      {
        all: [
          { event: 'Order', did: true },
          { event: 'Opened', did: true },
        ],
      },
      false,
    ],
    [
      'any of two',
      {
        any: [
          { event: 'Order', did: true },
          { event: 'Opened', did: true },
        ],
      },
      true,
    ],
    ['the opposite', { not: { event: 'Order', did: true } }, false],
  ]
  it.each(cases)('%s: %j is %s', (_what, condition, verdict) => {
    expect(holds(condition)).toBe(verdict)
  })

  it('the status takes those who were never asked for OPT_IN_PENDING', () => {
    expect(holds({ preference: { opt_in_status: ['OPT_IN_PENDING'] } }, BEN)).toBe(true)
  })

  it('a date takes the start of its day in the zone of the workspace', () => {
    const person = { ...ANNA, attributes: { due: '2026-05-20' } }
    const condition = { attribute: 'due', operator: 'before', value: '2026-05-19T22:30:00Z' } as const
    expect(holds(condition, person, 'Europe/Berlin')).toBe(true)
    expect(holds(condition, person, 'UTC')).toBe(false)
  })
})
