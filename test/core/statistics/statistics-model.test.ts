// Pins the naive model of campaign statistics to `docs/api/statistics.md`, from facts to the delivery funnel: small examples, one
// for each rule, whose numbers were worked out by hand. Other tests trust the model because of these.
import { describe, expect, it } from 'vitest'
import {
  DAY_OF_NOON,
  HOUR,
  NOON,
  controlOf,
  keysOf,
  member,
  message,
  variationOf,
} from '../../support/statistics/statistics-examples.ts'
import type { AudienceReport, MessageReport } from '../../support/statistics/statistics-model-facts.ts'
import { compareByCodePoint, dayOf } from '../../support/statistics/statistics-model-facts.ts'
import { percentage } from '../../support/statistics/statistics-model-numbers.ts'
import type { Question } from '../../support/statistics/statistics-model.ts'

describe('facts from reports', () => {
  it('count once if they are reported twice', () => {
    const audiences = [member({}), member({})]
    const messages = [message({}), message({})]
    const all = variationOf({ audiences, messages })
    expect(all?.delivery_funnel).toMatchObject({ reachable_users_in_segment: 1, sent: 1 })
    expect(all?.performance_stats).toMatchObject({ sent: 1 })
  })

  it('prefer a removed member among its reports, then the first group, variation, locale and reason, given before missing', () => {
    const audiences = [
      member({ group: 'campaign_control' }),
      member({}),
      member({ variation: 'A\uFFFD' }),
      member({ variation: 'B', locale: 'a' }),
      member({ variation: 'A\u{1F600}', locale: 'a' }),
      member({ variation: 'A\uFFFD', locale: 'c' }),
      member({ variation: 'A\uFFFD', locale: 'b' }),
    ]
    expect(keysOf({ audiences })).toEqual({ locales: ['all_locales', 'b'], variations: ['A\uFFFD', 'all_variations'] })
    const removed = [member({ removed: 'z' }), member({ removed: 'y' }), member({ group: 'campaign_control' })]
    expect(variationOf({ audiences: [...audiences, ...removed] })?.failure_breakdown).toEqual({ y: 1 })
    const control = [member({ group: 'global_control', removed: 'x' }), member({})]
    expect(controlOf({ audiences: control }, 'global_control_group')?.delivery_funnel).toEqual({
      reachable_users_in_segment: 1,
    })
  })

  it('distinguish members by campaign, reported customer, platform and instant, with listed platforms in any case', () => {
    const evaluatedAt = NOON + 24 * HOUR
    const audiences = [
      member({ platform: 'ios' }),
      member({ platform: 'IOS' }),
      member({ platform: 'Fridge' }),
      member({ platform: 'fridge' }),
      member({ platform: 'ios', evaluatedAt }),
      member({ platform: 'ios', customerId: 'other' }),
    ]
    const question = { ...DAY_OF_NOON, endDate: '2026-03-11' }
    const at = (platform: string) =>
      variationOf({ audiences }, { question, platform })?.delivery_funnel['reachable_users_in_segment']
    expect([at('IOS'), at('UNKNOWN'), at('all_platforms')]).toEqual([3, 1, 3])
  })

  it('distinguish message events by message_id, else by platform and device, which defaults to the customer id', () => {
    const messages = [
      message({ messageId: 'm', platform: 'web', deviceId: 'd' }),
      message({ messageId: 'm', platform: 'Android', deviceId: 'e' }),
      message({ deviceId: 'd' }),
      message({ deviceId: null }),
      message({ deviceId: 'ann' }),
      message({ deviceId: null, customerId: 'other' }),
    ]
    const sent = (platform: string) => variationOf({ messages }, { platform })?.performance_stats['sent']
    expect([sent('ANDROID'), sent('WEB'), sent('EMAIL'), sent('all_platforms')]).toEqual([1, undefined, 3, 4])
  })

  it('have the first given reason of a message event in text order, and are unknown without one', () => {
    const failed = (reason: string | null) => message({ kind: 'failed', reason })
    const breakdown = (...reasons: (string | null)[]) =>
      variationOf({ audiences: [member({})], messages: reasons.map(failed) })?.failure_breakdown
    expect(breakdown('vanished', null)).toEqual({ vanished: 1 })
    expect(breakdown('vanished', 'bounced')).toEqual({ bounced: 1 })
    expect(breakdown(null)).toEqual({ unknown: 1 })
    expect(breakdown(null, 'bounced')).toEqual({ bounced: 1 })
  })

  it('remain separate for two customer ids of one user, who counts once', () => {
    const messages = [message({ customerId: 'ann' }), message({ customerId: 'anna' })]
    const question: Question = { ...DAY_OF_NOON, metricType: 'UNIQUE' }
    const users = [['ann', 'anna']]
    expect(variationOf({ messages, users })?.performance_stats['sent']).toBe(2)
    expect(variationOf({ messages, users }, { question })?.performance_stats['sent']).toBe(1)
    expect(variationOf({ messages }, { question })?.performance_stats['sent']).toBe(2)
  })

  it('compare texts by code point, so that an emoji comes after the whole basic plane', () => {
    expect(['\u{1F600}', 'b', '\uFFFD', 'a\u{1F600}', 'a', ''].toSorted(compareByCodePoint)).toEqual([
      '',
      'a',
      'a\u{1F600}',
      'b',
      '\uFFFD',
      '\u{1F600}',
    ])
  })

  const days: [instant: string, timezone: string, day: string][] = [
    ['2026-03-28T22:59:59.999Z', 'Europe/Berlin', '2026-03-28'],
    ['2026-03-28T23:00:00.000Z', 'Europe/Berlin', '2026-03-29'],
    ['2026-03-29T21:59:59.999Z', 'Europe/Berlin', '2026-03-29'],
    ['2026-03-29T22:00:00.000Z', 'Europe/Berlin', '2026-03-30'],
    ['2026-03-09T03:59:59.999Z', 'America/New_York', '2026-03-08'],
    ['2026-04-04T13:29:59.999Z', 'Australia/Lord_Howe', '2026-04-05'],
    ['2026-04-04T12:59:59.999Z', 'Australia/Lord_Howe', '2026-04-04'],
    ['2026-01-01T18:15:00.000Z', 'Asia/Kathmandu', '2026-01-02'],
    ['2026-01-01T18:14:59.999Z', 'Asia/Kathmandu', '2026-01-01'],
  ]
  it.each(days)('of the instant %s in %s belong to the day %s', (instant, timezone, day) => {
    expect(dayOf(Date.parse(instant), timezone)).toBe(day)
  })
})

describe('attribution to audiences', () => {
  const early = member({ evaluatedAt: NOON - HOUR, locale: 'en', variation: 'A' })
  const late = member({ evaluatedAt: NOON + HOUR, locale: 'de', variation: 'B' })

  const cases: [what: string, audiences: AudienceReport[], locales: string[]][] = [
    [
      'gives a message event to the latest audience that is not after it',
      [early, member({ locale: 'fr' }), late],
      ['fr'],
    ],
    ['gives a message event to an earlier audience', [early, late], ['en']],
    [
      'gives a message event before all audiences to the earliest',
      [late, { ...late, evaluatedAt: NOON + 2 * HOUR, locale: 'it' }],
      ['de'],
    ],
    ['gives no message event to an audience of another platform', [{ ...early, platform: 'web' }], []],
    ['gives no message event to an audience of another campaign', [{ ...early, campaignId: 'c2' }], []],
    ['gives no message event to an audience of another user', [{ ...early, customerId: 'bob' }], []],
    [
      'gives a message event to a removed audience',
      [early, { ...early, evaluatedAt: NOON, locale: 'fr', removed: 'x' }],
      ['fr'],
    ],
    [
      'gives a message event to an audience of another group',
      [early, { ...early, evaluatedAt: NOON, locale: 'fr', group: 'campaign_control' }],
      ['fr'],
    ],
    [
      'prefers among audiences at the same instant that of its own customer id, even if it is removed',
      [
        member({ locale: 'en', customerId: 'anna' }),
        member({ locale: 'de', group: 'global_control', removed: 'x' }),
        member({ locale: 'fr', customerId: 'annie', removed: 'x' }),
      ],
      ['de'],
    ],
    [
      'prefers among audiences of other customer ids at the same instant one that is not removed',
      [
        member({ locale: 'de', customerId: 'anna', removed: 'x' }),
        member({ locale: 'en', customerId: 'annie', group: 'global_control' }),
      ],
      ['en'],
    ],
    [
      'prefers among such audiences that are not removed the one that wins as a report',
      [
        member({ locale: 'de', customerId: 'anna', group: 'global_control' }),
        member({ locale: 'en', customerId: 'annie' }),
      ],
      ['en'],
    ],
  ]
  it.each(cases)('%s', (_, audiences, locales) => {
    const users = [['ann', 'anna', 'annie']]
    const found = ['en', 'de', 'fr', 'it'].filter(
      (locale) => variationOf({ audiences, messages: [message({})], users }, { locale })?.performance_stats['sent'],
    )
    expect(found).toEqual(locales)
  })

  it('counts a message event only in aggregates if its audience has no locale or variation, or if there is no audience', () => {
    expect(keysOf({ messages: [message({})] })).toEqual({ locales: ['all_locales'], variations: ['all_variations'] })
    expect(keysOf({ audiences: [member({ variation: 'B' })], messages: [message({})] })).toEqual({
      locales: ['all_locales'],
      variations: ['B', 'all_variations'],
    })
  })

  it('puts a user only in the group of the earliest audience, at the same instant in the target group', () => {
    const reachable = (audiences: AudienceReport[]) => {
      const facts = { audiences, users: [['ann', 'anna']] }
      return [
        variationOf(facts)?.delivery_funnel['reachable_users_in_segment'],
        controlOf(facts, 'campaign_control_group')?.delivery_funnel['reachable_users_in_segment'],
      ]
    }
    const control = member({ group: 'campaign_control', customerId: 'anna' })
    expect(reachable([control, member({ removed: 'x' })])).toEqual([1, 0])
    expect(reachable([control, member({ evaluatedAt: NOON + 1 })])).toEqual([0, 1])
    expect(reachable([control, member({ evaluatedAt: NOON - 1, platform: 'web' })])).toEqual([1, 0])
  })
})

describe('performance', () => {
  const messages = [
    ...['a', 'a', 'b', 'c'].map((customerId, index) =>
      message({ customerId, kind: 'attempted', deviceId: String(index) }),
    ),
    ...['a', 'b', 'b'].map((customerId, index) => message({ customerId, kind: 'sent', deviceId: String(index) })),
    message({ customerId: 'c', kind: 'failed' }),
    ...['a', 'b'].map((customerId) => message({ customerId, kind: 'impression' })),
    message({ customerId: 'b', kind: 'click' }),
  ]
  const delivered = message({ customerId: 'b', kind: 'delivered' })
  const noFeedback = {
    delivered: 0,
    bounce: 0,
    hard_bounce: 0,
    soft_bounce: 0,
    complaint: 0,
    unsubscribe: 0,
    machine_impression: 0,
    machine_click: 0,
    proxy_impression: 0,
    unsubscribe_rate: 0,
    complaint_rate: 0,
    bounce_rate: 0,
  }

  it('counts occurrences, and computes rates from them', () => {
    expect(variationOf({ messages })?.performance_stats).toEqual({
      ...noFeedback,
      attempted: 4,
      sent: 3,
      failed: 1,
      impression: 2,
      click: 1,
      ctr: 50,
      delivery_rate: 100,
      open_rate: 66.67,
      sent_rate: 75,
      failure_rate: 25,
    })
  })

  it('counts distinct users, and computes rates from them', () => {
    const question: Question = { ...DAY_OF_NOON, metricType: 'UNIQUE' }
    expect(variationOf({ messages }, { question })?.performance_stats).toEqual({
      ...noFeedback,
      attempted: 3,
      sent: 2,
      failed: 1,
      impression: 2,
      click: 1,
      ctr: 50,
      delivery_rate: 100,
      open_rate: 100,
      sent_rate: 66.67,
      failure_rate: 33.33,
    })
  })

  it('computes the delivery rate from deliveries if there are any, else from what did not bounce, or impressions', () => {
    const rateOf = (some: MessageReport[]) => variationOf({ messages: some })?.performance_stats['delivery_rate']
    const bounce = message({ customerId: 'b', kind: 'bounce', reason: 'blocked' })
    expect(rateOf([...messages, delivered])).toBe(33.33)
    expect(rateOf([delivered])).toBe(0)
    expect(rateOf([...messages, bounce])).toBe(66.67)
    expect(rateOf(messages.map((one) => ({ ...one, platform: 'web' })))).toBe(66.67)
  })

  it('is dated by the day of the message event', () => {
    const audiences = [member({ evaluatedAt: NOON - 24 * HOUR })]
    const late = message({ time: Date.parse('2026-03-10T23:30:00Z') })
    expect(variationOf({ audiences, messages: [late] })?.performance_stats['sent']).toBe(1)
    expect(variationOf({ audiences, messages: [late], timezone: 'Europe/Berlin' })).toBeUndefined()
  })

  const percentages: [part: number, whole: number, percent: number][] = [
    [1, 0, 0],
    [0, 3, 0],
    [1, 3, 33.33],
    [2, 3, 66.67],
    [1, 32, 3.13],
    [201, 20_000, 1.01],
    [7, 2, 350],
  ]
  it.each(percentages)('shows %d of %d as %d per cent', (part, whole, percent) => {
    expect(percentage(part, whole)).toBe(percent)
  })
})

describe('the delivery funnel', () => {
  const reasons = ['uninstall', 'hard_bounce', 'complaint', 'opt_out', 'frequency_capping', 'duplicate', 'else']

  it('subtracts units step by step, by the reason of their removal', () => {
    const audiences = reasons.map((reason) => member({ customerId: reason, removed: `user_removed_due_to_${reason}` }))
    const stays = member({ customerId: 'stays' })
    expect(variationOf({ audiences: [...audiences, stays] })).toMatchObject({
      delivery_funnel: {
        reachable_users_in_segment: 8,
        segment_after_uninstall: 4,
        after_fc: 3,
        users_after_dup: 2,
        sent: 0,
        pending: 1,
      },
      failure_breakdown: Object.fromEntries(reasons.map((reason) => [`user_removed_due_to_${reason}`, 1])),
    })
  })

  it('subtracts no failed units with the reason of a removal', () => {
    const failed = message({ kind: 'failed', reason: 'user_removed_due_to_duplicate' })
    expect(variationOf({ audiences: [member({})], messages: [failed] })).toMatchObject({
      delivery_funnel: { reachable_users_in_segment: 1, users_after_dup: 1, sent: 0, pending: 0 },
      failure_breakdown: { user_removed_due_to_duplicate: 1 },
    })
  })

  it('counts a user once per day of audience, equally for both metric types, by the events of any day', () => {
    const audiences = [
      member({}),
      member({ evaluatedAt: NOON + 1 }),
      member({ platform: 'web' }),
      member({ evaluatedAt: NOON + 24 * HOUR }),
    ]
    const messages = [message({ time: NOON + 48 * HOUR })]
    for (const metricType of ['TOTAL', 'UNIQUE'] as const) {
      const question = { ...DAY_OF_NOON, endDate: '2026-03-11', metricType }
      const funnelAt = (platform: string) =>
        variationOf({ audiences, messages }, { question, platform })?.delivery_funnel
      expect(funnelAt('all_platforms')).toMatchObject({ reachable_users_in_segment: 2, sent: 1, pending: 1 })
      expect(funnelAt('EMAIL')).toMatchObject({ reachable_users_in_segment: 2, sent: 1, pending: 1 })
      expect(funnelAt('WEB')).toMatchObject({ reachable_users_in_segment: 1, sent: 0, pending: 1 })
    }
  })

  it('counts a unit as removed only if all its audiences are, for the reason that let it get furthest', () => {
    const first = member({ removed: 'first', platform: 'web' })
    const last = member({ evaluatedAt: NOON + 1, removed: 'user_removed_due_to_duplicate' })
    const capped = member({ evaluatedAt: NOON + 2, removed: 'user_removed_due_to_frequency_capping' })
    const gone = member({ evaluatedAt: NOON + 3, removed: 'user_removed_due_to_uninstall' })
    const tie = member({ evaluatedAt: NOON + 1, removed: 'earlier', customerId: 'anna' })
    const breakdown = (...audiences: AudienceReport[]) =>
      variationOf({ audiences, users: [['ann', 'anna']] })?.failure_breakdown
    expect(breakdown(gone)).toEqual({ user_removed_due_to_uninstall: 1 })
    expect(breakdown(gone, capped)).toEqual({ user_removed_due_to_frequency_capping: 1 })
    expect(breakdown(gone, capped, last)).toEqual({ user_removed_due_to_duplicate: 1 })
    expect(breakdown(gone, capped, last, first)).toEqual({ first: 1 })
    expect(breakdown(first, last, tie)).toEqual({ earlier: 1 })
    expect(breakdown(first, last, member({ platform: 'tv' }))).toEqual({})
    expect(variationOf({ audiences: [first, last] }, { platform: 'WEB' })?.failure_breakdown).toEqual({ first: 1 })
  })

  const states: [what: string, messages: MessageReport[], expected: object][] = [
    ['pending without sent or failed', [message({ kind: 'attempted' })], { pending: 1 }],
    ['sent, even if a failure follows', [message({}), message({ kind: 'failed', time: NOON + 1 })], { sent: 1 }],
    [
      'failed, by the reason of the latest failure',
      [
        message({ kind: 'failed', reason: 'a' }),
        message({ kind: 'failed', reason: 'z', time: NOON + 1, deviceId: 'd' }),
        message({ kind: 'failed', reason: 'y', time: NOON + 1, deviceId: 'e' }),
      ],
      { y: 1 },
    ],
    [
      'failed, by a given reason among the latest failures',
      [message({ kind: 'failed', deviceId: 'd' }), message({ kind: 'failed', reason: 'z', deviceId: 'e' })],
      { z: 1 },
    ],
    ['failed for an unknown reason', [message({ kind: 'failed' })], { unknown: 1 }],
  ]
  it.each(states)('counts a unit as %s', (_, messages, expected) => {
    const all = variationOf({ audiences: [member({})], messages })
    const counted = { sent: all?.delivery_funnel['sent'], pending: all?.delivery_funnel['pending'] }
    expect({ ...counted, ...all?.failure_breakdown }).toEqual({ sent: 0, pending: 0, ...expected })
  })

  it('counts sent messages and impressions only of audiences that were not removed, but devices of all', () => {
    const audiences = [member({ removed: 'x' }), member({ platform: 'web' })]
    const messages = [message({}), message({ kind: 'impression', deviceId: 'd' })]
    const funnel = { sent: 0, pending: 1, impressions: 0, user_devices: 2, active_device_token: 1 }
    expect(variationOf({ audiences, messages })?.delivery_funnel).toMatchObject(funnel)
    const sent = { ...funnel, sent: 1, pending: 0 }
    messages.push(message({ platform: 'web' }))
    expect(variationOf({ audiences, messages })?.delivery_funnel).toMatchObject(sent)
  })

  it('counts sent units with an impression, and the devices of remaining units', () => {
    const audiences = [member({}), member({ customerId: 'gone', removed: 'user_removed_due_to_duplicate' })]
    const messages = [
      message({ deviceId: 'd' }),
      message({ deviceId: 'd', time: NOON + 1 }),
      message({ deviceId: 'e', kind: 'impression' }),
      message({ deviceId: 'f', kind: 'attempted', time: NOON + 24 * HOUR }),
      message({ customerId: 'gone', kind: 'impression' }),
    ]
    expect(variationOf({ audiences, messages })?.delivery_funnel).toMatchObject({
      impressions: 1,
      user_devices: 3,
      active_device_token: 1,
    })
  })
})
