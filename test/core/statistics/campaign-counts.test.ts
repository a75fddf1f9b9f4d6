// Which numbers of a campaign are shown, under which keys, and how each is computed ("Performance", "Delivery funnel and failure
// breakdown", "Conversions", "Presence and freshness").
import { describe, expect, it } from 'vitest'
import { ANYTHING } from '../../../src/core/statistics/anything.ts'
import { CampaignSeries, type SeriesCount, type StatsQuestion } from '../../../src/core/statistics/campaign-counts.ts'
import { ANY_GROUP, ATTRIBUTION_TYPES, type AttributionType } from '../../../src/core/statistics/cells.ts'
import { ALL } from '../../../src/core/statistics/grouping-sets.ts'
import {
  writeCampaignStats,
  type CampaignStatsBody,
  type VariationBody,
} from '../../../src/operations/statistics/campaign-stats-body.ts'

/** A count in the total aggregate, in no group, unless `given` says otherwise. */
function count(metric: string, occurrences: number, given: Partial<SeriesCount> = {}): SeriesCount {
  const dimensions = { platform: ALL, locale: ALL, variation: ALL }
  return {
    campaign: 1,
    generation: 0,
    group: ANY_GROUP,
    metric,
    ...dimensions,
    users: occurrences,
    occurrences,
    ...given,
  }
}

const target = { group: 'target' } as const
const campaignControl = { group: 'campaign_control' } as const
const globalControl = { group: 'global_control' } as const

const TOTAL: StatsQuestion = { attributionType: 'CLICK_THROUGH', metricType: 'TOTAL' }
const UNIQUE: StatsQuestion = { ...TOTAL, metricType: 'UNIQUE' }

function bodyOf(counts: SeriesCount[], question = TOTAL, goals: string[] = []): CampaignStatsBody {
  const json = [...writeCampaignStats(new CampaignSeries().add(counts).count(goals, question))].join('')
  return (JSON.parse(json) as [CampaignStatsBody])[0]
}

/** The numbers of the total aggregate. */
function allOf(counts: SeriesCount[], question = TOTAL, goals: string[] = []) {
  return variationsOf(bodyOf(counts, question, goals))?.['all_variations'] as unknown as Record<string, never>
}

function variationsOf(body: CampaignStatsBody, platform = 'all_platforms', locale = 'all_locales') {
  return body.platforms[platform]?.locales[locale]?.variations
}

const noControl = {
  conversion_goal_stats: {},
  delivery_funnel: { reachable_users_in_segment: 0 },
  failure_breakdown: {},
}
/** Numbers of performance of which nothing is counted. */
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
  open_rate: 0,
  unsubscribe_rate: 0,
  complaint_rate: 0,
  bounce_rate: 0,
}
const noUplift = { uplift: 0, uplift_low: 0, uplift_high: 0, uplift_significant: false }

describe('The answer', () => {
  it('has every documented number at each variation, 0 if nothing is counted', () => {
    expect(bodyOf([count(ANYTHING, 1)], TOTAL, ['Purchase'])).toEqual({
      platforms: {
        all_platforms: {
          locales: {
            all_locales: {
              variations: {
                all_variations: {
                  performance_stats: {
                    attempted: 0,
                    sent: 0,
                    failed: 0,
                    impression: 0,
                    click: 0,
                    ctr: 0,
                    delivery_rate: 0,
                    sent_rate: 0,
                    failure_rate: 0,
                    ...noFeedback,
                  },
                  conversion_goal_stats: { Purchase: { conversions: 0, cvr: 0, ...noUplift } },
                  delivery_funnel: {
                    reachable_users_in_segment: 0,
                    segment_after_uninstall: 0,
                    after_fc: 0,
                    users_after_dup: 0,
                    sent: 0,
                    user_devices: 0,
                    impressions: 0,
                    active_device_token: 0,
                    pending: 0,
                  },
                  failure_breakdown: {},
                  campaign_control_group: controlWithGoal,
                  global_control_group: controlWithGoal,
                },
                campaign_control_group: controlWithGoal,
                global_control_group: controlWithGoal,
              },
            },
          },
        },
      },
    })
  })
  const controlWithGoal = {
    ...noControl,
    conversion_goal_stats: { Purchase: { conversions: 0, cvr: 0, ...noUplift } },
  }

  it('keeps goal names and reasons that are properties of every JavaScript object', () => {
    const goals = ['__proto__', 'constructor', '7']
    const stats = allOf([count('unit.failed:__proto__', 2, target)], TOTAL, goals)
    expect(Object.keys(stats['conversion_goal_stats'] ?? {}).toSorted()).toEqual(goals.toSorted())
    expect(Object.entries(stats['failure_breakdown'] ?? {})).toEqual([['__proto__', 2]])
  })
})

describe('presence', () => {
  const keysOf = (body: CampaignStatsBody) =>
    Object.entries(body.platforms).flatMap(([platform, { locales }]) =>
      Object.entries(locales).flatMap(([locale, { variations }]) =>
        Object.keys(variations)
          .filter((variation) => !variation.endsWith('_control_group'))
          .map((variation) => `${platform} ${locale} ${variation}`),
      ),
    )
  const aggregates = ['all_platforms all_locales all_variations', 'IOS all_locales all_variations']
  const cases: [what: string, counts: SeriesCount[], keys: string[]][] = [
    ['nothing', [], []],
    ['series that sum to zero', [count('sent', 0)], []],
    ['a platform', [count('sent', 1, { platform: 'IOS' })], aggregates],
    ['a locale', [count('click', 1, { platform: 'IOS', locale: 'de' })], [...aggregates, 'IOS de all_variations']],
    [
      'a variation',
      [count('click', 1, { platform: 'IOS', locale: 'de', variation: 'A' })],
      [...aggregates, 'IOS de all_variations', 'IOS de A'],
    ],
    ['a control group', [count('audience', 1, { ...globalControl, platform: 'IOS' })], aggregates],
    ['conversions by another attribution type', [count(ANYTHING, 1, { platform: 'IOS', users: 0 })], aggregates],
    [
      'a variation of all platforms',
      [count('sent', 1, { variation: 'B' })],
      ['all_platforms all_locales all_variations', 'all_platforms all_locales B'],
    ],
  ]
  it.each(cases)('includes the right platforms, locales and variations for %s', (_what, counts, keys) => {
    expect(keysOf(bodyOf(counts)).toSorted()).toEqual(keys.toSorted())
  })

  it('includes no platform when nothing is counted', () => {
    expect(bodyOf([], TOTAL, ['Purchase'])).toEqual({ platforms: {} })
  })
})

describe('performance', () => {
  const counts = [
    count('attempted', 40, { users: 20 }),
    count('sent', 30, { users: 16 }),
    count('failed', 9, { users: 3 }),
    count('impression', 12, { users: 8 }),
    count('click', 5, { users: 4 }),
  ]

  it('counts occurrences for TOTAL and distinct users for UNIQUE, and computes rates from the same counts', () => {
    expect(allOf(counts)['performance_stats']).toEqual({
      attempted: 40,
      sent: 30,
      failed: 9,
      impression: 12,
      click: 5,
      ctr: 41.67,
      delivery_rate: 40,
      sent_rate: 75,
      failure_rate: 22.5,
      ...noFeedback,
    })
    expect(allOf(counts, UNIQUE)['performance_stats']).toEqual({
      attempted: 20,
      sent: 16,
      failed: 3,
      impression: 8,
      click: 4,
      ctr: 50,
      delivery_rate: 50,
      sent_rate: 80,
      failure_rate: 15,
      ...noFeedback,
    })
  })

  it('computes delivery_rate as delivered / sent if any message is delivered', () => {
    const stats = allOf([...counts, count('delivered', 27, { users: 12 })])
    expect(stats['performance_stats']).toMatchObject({ delivered: 27, delivery_rate: 90, open_rate: 44.44 })
  })

  it('counts bounces by kind, complaints, unsubscribes, machines and proxies, with rates of the sent', () => {
    const feedback = [
      count('bounce', 6, { users: 4 }),
      count('hard_bounce', 3, { users: 2 }),
      count('soft_bounce', 2, { users: 1 }),
      count('complaint', 3, { users: 2 }),
      count('unsubscribe', 9, { users: 8 }),
      count('machine_impression', 7, { users: 6 }),
      count('machine_click', 2, { users: 1 }),
      count('proxy_impression', 4, { users: 3 }),
    ]
    expect(allOf([...counts, ...feedback])['performance_stats']).toMatchObject({
      bounce: 6,
      hard_bounce: 3,
      soft_bounce: 2,
      complaint: 3,
      unsubscribe: 9,
      machine_impression: 7,
      machine_click: 2,
      proxy_impression: 4,
      impression: 12,
      click: 5,
      unsubscribe_rate: 30,
      complaint_rate: 10,
      bounce_rate: 20,
    })
    expect(allOf([...counts, ...feedback], UNIQUE)['performance_stats']).toMatchObject({
      bounce: 4,
      hard_bounce: 2,
      proxy_impression: 3,
      unsubscribe_rate: 50,
      complaint_rate: 12.5,
      bounce_rate: 25,
    })
  })
})

describe('the deliveries that rates are computed with', () => {
  const email = { platform: 'EMAIL' }
  const ios = { platform: 'IOS' }
  const emails = [count('sent', 20, email), count('bounce', 4, email), count('impression', 8, email)]
  const pushes = [count('sent', 10, ios), count('impression', 3, ios)]
  /** The sum of platforms, as the table of statistics has it. */
  const totals = (counts: SeriesCount[]) => {
    const metrics = [...new Set(counts.map(({ metric }) => metric))]
    return metrics.map((metric) => {
      const ofMetric = counts.filter((one) => one.metric === metric)
      return count(
        metric,
        ofMetric.reduce((sum, { occurrences }) => sum + occurrences, 0),
      )
    })
  }
  const ratesOf = (counts: SeriesCount[], platform: string) => {
    const stats = variationsOf(bodyOf([...counts, ...totals(counts)]), platform)?.['all_variations']
    const { delivered, delivery_rate, open_rate } = (stats as VariationBody).performance_stats
    return [delivered, delivery_rate, open_rate]
  }

  it('are the sent messages of EMAIL that did not bounce, where nobody reported a delivery', () => {
    expect(ratesOf(emails, 'EMAIL')).toEqual([0, 80, 50])
    expect(ratesOf(emails, 'all_platforms')).toEqual([0, 80, 50])
  })

  it('are those of EMAIL that are reported, if any are', () => {
    const counts = [...emails, count('delivered', 10, email)]
    expect(ratesOf(counts, 'EMAIL')).toEqual([10, 50, 80])
    expect(ratesOf(counts, 'all_platforms')).toEqual([10, 50, 80])
  })

  it('are never fewer than none', () => {
    const counts = [count('sent', 2, email), count('bounce', 3, email), count('impression', 1, email)]
    expect(ratesOf(counts, 'EMAIL')).toEqual([0, 0, 0])
  })

  it('are only the reported ones on other platforms, where impressions stand in for the delivery rate alone', () => {
    expect(ratesOf(pushes, 'IOS')).toEqual([0, 30, 0])
    expect(ratesOf(pushes, 'all_platforms')).toEqual([0, 30, 0])
    expect(ratesOf([...pushes, count('delivered', 6, ios)], 'IOS')).toEqual([6, 60, 50])
  })

  it('of all platforms are all reported ones and, where EMAIL reported none, its sent messages that did not bounce', () => {
    expect(ratesOf([...emails, ...pushes], 'all_platforms')).toEqual([0, 53.33, 68.75])
    const counts = [...emails, ...pushes, count('delivered', 6, ios)]
    expect(ratesOf(counts, 'EMAIL')).toEqual([0, 80, 50])
    expect(ratesOf(counts, 'all_platforms')).toEqual([6, 73.33, 50])
  })

  it('of a variation and locale are those of EMAIL in that variation and locale', () => {
    const at = { locale: 'de', variation: 'A' }
    const counts = [count('sent', 5, { ...email, ...at }), count('bounce', 1, { ...email, ...at })]
    const everywhere = counts.flatMap((one) => [one, { ...one, platform: ALL }])
    const body = bodyOf([...emails, count('delivered', 16, email), ...everywhere])
    for (const platform of ['EMAIL', 'all_platforms'])
      expect(variationsOf(body, platform, 'de')?.['A']).toMatchObject({ performance_stats: { delivery_rate: 80 } })
    expect(variationsOf(body, 'EMAIL')?.['all_variations']).toMatchObject({ performance_stats: { open_rate: 50 } })
  })
})

describe('the delivery funnel', () => {
  const removals = [
    'user_removed_due_to_uninstall',
    'user_removed_due_to_hard_bounce',
    'user_removed_due_to_complaint',
    'user_removed_due_to_opt_out',
    'user_removed_due_to_frequency_capping',
    'user_removed_due_to_duplicate',
    'suppressed',
  ]
  const counts = [
    count('audience', 1_000, { ...target, users: 600 }),
    ...removals.map((reason, index) => count(`unit.removed:${reason}`, 2 ** index, { ...target, users: 1 })),
    count('unit.failed:bounced', 10, target),
    count('unit.failed:suppressed', 3, target),
    count('unit.sent', 800, { ...target, users: 1 }),
    count('unit.pending', 60, target),
    count('unit.impression', 300, target),
    count('unit.devices', 900, target),
    count('unit.active_devices', 850, target),
  ]
  const funnel = {
    reachable_users_in_segment: 1_000,
    segment_after_uninstall: 985,
    after_fc: 969,
    users_after_dup: 937,
    sent: 800,
    pending: 60,
    impressions: 300,
    user_devices: 900,
    active_device_token: 850,
  }

  it.each([TOTAL, UNIQUE])('subtracts removed units step by step, the same for %o', (question) => {
    expect(allOf(counts, question)['delivery_funnel']).toEqual(funnel)
  })

  it('breaks down removed and failed units by the reason of their final state', () => {
    const breakdown = { ...Object.fromEntries(removals.map((reason, index) => [reason, 2 ** index])), bounced: 10 }
    expect(allOf(counts)['failure_breakdown']).toEqual({ ...breakdown, suppressed: 64 + 3 })
  })

  it('does not count units of control groups', () => {
    const all = allOf([...counts, count('audience', 7, campaignControl), count('audience', 9, globalControl)])
    expect(all['delivery_funnel']).toEqual(funnel)
  })
})

describe('conversions', () => {
  const bases = [
    count('impression', 1_000, { users: 500 }),
    count('click', 100, { users: 50 }),
    count('sent', 10_000, { users: 5_000 }),
  ]
  const converted = ATTRIBUTION_TYPES.map((type, index) =>
    count(`converted.${type}:Buy`, 10 * (index + 1), { users: 5 * (index + 1), generation: 1 }),
  )
  const cases: [type: AttributionType, conversions: number, cvr: number][] = [
    ['VIEW_THROUGH', 10, 1],
    ['CLICK_THROUGH', 20, 20],
    ['IN_SESSION', 30, 30],
    ['TOTAL_CONVERSIONS', 40, 0.4],
    ['CLICK_CONVERSIONS', 50, 50],
  ]
  it.each(cases)('by %s are %i, and divide by their own base for cvr', (attributionType, conversions, cvr) => {
    const total = allOf([...bases, ...converted], { attributionType, metricType: 'TOTAL' }, ['Buy'])
    expect(total['conversion_goal_stats']).toMatchObject({ Buy: { conversions, cvr } })
    const unique = allOf([...bases, ...converted], { attributionType, metricType: 'UNIQUE' }, ['Buy'])
    expect(unique['conversion_goal_stats']).toMatchObject({ Buy: { conversions: conversions / 2, cvr } })
  })

  it('are shown for every goal of the campaign, and for no other', () => {
    const stats = allOf([...bases, ...converted], TOTAL, ['Visit', 'Buy again'])['conversion_goal_stats']
    expect(stats).toEqual({
      Visit: { conversions: 0, cvr: 0, ...noUplift },
      'Buy again': { conversions: 0, cvr: 0, ...noUplift },
    })
  })
})

describe('control groups', () => {
  const counts = [
    count('audience', 40, { ...campaignControl, users: 30 }),
    count('converted:Buy', 12, { ...campaignControl, users: 6 }),
    count('met:Buy', 9, { ...campaignControl, users: 5 }),
    count('audience', 80, { ...globalControl, users: 70 }),
    count('sent', 3, { variation: 'A' }),
  ]

  it('count their units under a single reason, spelled as in the document', () => {
    expect(variationsOf(bodyOf(counts))).toMatchObject({
      campaign_control_group: {
        delivery_funnel: { reachable_users_in_segment: 40 },
        failure_breakdown: { user_removed_due_to_campaing_control_group: 40 },
      },
      global_control_group: {
        delivery_funnel: { reachable_users_in_segment: 80 },
        failure_breakdown: { user_removed_due_to_global_control_group: 80 },
      },
    })
  })

  it.each([
    [TOTAL, 12, 40],
    [UNIQUE, 6, 20],
  ])('divide conversions by their distinct users, for %o: %i, %d %%', (question, conversions, cvr) => {
    expect(variationsOf(bodyOf(counts, question, ['Buy']))).toMatchObject({
      campaign_control_group: { conversion_goal_stats: { Buy: { conversions, cvr, ...noUplift } } },
      global_control_group: { conversion_goal_stats: { Buy: { conversions: 0, cvr: 0, ...noUplift } } },
    })
  })

  it('have the same numbers for every attribution type', () => {
    const answers = ATTRIBUTION_TYPES.map(
      (attributionType) =>
        variationsOf(bodyOf(counts, { attributionType, metricType: 'TOTAL' }, ['Buy']))?.['campaign_control_group'],
    )
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
  })

  it('appear beside all_variations and, with equal numbers, inside every variation', () => {
    const variations = variationsOf(bodyOf(counts, TOTAL, ['Buy']))
    expect(Object.keys(variations ?? {}).toSorted()).toEqual([
      'A',
      'all_variations',
      'campaign_control_group',
      'global_control_group',
    ])
    const { campaign_control_group, global_control_group } = variations ?? {}
    for (const variation of ['A', 'all_variations']) {
      expect(variations?.[variation]).toMatchObject({ campaign_control_group, global_control_group })
    }
  })

  it('count only users of the platform and locale they appear in', () => {
    const dimensions = { platform: 'IOS', locale: 'de' }
    const body = bodyOf([...counts, count('audience', 5, { ...campaignControl, ...dimensions })])
    const units = (platform?: string, locale?: string) =>
      variationsOf(body, platform, locale)?.['campaign_control_group']?.delivery_funnel.reachable_users_in_segment
    expect([units(), units('IOS'), units('IOS', 'de')]).toEqual([40, 0, 5])
  })
})

describe('uplift', () => {
  const targetOf = (met: number, users: number, given: Partial<SeriesCount> = {}) => [
    count('audience', 2 * users, { ...target, users, ...given }),
    count('met:Buy', 2 * met, { ...target, users: met, ...given }),
  ]
  const controlOf = (group: typeof campaignControl | typeof globalControl, met: number, users: number) => [
    count('audience', 3 * users, { ...group, users }),
    count('met:Buy', 3 * met, { ...group, users: met }),
  ]
  const upliftOf = (counts: SeriesCount[], question = TOTAL) =>
    allOf(counts, question, ['Buy'])['conversion_goal_stats']
  const up50 = { Buy: { uplift: 50, uplift_low: 28.34, uplift_high: 75.32, uplift_significant: true } }

  it.each([TOTAL, UNIQUE])('compares distinct users with the campaign control group, for %o', (question) => {
    const counts = [...targetOf(300, 1_000), ...controlOf(campaignControl, 200, 1_000)]
    expect(upliftOf([...counts, ...controlOf(globalControl, 1, 2)], question)).toMatchObject(up50)
  })

  it('compares with the global control group if there is no other', () => {
    expect(upliftOf([...targetOf(300, 1_000), ...controlOf(globalControl, 200, 1_000)])).toMatchObject(up50)
  })

  it('does not fall back to the global control group when nobody in the campaign control group met the goal', () => {
    const controls = [...controlOf(campaignControl, 0, 10), ...controlOf(globalControl, 200, 1_000)]
    expect(upliftOf([...targetOf(300, 1_000), ...controls])).toMatchObject({ Buy: noUplift })
  })

  it('compares each variation with the control group of its platform and locale', () => {
    const counts = [...targetOf(300, 1_000, { variation: 'A' }), ...controlOf(campaignControl, 200, 1_000)]
    const variations = variationsOf(bodyOf(counts, TOTAL, ['Buy']))
    expect(variations?.['A']?.conversion_goal_stats).toMatchObject(up50)
    expect(variations?.['all_variations']?.conversion_goal_stats).toMatchObject({ Buy: noUplift })
  })

  it('uses only the global control group of the same platform and locale', () => {
    const dimensions = { platform: 'IOS' }
    const counts = [...targetOf(300, 1_000, dimensions), ...controlOf(globalControl, 200, 1_000)]
    const variations = variationsOf(bodyOf(counts, TOTAL, ['Buy']), 'IOS')
    expect(variations?.['all_variations']?.conversion_goal_stats).toMatchObject({ Buy: noUplift })
  })
})
