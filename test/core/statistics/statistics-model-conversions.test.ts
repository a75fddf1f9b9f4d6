// Pins the naive model of campaign statistics to `docs/api/statistics.md`, from conversions to presence: small examples, one for
// each rule, whose numbers were worked out by hand.
import { describe, expect, it } from 'vitest'
import type { Condition } from '../../../src/core/campaigns/goal.ts'
import {
  DAY_OF_NOON,
  HOUR,
  NOON,
  controlOf,
  event,
  goal,
  keysOf,
  member,
  message,
  statsOf,
  variationOf,
  workspace,
} from '../../support/statistics/statistics-examples.ts'
import type { MessageReport } from '../../support/statistics/statistics-model-facts.ts'
import { upliftOf } from '../../support/statistics/statistics-model-numbers.ts'
import { StatisticsModel, type Question } from '../../support/statistics/statistics-model.ts'

describe('conversions', () => {
  const click = message({ kind: 'click' })
  const impression = message({ kind: 'impression' })
  const touches = [click, impression, message({})]
  const everywhere = ['VIEW_THROUGH', 'CLICK_THROUGH', 'IN_SESSION', 'TOTAL_CONVERSIONS', 'CLICK_CONVERSIONS'] as const

  const windows: [after: number, messages: MessageReport[], attributions: readonly string[]][] = [
    [0, touches, everywhere],
    [0.5 * HOUR, touches, everywhere],
    [0.5 * HOUR + 1, touches, ['VIEW_THROUGH', 'CLICK_THROUGH', 'TOTAL_CONVERSIONS', 'CLICK_CONVERSIONS']],
    [HOUR, touches, ['VIEW_THROUGH', 'CLICK_THROUGH', 'TOTAL_CONVERSIONS', 'CLICK_CONVERSIONS']],
    [HOUR + 1, touches, []],
    [-1, touches, []],
    [HOUR, [impression], ['VIEW_THROUGH', 'TOTAL_CONVERSIONS']],
    [HOUR, [message({})], ['TOTAL_CONVERSIONS']],
    [HOUR, [message({ kind: 'delivered' })], []],
    [0, [{ ...click, customerId: 'bob' }], []],
  ]
  it.each(windows)('%d ms after the touch count only within the window of an hour', (after, messages, expected) => {
    const found = everywhere.filter((attributionType) => {
      const question = { ...DAY_OF_NOON, attributionType }
      const facts = { messages, events: [event({ time: NOON + after })], goals: [goal({})] }
      return variationOf(facts, { question })?.conversion_goal_stats['bought']?.conversions === 1
    })
    expect(found).toEqual(expected)
  })

  it('count events or users, are dated by the event, and divide by the base of the attribution type', () => {
    const messages = [
      ...['d', 'e', 'f', 'g'].map((deviceId) => message({ deviceId })),
      ...['d', 'e'].map((deviceId) => message({ deviceId, kind: 'impression' })),
      ...['d', 'e', 'f'].map((deviceId) => message({ deviceId, kind: 'click' })),
      message({ customerId: 'bob', kind: 'impression' }),
    ]
    const times = [NOON, NOON + 1, NOON + 13 * HOUR]
    const events = times.map((time) => event({ time, eventId: `e${time}` }))
    const stats = (attributionType: Question['attributionType'], metricType: Question['metricType']) => {
      const question = { ...DAY_OF_NOON, attributionType, metricType }
      const facts = { messages, events: [...events, ...events], goals: [goal({ windowHours: 36 })] }
      const { conversions, cvr } = variationOf(facts, { question })?.conversion_goal_stats['bought'] ?? {}
      return [conversions, cvr]
    }
    expect(stats('VIEW_THROUGH', 'TOTAL')).toEqual([2, 66.67])
    expect(stats('VIEW_THROUGH', 'UNIQUE')).toEqual([1, 50])
    expect(stats('CLICK_THROUGH', 'TOTAL')).toEqual([2, 66.67])
    expect(stats('IN_SESSION', 'UNIQUE')).toEqual([1, 100])
    expect(stats('TOTAL_CONVERSIONS', 'TOTAL')).toEqual([2, 50])
    expect(stats('CLICK_CONVERSIONS', 'TOTAL')).toEqual([2, 66.67])
  })

  it('are credited to the latest touch, at the same instant to the first platform in text order', () => {
    const audiences = [member({ platform: 'tv', variation: 'T' }), member({ platform: 'ios', variation: 'I' })]
    const messages = [
      message({ kind: 'impression', platform: 'tv' }),
      message({ kind: 'impression', platform: 'ios' }),
      message({ kind: 'impression', platform: 'android', time: NOON - 1 }),
    ]
    const facts = { audiences, messages, events: [event({ time: NOON + HOUR })], goals: [goal({})] }
    const at = (platform: string, variation: string) =>
      variationOf(facts, { platform, variation })?.conversion_goal_stats['bought']?.conversions
    expect([at('IOS', 'I'), at('TV', 'T'), at('ANDROID', 'all_variations')]).toEqual([1, 0, 0])
    expect([at('all_platforms', 'I'), at('all_platforms', 'all_variations')]).toEqual([1, 1])
  })

  const winners: [what: string, messages: MessageReport[], winner: string, attribution: readonly string[]][] = [
    [
      'a click rather than any impression',
      [click, message({ kind: 'impression', campaignId: 'c2', time: NOON + 2 })],
      'c1',
      everywhere,
    ],
    ['an impression rather than a sent message', [impression, message({ campaignId: 'c2', time: NOON + 2 })], 'c1', []],
    ['the latest touch', [click, { ...click, campaignId: 'c2', time: NOON + 1 }], 'c2', everywhere],
    ['the lower campaign at the same instant', [{ ...click, campaignId: 'c2' }, click], 'c1', everywhere],
    [
      'a touch only within its own window',
      [message({}), { ...click, campaignId: 'c2', time: NOON - 2 * HOUR }],
      'c1',
      [],
    ],
    ['no campaign whose goal is not met', [message({}), { ...click, campaignId: 'c3' }], 'c1', []],
  ]
  it.each(winners)('are credited to %s', (_, messages, winner, attributions) => {
    const campaigns = ['c1', 'c2', 'c3'].map((id) => {
      return { id, goals: [goal({ event: id === 'c3' ? 'signed_up' : 'purchase' })] }
    })
    const model = new StatisticsModel(workspace({ campaigns, messages, events: [event({ time: NOON + HOUR })] }))
    const winnersBy = (attributionType: Question['attributionType']) =>
      campaigns
        .map(({ id }) => id)
        .filter((id) => {
          const stats = model.campaignStats(id, { ...DAY_OF_NOON, attributionType })
          const all = stats?.platforms['all_platforms']?.locales['all_locales']?.variations['all_variations']
          return all?.conversion_goal_stats['bought']?.conversions === 1
        })
    expect(winnersBy('TOTAL_CONVERSIONS')).toEqual([winner])
    expect(winnersBy('CLICK_CONVERSIONS')).toEqual(attributions.includes('CLICK_CONVERSIONS') ? [winner] : [])
  })

  it('count for every goal of the winning campaign that is met and whose own window includes the winning touch', () => {
    const goals = [
      goal({ name: 'short' }),
      goal({ name: 'long', windowHours: 36 }),
      goal({ name: 'other', event: 'signed_up', windowHours: 36 }),
    ]
    const question: Question = { ...DAY_OF_NOON, attributionType: 'TOTAL_CONVERSIONS' }
    const facts = { messages: [click], events: [event({ time: NOON + 2 * HOUR })], goals }
    const stats = variationOf(facts, { question })?.conversion_goal_stats
    expect(Object.entries(stats ?? {}).map(([name, { conversions }]) => [name, conversions])).toEqual([
      ['short', 0],
      ['long', 1],
      ['other', 0],
    ])
  })

  const conditions: [operator: Condition['operator'], value: unknown, actual: unknown, isMet: boolean][] = [
    ['is', 1, 1, true],
    ['is', 1, '1', false],
    ['is', { a: 1, b: [2] }, { b: [2], a: 1 }, true],
    ['is', [1, 2], [2, 1], false],
    ['is', null, undefined, false],
    ['is', null, null, true],
    ['is_not', 1, '1', true],
    ['is_not', 1, undefined, true],
    ['is_not', 1, 1, false],
    ['greater_than', 1, 1.5, true],
    ['greater_than', 1, 1, false],
    ['greater_than', 1, '2', false],
    ['less_than', 1, 0, true],
    ['less_than', '1', 0, false],
    ['less_than', 1, undefined, false],
    ['contains', 'an', 'Banana', true],
    ['contains', 'AN', 'Banana', false],
    ['contains', 'an', ['Banana'], false],
    ['contains', 'an', ['an'], true],
    ['contains', 1, '1', false],
    ['contains', { a: 1 }, [{ a: 1 }], true],
    ['exists', undefined, null, true],
    ['exists', undefined, undefined, false],
  ]
  it.each(conditions)('count if the condition %s %j holds for %j: %s', (operator, value, actual, isMet) => {
    const where = [{ attribute: 'a', operator, value }]
    const attributes = actual === undefined ? {} : { a: actual }
    const facts = { messages: [impression], events: [event({ attributes })], goals: [goal({ where })] }
    expect(variationOf(facts)?.conversion_goal_stats['bought']?.conversions).toBe(Number(isMet))
  })
})

describe('control groups', () => {
  const controls = ['a', 'b', 'c'].map((customerId) =>
    member({ customerId, group: 'campaign_control', removed: customerId === 'c' ? 'x' : null, variation: 'B' }),
  )
  const events = [
    event({ customerId: 'a' }),
    event({ customerId: 'a', eventId: 'again', time: NOON + HOUR }),
    event({ customerId: 'b', eventId: 'late', time: NOON + HOUR + 1 }),
  ]

  it('have a funnel of one number, a breakdown of one reason, and conversions in the window after an audience', () => {
    const facts = { audiences: controls, events, goals: [goal({})] }
    expect(controlOf(facts, 'campaign_control_group')).toEqual({
      conversion_goal_stats: { bought: { conversions: 2, cvr: 66.67, ...noUplift } },
      delivery_funnel: { reachable_users_in_segment: 3 },
      failure_breakdown: { user_removed_due_to_campaing_control_group: 3 },
    })
    const question: Question = { ...DAY_OF_NOON, metricType: 'UNIQUE' }
    expect(controlOf(facts, 'campaign_control_group', question)?.conversion_goal_stats['bought']?.cvr).toBe(33.33)
    expect(controlOf(facts, 'global_control_group')).toEqual({
      conversion_goal_stats: { bought: { conversions: 0, cvr: 0, ...noUplift } },
      delivery_funnel: { reachable_users_in_segment: 0 },
      failure_breakdown: {},
    })
  })

  it('appear beside the variations and inside each, and add no variation of their own', () => {
    const audiences = [...controls, member({ variation: 'A' })]
    const variations = statsOf({ audiences, events, goals: [goal({})] })?.platforms['EMAIL']?.locales['all_locales']
    const names = Object.keys(variations?.variations ?? {}).toSorted()
    expect(names).toEqual(['A', 'all_variations', 'campaign_control_group', 'global_control_group'])
    const { A, ...others } = variations?.variations ?? {}
    expect(A).toMatchObject({ campaign_control_group: others['campaign_control_group'] })
    expect(A).toMatchObject({ global_control_group: others['global_control_group'] })
    expect(others['all_variations']).toMatchObject({ campaign_control_group: others['campaign_control_group'] })
  })

  it('credit an event to the latest audience whose window includes it', () => {
    const group = 'global_control'
    const audiences = [
      member({ group, locale: 'en' }),
      member({ group, locale: 'de', evaluatedAt: NOON + 1, platform: 'web' }),
      member({ group, locale: 'fr', evaluatedAt: NOON + 3 }),
    ]
    const facts = { audiences, events: [event({ time: NOON + 2 })], goals: [goal({})] }
    const conversionsAt = (locale: string) =>
      controlOf(facts, 'global_control_group', DAY_OF_NOON, locale)?.conversion_goal_stats['bought']?.conversions
    expect(['en', 'de', 'fr', 'all_locales'].map(conversionsAt)).toEqual([0, 1, 0, 1])
  })

  it('credit an event to the first platform in text order among audiences at the same instant, removed or not', () => {
    const group = 'campaign_control'
    const audiences = [member({ group, platform: 'web', removed: 'x' }), member({ group, platform: 'ios' })]
    const facts = { audiences, events: [event({})], goals: [goal({})] }
    const platforms = statsOf(facts)?.platforms
    const conversionsOn = (platform: string) =>
      platforms?.[platform]?.locales['all_locales']?.variations['campaign_control_group']?.conversion_goal_stats
    expect(conversionsOn('IOS')).toMatchObject({ bought: { conversions: 1 } })
    expect(conversionsOn('WEB')).toMatchObject({ bought: { conversions: 0 } })
  })

  it('do not affect conversions credited to touches', () => {
    const messages = [message({ customerId: 'a', kind: 'impression' })]
    const stats = variationOf({ audiences: controls, messages, events, goals: [goal({})] })
    expect(stats?.conversion_goal_stats['bought']).toMatchObject({ conversions: 2, cvr: 200 })
    expect(stats?.delivery_funnel['reachable_users_in_segment']).toBe(0)
  })
})

const noUplift = { uplift: 0, uplift_low: 0, uplift_high: 0, uplift_significant: false }

describe('uplift', () => {
  // ln 2 ± z √(1/4 − 1/10 + 1/2 − 1/10), and so on.
  const cases: [target: [number, number], control: [number, number], [number, number, number, boolean]][] = [
    [
      [4, 10],
      [2, 10],
      [100, -53.25, 755.65, false],
    ],
    [
      [400, 1000],
      [200, 1000],
      [100, 72.94, 131.29, true],
    ],
    [
      [200, 1000],
      [400, 1000],
      [-50, -56.76, -42.18, true],
    ],
    [
      [31, 64],
      [32, 64],
      [-3.13, -31.87, 37.75, false],
    ],
    [
      [0, 10],
      [2, 10],
      [-100, -100, 268.38, false],
    ],
    [
      [0, 1000],
      [20, 1000],
      [-100, -100, -59.73, true],
    ],
    [
      [3, 3],
      [5, 5],
      [0, 0, 0, false],
    ],
    [
      [5, 10],
      [0, 10],
      [0, 0, 0, false],
    ],
    [
      [0, 0],
      [5, 10],
      [0, 0, 0, false],
    ],
    [
      [5, 10],
      [0, 0],
      [0, 0, 0, false],
    ],
  ]
  it.each(cases)(
    'is computed for %j against %j',
    ([met, users], [controlMet, controlUsers], [uplift, low, high, isSignificant]) => {
      expect(upliftOf({ met, users }, { met: controlMet, users: controlUsers })).toEqual({
        uplift,
        uplift_low: low,
        uplift_high: high,
        uplift_significant: isSignificant,
      })
    },
  )

  it('compares users of the target group, removed or not, with the control group of the same platform and locale', () => {
    const audiences = [
      member({ customerId: 'a', variation: 'A', locale: 'en' }),
      member({ customerId: 'b', variation: 'B', locale: 'en', removed: 'x' }),
      member({ customerId: 'c', group: 'campaign_control', locale: 'en' }),
      member({ customerId: 'd', group: 'campaign_control', locale: 'en' }),
      member({ customerId: 'e', group: 'campaign_control', locale: 'en' }),
      member({ customerId: 'f', group: 'global_control', locale: 'en' }),
      member({ customerId: 'g', group: 'global_control', platform: 'tv' }),
      member({ customerId: 'h', platform: 'tv' }),
    ]
    // The next day: uplift is dated by the audience.
    const events = ['b', 'c', 'g', 'h'].map((customerId) =>
      event({ customerId, eventId: customerId, time: NOON + 24 * HOUR }),
    )
    const facts = { audiences, events, goals: [goal({ windowHours: 24 })] }
    const upliftAt = (platform: string, variation: string) =>
      variationOf(facts, { platform, variation })?.conversion_goal_stats['bought']?.uplift
    expect(upliftAt('EMAIL', 'all_variations')).toBe(50)
    expect(upliftAt('EMAIL', 'A')).toBe(-100)
    expect(upliftAt('EMAIL', 'B')).toBe(200)
    expect(upliftAt('TV', 'all_variations')).toBe(0)
    expect(upliftAt('all_platforms', 'all_variations')).toBe(100)
  })
})

describe('presence', () => {
  const audience = member({ evaluatedAt: NOON - 24 * HOUR, locale: 'en', variation: 'A' })
  const touch = message({ kind: 'click', time: NOON - 24 * HOUR })

  it('shows nothing for a campaign without facts in the range', () => {
    expect(statsOf({ audiences: [audience], messages: [touch], goals: [goal({})] })).toBeUndefined()
    expect(statsOf({ messages: [message({ campaignId: 'c2' })] })).toBeUndefined()
  })

  it('shows a campaign, platform, locale and variation for a conversion by any attribution type', () => {
    const facts = { audiences: [audience], messages: [touch], events: [event({})], goals: [goal({ windowHours: 36 })] }
    expect(keysOf(facts)).toEqual({ locales: ['all_locales', 'en'], variations: ['A', 'all_variations'] })
    expect(variationOf(facts, { variation: 'A' })?.conversion_goal_stats['bought']).toEqual({
      conversions: 0,
      cvr: 0,
      ...noUplift,
    })
  })

  it('shows a platform and locale for a control user, without a variation', () => {
    const control = { ...audience, group: 'campaign_control' as const }
    const facts = { audiences: [control], events: [event({})], goals: [goal({ windowHours: 36 })] }
    expect(keysOf(facts)).toEqual({ locales: ['all_locales', 'en'], variations: ['all_variations'] })
    expect(controlOf(facts, 'campaign_control_group')?.conversion_goal_stats['bought']).toMatchObject({
      conversions: 1,
      cvr: 0,
    })
  })

  it('shows nothing for an audience in another group than that of the first audience', () => {
    const audiences = [audience, member({ group: 'campaign_control' })]
    expect(statsOf({ audiences })).toBeUndefined()
  })
})
