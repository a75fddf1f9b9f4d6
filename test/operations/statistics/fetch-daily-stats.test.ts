// Fetch daily stats through real HTTP, on every store: its fields, its days, and that they agree with Fetch Campaign Stats.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LIMIT_DEFAULTS } from '../../../src/core/workspace.ts'
import type { CampaignStatsBody, VariationBody } from '../../../src/operations/statistics/campaign-stats-body.ts'
import { campaignCallsOf } from '../../support/calls/campaign-calls.ts'
import {
  AUDIENCE,
  MESSAGE_EVENTS,
  reportCallsOf,
  reportOf,
  type ReportCalls,
} from '../../support/calls/report-calls.ts'
import { trackingOf, type Tracking } from '../../support/calls/tracking.ts'
import type { DailyStats } from '../../support/statistics/statistics-run.ts'
import { expectRefusal, startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

interface Daily {
  readonly response_id: string
  readonly campaign_id: string
  readonly adds_up: boolean
  readonly days: readonly DailyStats[]
  readonly processed_until: string
}

const RANGE = { start_date: '2026-03-01', end_date: '2026-03-31' }
const ASKED = { request_id: 'r', ...RANGE, attribution_type: 'CLICK_THROUGH', metric_type: 'TOTAL' }
const GOAL = { name: 'Order', event: 'Order Placed' }

describeEachStore('Fetch daily stats (fetch_daily_stats)', (kind) => {
  let server: TestServer
  let reports: ReportCalls
  let tracking: Tracking

  beforeAll(async () => {
    server = await startServer(kind)
    reports = reportCallsOf(server)
    tracking = trackingOf(server)
  })
  afterAll(async () => {
    await reports.close()
    await server.stop()
  })

  const daily = (body: object, as: TestWorkspace = server.workspace) =>
    server.call<Daily>('POST', '/core-services/v1/campaign-stats/daily', { tile: 'reports', as, body })
  const make = () => campaignCallsOf(server).make({ conversion_goals: [GOAL] })

  /** Reports an audience of two people, and what happened to their messages, and waits until it is counted. */
  async function fill(campaignId: string): Promise<void> {
    const members = ['ann', 'bob'].map((customer_id) => ({ customer_id, locale: 'de', variation: 'A' }))
    const audience = members.map((member) => ({ ...member, evaluated_at: '2026-03-01T09:00:00Z' }))
    const events = [
      ['ann', 'sent', '2026-03-01T10:00:00Z'],
      ['bob', 'sent', '2026-03-01T10:00:00Z'],
      ['ann', 'impression', '2026-03-01T11:00:00Z'],
      ['ann', 'impression', '2026-03-03T11:00:00Z'],
      ['ann', 'impression', '2026-03-03T12:00:00Z'],
      ['bob', 'impression', '2026-03-03T12:00:00Z'],
      ['ann', 'click', '2026-03-03T12:01:00Z'],
    ].map(([customer_id, event, time]) => ({ customer_id, kind: event, time }))
    const sent = [
      await reports.send(AUDIENCE, campaignId, reportOf(AUDIENCE, ...audience)),
      await reports.send(MESSAGE_EVENTS, campaignId, reportOf(MESSAGE_EVENTS, ...events)),
    ]
    const order = { action: 'Order Placed', user_time: '2026-03-03T13:00:00Z' }
    sent.push(await tracking.events({ type: 'event', customer_id: 'ann', actions: [order] }))
    // In a log with partitions the last may be applied before others.
    for (const answer of sent) expect(await tracking.fateOf(answer)).toMatchObject({ status: 'processed' })
  }

  it('returns every day of the range, which add up to TOTAL of Fetch Campaign Stats', async () => {
    const id = await make()
    await fill(id)
    const { status, body } = await daily({ ...ASKED, campaign_id: id })
    expect(status).toBe(200)
    expect(body).toMatchObject({ response_id: 'r', campaign_id: id, adds_up: true })
    expect(Date.parse(body.processed_until)).toBeGreaterThan(0)
    expect(body.days.map(({ date }) => date)).toEqual(
      Array.from({ length: 31 }, (_, index) => `2026-03-${String(index + 1).padStart(2, '0')}`),
    )
    const [first, second, third] = body.days
    expect(first?.performance_stats).toMatchObject({ sent: 2, impression: 1, click: 0, open_rate: 50 })
    expect(second?.performance_stats).toMatchObject({ sent: 0, impression: 0, click: 0, open_rate: 0 })
    expect(third?.performance_stats).toMatchObject({ sent: 0, impression: 3, click: 1, ctr: 33.33 })
    expect(body.days.map(({ conversion_goal_stats: goals }) => goals['Order']?.conversions)).toEqual(
      body.days.map(({ date }) => (date === '2026-03-03' ? 1 : 0)),
    )
    const whole = (await statsOf(id))?.performance_stats
    const sum = (name: 'sent' | 'impression' | 'click') =>
      body.days.reduce((total, { performance_stats: stats }) => total + stats[name], 0)
    expect(whole).toMatchObject({ sent: sum('sent'), impression: sum('impression'), click: sum('click') })
  })

  it('counts distinct users of each day with UNIQUE, which do not add up', async () => {
    const id = await make()
    await fill(id)
    const { body } = await daily({ ...ASKED, campaign_id: id, metric_type: 'UNIQUE' })
    expect(body.adds_up).toBe(false)
    const impressions = body.days.map(({ performance_stats: stats }) => stats.impression).filter((count) => count > 0)
    expect(impressions).toEqual([1, 2])
    expect((await statsOf(id, 'UNIQUE'))?.performance_stats.impression).toBe(2)
  })

  it.each([
    [{}, 3],
    [{ platform: 'all_platforms', locale: 'all_locales', variation: 'all_variations' }, 3],
    [{ platform: 'EMAIL' }, 3],
    [{ locale: 'de', variation: 'A' }, 3],
    [{ platform: 'IOS' }, 0],
    [{ locale: 'fr' }, 0],
    [{ variation: 'B' }, 0],
  ])('counts at the level %j', async (level, impressions) => {
    const id = await make()
    await fill(id)
    const { status, body } = await daily({ ...ASKED, campaign_id: id, level })
    expect([status, body.days.length, body.days[2]?.performance_stats.impression]).toEqual([200, 31, impressions])
  })

  it("counts days of the workspace's time zone", async () => {
    const tokyo = await server.makeWorkspace({ timezone: 'Asia/Tokyo' })
    const id = await campaignCallsOf(server).make({}, tokyo)
    const event = { customer_id: 'ann', kind: 'sent', time: '2026-03-01T16:00:00Z' }
    const sent = await reports.send(MESSAGE_EVENTS, id, reportOf(MESSAGE_EVENTS, event), { as: tokyo })
    expect(sent.status).toBe(200)
    expect(await trackingOf(server, tokyo).fateOf(sent)).toMatchObject({ status: 'processed' })
    const { body } = await daily({ ...ASKED, campaign_id: id }, tokyo)
    const days = body.days.filter(({ performance_stats: stats }) => stats.sent > 0).map(({ date }) => date)
    expect(days).toEqual(['2026-03-02'])
  })

  it('returns zeros and all goals of a campaign without any count', async () => {
    const { body } = await daily({ ...ASKED, campaign_id: await make(), end_date: '2026-03-01' })
    const [day, ...others] = body.days
    expect(others).toEqual([])
    expect(new Set(Object.values(day?.performance_stats ?? {}))).toEqual(new Set([0]))
    expect(day?.conversion_goal_stats).toMatchObject({ Order: { conversions: 0, cvr: 0 } })
  })

  const refusals: [rule: string, change: Record<string, unknown>, fields: string[]][] = [
    ['a missing campaign_id', { campaign_id: undefined }, ['campaign_id']],
    ['several campaigns', { campaign_ids: ['a'] }, ['campaign_ids']],
    ['a range of 31 days between start and end', { end_date: '2026-04-01' }, ['end_date']],
    ['a start after the end', { end_date: '2026-02-01' }, ['end_date']],
    ['an unknown metric_type', { metric_type: 'AVERAGE' }, ['metric_type']],
    ['an unknown platform', { level: { platform: 'FAX' } }, ['level.platform']],
    ['the aggregate of another dimension', { level: { locale: 'all_variations' } }, ['level.locale']],
    ['a control group', { level: { variation: 'campaign_control_group' } }, ['level.variation']],
    ['an unknown member of level', { level: { device: 'x' } }, ['level.device']],
  ]
  it.each(refusals)('refuses %s', async (_rule, change, fields) => {
    expectRefusal(await daily({ ...ASKED, campaign_id: 'c', ...change }), 400, 'invalid_request', fields)
  })

  it('does not know the campaign of another workspace', async () => {
    expectRefusal(await daily({ ...ASKED, campaign_id: 'unknown' }), 404, 'not_found')
    const other = await server.makeWorkspace()
    expectRefusal(await daily({ ...ASKED, campaign_id: await make() }, other), 404, 'not_found')
  })

  it('counts towards campaign_stats_per_minute, and requires the key of the tile reports', async () => {
    const few = await server.makeWorkspace({ limits: { ...LIMIT_DEFAULTS, campaign_stats_per_minute: 1 } })
    expectRefusal(await daily({ ...ASKED, campaign_id: 'c' }, few), 404, 'not_found')
    expectRefusal(await daily({ ...ASKED, campaign_id: 'c' }, few), 429, 'rate_limited')
    const body = { ...ASKED, campaign_id: 'c' }
    const withDataKey = await server.call('POST', '/core-services/v1/campaign-stats/daily', { tile: 'data', body })
    expectRefusal(withDataKey, 403, 'forbidden')
  })

  /** The numbers of the whole range. */
  async function statsOf(id: string, metric_type = 'TOTAL'): Promise<VariationBody | undefined> {
    const body = { ...ASKED, metric_type, campaign_ids: [id] }
    const asked = { tile: 'reports', body } as const
    const { body: found } = await server.call<{ data: Record<string, [CampaignStatsBody]> }>(
      'POST',
      '/core-services/v1/campaign-stats',
      asked,
    )
    const { variations } = found.data[id]?.[0].platforms['all_platforms']?.locales['all_locales'] ?? {}
    return variations?.['all_variations'] as VariationBody | undefined
  }
})
