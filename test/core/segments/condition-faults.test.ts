// Which conditions are refused, and what the faults name ("Segments").
import { describe, expect, it } from 'vitest'
import { toJsonNumber } from '../../../src/core/json/exact-number.ts'
import { conditionFaults, DEPTH_MAX, LEAVES_MAX } from '../../../src/core/segments/condition-faults.ts'
import { TIMES_MAX } from '../../../src/core/segments/leaf-faults.ts'
import { DAYS_MAX, VALUES_MAX } from '../../../src/core/segments/value-faults.ts'

const PLAN = { attribute: 'plan', operator: 'exists' }
const SETTINGS = { timezone: 'Europe/Berlin', categories: ['news'], emailProtection: 'none' } as const

function fieldsOf(condition: unknown, settings: Parameters<typeof conditionFaults>[2] = SETTINGS): string[] {
  return conditionFaults(condition, 'where', settings).map(({ field }) => field)
}

/** A list of the same value. */
function repeated<Value>(value: Value, length: number): Value[] {
  return Array.from({ length }, () => value)
}

function nested(levels: number): unknown {
  return levels === 0 ? PLAN : { not: nested(levels - 1) }
}

const event = (members: object) => ({ event: 'Order Placed', did: true, ...members })
const attribute = (operator: string, value?: unknown) => ({
  attribute: 'a',
  operator,
  ...(value !== undefined && { value }),
})

describe('A condition', () => {
  const accepted: [what: string, condition: unknown][] = [
    ['as deep as allowed', nested(DEPTH_MAX)],
    ['with as many leaves as allowed', { any: repeated(PLAN, LEAVES_MAX) }],
    ['on any JSON value', attribute('is', { list: [1, null] })],
    ['on as many values as allowed', attribute('is_one_of', Array(VALUES_MAX).fill('a'))],
    ['on a date', attribute('before', '1962-02-28')],
    ['on an instant', attribute('after', '2026-05-04T10:00:00+05:30')],
    ['on days ago', attribute('after', { days_ago: DAYS_MAX })],
    ['on a prefix', attribute('starts_with', 'a')],
    ['on an event that never happened', event({ did: false, within_days: 3 })],
    ['on a number of events', event({ times: { exactly: 0 }, between: { from: '2026-01-01', to: '2026-02-01' } })],
    ['on attributes of events', event({ where: [{ attribute: 'cart.total', operator: 'greater_than', value: 1 }] })],
    ['on a campaign', { campaign: 'c', did: 'click', within_days: 1 }],
    ['on a status', { preference: { opt_in_status: ['OPTED_IN'] } }],
    ['on a category', { preference: { category: 'news', is: 'never_asked' } }],
    ['on the creation', { created: { after: '2026-01-01', before: { days_ago: 1 } } }],
    ['on a segment', { segment: 's' }],
  ]
  it.each(accepted)('%s is accepted', (_what, condition) => {
    expect(conditionFaults(condition, 'where', SETTINGS)).toEqual([])
  })

  const refused: [what: string, condition: unknown, fields: string[]][] = [
    ['that is a list', [PLAN], ['where']],
    ['that is empty', {}, ['where']],
    ['of two kinds', { all: [PLAN], any: [PLAN] }, ['where']],
    ['with an unknown member', { all: [{ ...PLAN, times: 1 }] }, ['where.all[0].times']],
    ['with an empty list', { all: [] }, ['where.all']],
    ['with a part that is a text', { any: ['s'] }, ['where.any[0]']],
    ['nested too deep', { all: [nested(DEPTH_MAX)] }, [`where.all[0]${'.not'.repeat(DEPTH_MAX - 1)}`]],
    ['with too many leaves', { all: [{ any: repeated(PLAN, LEAVES_MAX) }, PLAN] }, ['where']],
    ['with an unknown operator', attribute('like', 'a'), ['where.operator']],
    ['without an attribute', { attribute: '', operator: 'exists' }, ['where.attribute']],
    ['without a value', { all: [PLAN, attribute('is')] }, ['where.all[1].value']],
    ['that compares a text with greater_than', attribute('greater_than', '1'), ['where.value']],
    ['that contains an object', attribute('contains', {}), ['where.value']],
    ['with a value of a NUL character', attribute('is', { 'a\u0000': 1 }), ['where.value']],
    ['with too long a number', attribute('is', toJsonNumber('9'.repeat(500))), ['where.value']],
    ['with no values', attribute('is_one_of', []), ['where.value']],
    ['with too many values', attribute('is_one_of', Array(VALUES_MAX + 1).fill(1)), ['where.value']],
    ['with a value that is a list', attribute('is_one_of', ['a', []]), ['where.value[1]']],
    ['with an empty prefix', attribute('starts_with', ''), ['where.value']],
    ['with a local time', attribute('before', '2026-05-04T10:00:00'), ['where.value']],
    ['with epoch seconds', attribute('before', '1777888800'), ['where.value']],
    ['with days that are no whole number', attribute('before', { days_ago: 1.5 }), ['where.value.days_ago']],
    ['with hours ago', attribute('before', { hours_ago: 1 }), ['where.value.hours_ago', 'where.value.days_ago']],
    ['without did', { event: 'e' }, ['where.did']],
    ['with times of what was not done', event({ did: false, times: { at_least: 1 } }), ['where.times']],
    ['with two kinds of times', event({ times: { at_least: 1, at_most: 2 } }), ['where.times']],
    ['with too many times', event({ times: { at_least: TIMES_MAX + 1 } }), ['where.times.at_least']],
    ['with at least no time', event({ times: { at_least: 0 } }), ['where.times.at_least']],
    [
      'with two periods',
      event({ within_days: 1, between: { from: '2026-01-01', to: '2026-01-02' } }),
      ['where.between'],
    ],
    [
      'with a period that ends before it begins',
      event({ between: { from: '2026-01-02', to: '2026-01-02' } }),
      ['where.between.to'],
    ],
    ['with a period without an end', event({ between: { from: '2026-01-02' } }), ['where.between.to']],
    ['with no days', event({ within_days: 0 }), ['where.within_days']],
    ['on an event with a prefix', event({ where: [attribute('starts_with', 'a')] }), ['where.where[0].operator']],
    [
      'on an event without a value',
      event({ where: [attribute('exists'), attribute('less_than')] }),
      ['where.where[1].value'],
    ],
    ['on a campaign that was delivered', { campaign: 'c', did: 'delivered' }, ['where.did']],
    ['on an unknown status', { preference: { opt_in_status: ['IN'] } }, ['where.preference.opt_in_status[0]']],
    ['on an unknown category', { preference: { category: 'offers', is: true } }, ['where.preference.category']],
    ['on a category without a decision', { preference: { category: 'news' } }, ['where.preference.is']],
    ['on any creation', { created: {} }, ['where.created']],
    ['on a segment without an id', { segment: 7 }, ['where.segment']],
    [
      'with several faults',
      { all: [attribute('is'), { segment: '' }] },
      ['where.all[0].value', 'where.all[1].segment'],
    ],
  ]
  it.each(refused)('%s is refused', (_what, condition, fields) => {
    expect(fieldsOf(condition)).toEqual(fields)
  })

  it('on an encrypted address only asks whether it exists', () => {
    const encrypted = { ...SETTINGS, emailProtection: 'encrypted' } as const
    expect(fieldsOf({ attribute: 'email', operator: 'exists' }, encrypted)).toEqual([])
    expect(fieldsOf({ attribute: 'email', operator: 'contains', value: '@' }, encrypted)).toEqual(['where.operator'])
    expect(fieldsOf({ attribute: 'email', operator: 'contains', value: '@' })).toEqual([])
  })

  it('of very many leaves names no more faults than a response has', () => {
    const wide = { any: repeated({ any: repeated({ any: repeated({}, LEAVES_MAX) }, LEAVES_MAX) }, LEAVES_MAX) }
    expect(fieldsOf(wide).length).toBeLessThanOrEqual(1_000)
  })
})
