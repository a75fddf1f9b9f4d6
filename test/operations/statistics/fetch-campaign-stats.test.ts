// Fetch Campaign Stats through real HTTP, on every store: its rules, its pages, and the cells that its numbers add up.
import SqliteFile from 'better-sqlite3'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LIMIT_DEFAULTS } from '../../../src/core/workspace.ts'
import {
  ANY_GROUP,
  AUDIENCE,
  cellKey,
  CellSum,
  convertedMetric,
  metMetric,
  NO_DAY,
  NO_GENERATION,
  seriesKey,
  type Cell,
} from '../../../src/core/statistics/cells.ts'
import { ALL, ALL_GROUPING_SETS } from '../../../src/core/statistics/grouping-sets.ts'
import { DAY_MS, fromCalendarDate } from '../../../src/core/time-zone.ts'
import type { CampaignStatsBody, VariationBody } from '../../../src/operations/statistics/campaign-stats-body.ts'
import { addCampaign, findCampaign, saveCampaign } from '../../../src/store/campaigns/campaigns.ts'
import { findCursor, moveCursor, PIPELINE_CURSOR } from '../../../src/store/entries/cursors.ts'
import { LOG_FILE } from '../../../src/log/open-log.ts'
import { addCells } from '../../../src/store/statistics/statistics.ts'
import { expectOthersFirst } from '../../support/held-turn.ts'
import { describeEachStore } from '../../support/stores.ts'
import { expectRefusal, startServer, until, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { trackingOf } from '../../support/calls/tracking.ts'

interface Stats {
  readonly response_id: string
  readonly total_campaigns: number
  readonly current_page: number
  readonly total_pages: number
  readonly data: Record<string, CampaignStatsBody[]>
  readonly processed_until: string
}

const request = {
  request_id: 'call-1',
  start_date: '2026-03-01',
  end_date: '2026-03-31',
  attribution_type: 'CLICK_THROUGH',
  metric_type: 'TOTAL',
}

const dayOf = (date: string) => fromCalendarDate(date) as number

describeEachStore('Fetch Campaign Stats (fetch_campaign_stats)', (kind) => {
  let server: TestServer

  beforeAll(async () => void (server = await startServer(kind)))
  afterAll(() => server.stop())

  const fetchStats = (
    body: unknown,
    options: { as?: TestWorkspace; headers?: Record<string, string | undefined> } = {},
  ) => server.call<Stats>('POST', '/core-services/v1/campaign-stats', { tile: 'reports', body, ...options })

  const goals = (...names: string[]) => names.map((name) => ({ name, event: 'Bought', where: [], windowHours: 36 }))

  let made = 0
  /** Makes a campaign and returns its id. */
  async function makeCampaign(workspace: TestWorkspace, goalNames: string[] = [], id = `c-${++made}`): Promise<string> {
    const details = { name: id, platforms: ['EMAIL'], goals: goals(...goalNames), createdBy: 'anna', createdAt: 0 }
    await server.database.write((store) => addCampaign(store, { ...details, id, workspaceId: workspace.id }))
    return id
  }

  /** Adds counts to the aggregates of one campaign: by default one message sent to one user. */
  async function count(workspace: TestWorkspace, id: string, date: string, given: Partial<Cell> = {}): Promise<void> {
    const { users = 1, occurrences = 1, previousDay = NO_DAY, ...series } = given
    await server.database.write(async (store) => {
      const campaign = (await findCampaign(store, workspace.id, id))?.number as number
      const dimensions = { platform: ALL, locale: ALL, variation: ALL }
      const sent = { campaign, generation: NO_GENERATION, group: ANY_GROUP, metric: 'sent', ...dimensions } as const
      const sum = new CellSum()
      sum.addAtGroupingSets(
        cellKey(seriesKey({ ...sent, ...series }), dayOf(date), previousDay),
        ALL_GROUPING_SETS,
        users,
        occurrences,
      )
      await addCells(store, sum)
    })
  }

  /** Makes campaigns, and counts one message sent in each. */
  async function makeCountedCampaigns(workspace: TestWorkspace, campaigns: number): Promise<void> {
    const dimensions = { platform: ALL, locale: ALL, variation: ALL }
    const sent = { generation: NO_GENERATION, group: ANY_GROUP, metric: 'sent', ...dimensions } as const
    await server.database.write(async (store) => {
      const sum = new CellSum()
      for (let index = 0; index < campaigns; index++) {
        const details = { name: 'one of many', platforms: ['EMAIL'], goals: [], createdBy: 'anna', createdAt: 0 }
        const added = await addCampaign(store, { ...details, id: `c-${++made}`, workspaceId: workspace.id })
        const series = seriesKey({ ...sent, campaign: added.number })
        sum.addAtGroupingSets(cellKey(series, dayOf('2026-03-15'), NO_DAY), ALL_GROUPING_SETS, 1, 1)
      }
      await addCells(store, sum)
    })
  }

  it('answers with the request id and no data while nothing is counted', async () => {
    const answer = await fetchStats(request)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      response_id: 'call-1',
      total_campaigns: 0,
      current_page: 1,
      total_pages: 0,
      data: {},
      processed_until: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
    })
  })

  const ids = (count: number) => Array.from({ length: count }, (_, index) => `campaign-${index}`)
  const acceptances: [rule: string, change: Record<string, unknown>][] = [
    ['a range of one day', { end_date: '2026-03-01' }],
    ['a range of exactly 30 days between start and end', { end_date: '2026-03-31' }],
    ['dates in the future', { start_date: '2999-01-01', end_date: '2999-01-31' }],
    ['a leap day', { start_date: '2024-02-29', end_date: '2024-02-29' }],
    ['ten campaign ids', { campaign_ids: ids(10) }],
    ['the greatest offset', { offset: Number.MAX_SAFE_INTEGER }],
    ...['VIEW_THROUGH', 'CLICK_THROUGH', 'IN_SESSION', 'TOTAL_CONVERSIONS', 'CLICK_CONVERSIONS'].map(
      (type): [string, Record<string, unknown>] => [`attribution ${type}`, { attribution_type: type }],
    ),
    ['UNIQUE metrics', { metric_type: 'UNIQUE' }],
  ]
  it.each(acceptances)('accepts %s', async (_rule, change) => {
    expect(await fetchStats({ ...request, ...change })).toMatchObject({ status: 200, body: { data: {} } })
  })

  const refusals: [rule: string, change: Record<string, unknown>, fields: string[]][] = [
    ['a missing request_id', { request_id: undefined }, ['request_id']],
    ['an empty request_id', { request_id: '' }, ['request_id']],
    ['a request_id that is not a string', { request_id: 7 }, ['request_id']],
    ['a missing start_date', { start_date: undefined }, ['start_date']],
    ['a missing end_date', { end_date: undefined }, ['end_date']],
    ['a date that is not in the calendar', { start_date: '2026-02-30' }, ['start_date']],
    ['a date with a time', { end_date: '2026-03-31T00:00:00Z' }, ['end_date']],
    ['a date in another notation', { start_date: '01-03-2026' }, ['start_date']],
    ['a start after the end', { start_date: '2026-04-01' }, ['end_date']],
    ['a range of 31 days between start and end', { end_date: '2026-04-01' }, ['end_date']],
    ['a missing attribution_type', { attribution_type: undefined }, ['attribution_type']],
    ['an unknown attribution_type', { attribution_type: 'LAST_CLICK' }, ['attribution_type']],
    ['an attribution_type in small letters', { attribution_type: 'click_through' }, ['attribution_type']],
    ['a missing metric_type', { metric_type: undefined }, ['metric_type']],
    ['an unknown metric_type', { metric_type: 'AVERAGE' }, ['metric_type']],
    ['an empty list of campaign ids', { campaign_ids: [] }, ['campaign_ids']],
    ['eleven campaign ids', { campaign_ids: ids(11) }, ['campaign_ids']],
    ['a repeated campaign id', { campaign_ids: ['a', 'b', 'a'] }, ['campaign_ids']],
    ['the repeated campaign id __proto__', { campaign_ids: ['__proto__', '__proto__'] }, ['campaign_ids']],
    ['an empty campaign id', { campaign_ids: [''] }, ['campaign_ids[0]']],
    ['a campaign id that is not a string', { campaign_ids: ['a', 7] }, ['campaign_ids[1]']],
    ['a negative offset', { offset: -1 }, ['offset']],
    ['a fractional offset', { offset: 0.5 }, ['offset']],
    ['an offset beyond the integer range', { offset: 1e300 }, ['offset']],
    ['an offset that is a string', { offset: '0' }, ['offset']],
    ['a limit of 0', { limit: 0 }, ['limit']],
    ['a limit of 11', { limit: 11 }, ['limit']],
    ['an unknown field', { campaign_id: 'a' }, ['campaign_id']],
    [
      'every fault at once',
      { request_id: null, start_date: 'x', metric_type: 'x', limit: 99, extra: 1 },
      ['extra', 'limit', 'metric_type', 'request_id', 'start_date'],
    ],
  ]
  it.each(refusals)('refuses %s', async (_rule, change, fields) => {
    expectRefusal(await fetchStats({ ...request, ...change }), 400, 'invalid_request', fields)
  })

  it('requires SVC-APPKEY and the key of the tile reports', async () => {
    expectRefusal(await fetchStats(request, { headers: { 'svc-appkey': undefined } }), 400, 'invalid_request', [
      'header.SVC-APPKEY',
    ])
    const withDataKey = await server.call('POST', '/core-services/v1/campaign-stats', { tile: 'data', body: request })
    expectRefusal(withDataKey, 403, 'forbidden')
  })

  it('allows campaign_stats_per_minute calls a minute', async () => {
    const workspace = await server.makeWorkspace()
    await server.changeSettings(workspace, { limits: { ...LIMIT_DEFAULTS, campaign_stats_per_minute: 1 } })
    server.setClock(Date.parse('2026-03-31T12:00:00Z'))
    const first = await fetchStats(request, { as: workspace })
    const second = await fetchStats(request, { as: workspace })
    server.setClock(undefined)
    expect([first.status, first.headers.get('x-ratelimit-limit')]).toEqual([200, '1'])
    expectRefusal(second, 429, 'rate_limited')
  })

  it('pages through every campaign with any count in the range, newest first', async () => {
    const workspace = await server.makeWorkspace()
    const other = await server.makeWorkspace()
    // The ids are not in order of age.
    const oldestFirst = Array.from({ length: 12 }, (_, index) => `paged-${(index * 5) % 12}`)
    for (const campaign of oldestFirst) {
      await makeCampaign(workspace, [], campaign)
      await count(workspace, campaign, '2026-03-01')
      await count(workspace, campaign, '2026-03-31', { metric: AUDIENCE, group: 'campaign_control', locale: 'de' })
    }
    await count(workspace, await makeCampaign(workspace), '2026-02-28')
    await count(workspace, await makeCampaign(workspace), '2026-04-01')
    const emptied = await makeCampaign(workspace)
    await count(workspace, emptied, '2026-03-15')
    await count(workspace, emptied, '2026-03-15', { users: -1, occurrences: -1 })
    await count(other, await makeCampaign(other), '2026-03-15')
    const newestFirst = oldestFirst.toReversed()

    const pages: [offset: number, limit: number, current: number, total: number][] = [
      [0, 10, 1, 2],
      [10, 10, 2, 2],
      [20, 10, 3, 2],
      [0, 1, 1, 12],
      [5, 5, 2, 3],
      [3, 5, 1, 3],
    ]
    for (const [offset, limit, current, total] of pages) {
      const { body } = await fetchStats({ ...request, offset, limit }, { as: workspace })
      expect([body.total_campaigns, body.current_page, body.total_pages]).toEqual([12, current, total])
      expect(Object.keys(body.data)).toEqual(newestFirst.slice(offset, offset + limit))
    }
    const { body } = await fetchStats(request, { as: workspace })
    expect(body).toMatchObject({ total_campaigns: 12, current_page: 1, total_pages: 2 })
  })

  it('serves another workspace before queued searches through all campaigns of one workspace', async () => {
    const [many, other] = [await server.makeWorkspace(), await server.makeWorkspace()]
    await makeCountedCampaigns(many, 400)
    await makeCountedCampaigns(other, 1)
    const answers = await expectOthersFirst(server, {
      turn: `campaigns with counts ${many.id}`,
      size: 40,
      send: (index) => fetchStats({ ...request, offset: index * 10 }, { as: many }),
      askOther: async () => expect((await fetchStats(request, { as: other })).body.total_campaigns).toBe(1),
    })
    expect(answers.map(({ body }) => Object.keys(body.data).length)).toEqual(answers.map(() => 10))
  })

  const onlyCounts: [what: string, given: Partial<Cell>][] = [
    ['a message event of any kind', { metric: 'delivered' }],
    ['an audience of a control group', { metric: AUDIENCE, group: 'global_control' }],
    ['a conversion by another attribution type', { metric: convertedMetric('VIEW_THROUGH', 'Buy'), generation: 1 }],
  ]
  it.each(onlyCounts)('shows a campaign whose only count is %s', async (_what, given) => {
    const workspace = await server.makeWorkspace()
    const c = await makeCampaign(workspace, ['Buy'])
    await count(workspace, c, '2026-03-15', { ...given, platform: 'WEB', locale: 'en', variation: 'B' })
    const asked = (await fetchStats({ ...request, campaign_ids: [c] }, { as: workspace })).body
    const found = (await fetchStats(request, { as: workspace })).body
    expect(found.data).toEqual(asked.data)
    const { platforms } = asked.data[c]?.[0] ?? { platforms: {} }
    const variations = platforms['WEB']?.locales['en']?.variations ?? {}
    expect([Object.keys(platforms).toSorted(), Object.keys(variations).toSorted()]).toEqual([
      ['WEB', 'all_platforms'],
      ['B', 'all_variations', 'campaign_control_group', 'global_control_group'],
    ])
  })

  it('counts requested campaigns that are unknown or have no counts, and leaves them out of data', async () => {
    const workspace = await server.makeWorkspace()
    const other = await server.makeWorkspace()
    for (const [of, id, date] of [
      [workspace, 'known-1', '2026-03-02'],
      [workspace, 'known-2', '2026-03-02'],
      [workspace, 'countless', '2026-02-28'],
      [other, 'foreign', '2026-03-02'],
    ] as const) {
      await makeCampaign(of, [], id)
      await count(of, id, date)
    }
    const wanted = ['known-1', 'unknown', 'countless', 'foreign', 'known-2', '__proto__']
    const page = async (offset: number, limit: number) =>
      (await fetchStats({ ...request, campaign_ids: wanted, offset, limit }, { as: workspace })).body

    expect(await page(0, 10)).toMatchObject({ total_campaigns: 6, current_page: 1, total_pages: 1 })
    expect(Object.keys((await page(0, 10)).data).toSorted()).toEqual(['known-1', 'known-2'])
    expect(await page(0, 4)).toMatchObject({ total_campaigns: 6, current_page: 1, total_pages: 2 })
    expect(Object.keys((await page(0, 4)).data)).toEqual(['known-1'])
    expect(await page(4, 4)).toMatchObject({ total_campaigns: 6, current_page: 2, total_pages: 2 })
    expect(Object.keys((await page(4, 4)).data)).toEqual(['known-2'])
    expect((await page(8, 4)).data).toEqual({})
  })

  it('adds up occurrences for TOTAL, and counts each user once for UNIQUE', async () => {
    const workspace = await server.makeWorkspace()
    const c = await makeCampaign(workspace)
    const attempted = { metric: 'attempted' }
    // One user active on three days, one of them before the range; two users active on one day.
    await count(workspace, c, '2026-02-28', { ...attempted, occurrences: 7 })
    await count(workspace, c, '2026-03-02', { ...attempted, previousDay: dayOf('2026-02-28'), occurrences: 4 })
    await count(workspace, c, '2026-03-09', { ...attempted, previousDay: dayOf('2026-03-02') })
    await count(workspace, c, '2026-03-09', { ...attempted, users: 2, occurrences: 3 })
    await count(workspace, c, '2026-03-31', { users: 2, occurrences: 2 })
    const performance = async (metricType: string) => {
      const { body } = await fetchStats({ ...request, metric_type: metricType }, { as: workspace })
      return allOf(body, c)?.performance_stats
    }
    const feedback = { delivered: 0, bounce: 0, hard_bounce: 0, soft_bounce: 0, complaint: 0, unsubscribe: 0 }
    const machines = { machine_impression: 0, machine_click: 0, proxy_impression: 0 }
    const rates = { ctr: 0, delivery_rate: 0, failure_rate: 0, open_rate: 0 }
    const feedbackRates = { unsubscribe_rate: 0, complaint_rate: 0, bounce_rate: 0 }
    const rest = { failed: 0, impression: 0, click: 0, ...feedback, ...machines, ...rates, ...feedbackRates }
    expect(await performance('TOTAL')).toEqual({ ...rest, attempted: 8, sent: 2, sent_rate: 25 })
    expect(await performance('UNIQUE')).toEqual({ ...rest, attempted: 3, sent: 2, sent_rate: 66.67 })
  })

  it('shows all goals of the campaign, with conversions of the requested attribution type and their uplift', async () => {
    const workspace = await server.makeWorkspace()
    const c = await makeCampaign(workspace, ['Buy', 'Visit'])
    const met = { metric: metMetric('Buy'), generation: 1 }
    await count(workspace, c, '2026-03-02', { metric: 'click', users: 8, occurrences: 10 })
    await count(workspace, c, '2026-03-02', { metric: AUDIENCE, group: 'target', users: 1_000 })
    await count(workspace, c, '2026-03-02', { metric: AUDIENCE, group: 'campaign_control', users: 1_000 })
    await count(workspace, c, '2026-03-02', { ...met, group: 'target', users: 300 })
    await count(workspace, c, '2026-03-02', { ...met, group: 'campaign_control', users: 200 })
    for (const [type, occurrences] of [
      ['CLICK_THROUGH', 5],
      ['IN_SESSION', 3],
    ] as const) {
      await count(workspace, c, '2026-03-03', { metric: convertedMetric(type, 'Buy'), generation: 1, occurrences })
    }
    const uplift = { uplift: 50, uplift_low: 28.34, uplift_high: 75.32, uplift_significant: true }
    const none = { uplift: 0, uplift_low: 0, uplift_high: 0, uplift_significant: false }
    const goalStats = async (change: object) =>
      allOf((await fetchStats({ ...request, ...change }, { as: workspace })).body, c)?.conversion_goal_stats
    expect(await goalStats({})).toEqual({
      Buy: { conversions: 5, cvr: 50, ...uplift },
      Visit: { conversions: 0, cvr: 0, ...none },
    })
    expect(await goalStats({ metric_type: 'UNIQUE' })).toMatchObject({ Buy: { conversions: 1, cvr: 12.5, ...uplift } })
    expect(await goalStats({ attribution_type: 'IN_SESSION' })).toMatchObject({ Buy: { conversions: 3, cvr: 30 } })
  })

  it('shows the goals by which the numbers were counted while a recount by changed goals is running', async () => {
    const workspace = await server.makeWorkspace()
    const c = await makeCampaign(workspace, ['Buy'])
    const converted = (goal: string, generation: number) => {
      return { metric: convertedMetric('CLICK_THROUGH', goal), generation }
    }
    await count(workspace, c, '2026-03-02', converted('Buy', 1))
    await count(workspace, c, '2026-03-02', converted('Visit', 2))
    await count(workspace, c, '2026-04-02', converted('Visit', 2))
    const goalNames = async (change = {}) => {
      const { body } = await fetchStats({ ...request, ...change }, { as: workspace })
      return Object.entries(allOf(body, c)?.conversion_goal_stats ?? {}).map(
        ([name, { conversions }]) => `${name} ${conversions}`,
      )
    }
    const april = { start_date: '2026-04-01', end_date: '2026-04-30' }
    const change = (fields: object) =>
      server.database.write(async (store) => {
        const campaign = await findCampaign(store, workspace.id, c)
        if (campaign) await saveCampaign(store, { ...campaign, ...fields })
      })
    await change({ goals: goals('Visit'), pendingGeneration: 2 })
    expect([await goalNames(), await goalNames(april)]).toEqual([['Buy 1'], []])
    await change({ countedGoals: goals('Visit'), countedGeneration: 2, pendingGeneration: null })
    expect([await goalNames(), await goalNames(april)]).toEqual([['Visit 1'], ['Visit 1']])
  })

  it('shows the current numbers, regardless of earlier requests for them', async () => {
    const workspace = await server.makeWorkspace()
    const [changing, resting] = [await makeCampaign(workspace), await makeCampaign(workspace)]
    await count(workspace, resting, '2026-03-02', { occurrences: 5 })
    const sent = async (change: object = {}) => {
      const { body } = await fetchStats({ ...request, campaign_ids: [changing, resting], ...change }, { as: workspace })
      return [changing, resting].map((id) => allOf(body, id)?.performance_stats.sent)
    }
    expect(await sent()).toEqual([undefined, 5])
    await count(workspace, changing, '2026-03-02', { users: 2, occurrences: 3 })
    expect([await sent(), await sent()]).toEqual([
      [3, 5],
      [3, 5],
    ])
    expect([await sent({ metric_type: 'UNIQUE' }), await sent({ end_date: '2026-03-01' })]).toEqual([
      [2, 1],
      [undefined, undefined],
    ])
    await count(workspace, changing, '2026-03-01')
    expect([await sent(), await sent({ metric_type: 'UNIQUE' }), await sent({ end_date: '2026-03-01' })]).toEqual([
      [4, 5],
      [3, 1],
      [1, undefined],
    ])
    await count(workspace, changing, '2026-03-01', { users: -1, occurrences: -1 })
    await count(workspace, changing, '2026-03-02', { users: -2, occurrences: -3 })
    expect(await sent()).toEqual([undefined, 5])
  })

  it('sets processed_until to the time of the answer when nothing waits', async () => {
    const answer = await until('processed_until is not before the request', async () => {
      const askedAt = Date.now()
      const processedUntil = Date.parse((await fetchStats(request)).body.processed_until)
      return processedUntil >= askedAt && { processedUntil, answeredAt: Date.now() }
    })
    expect(answer.processedUntil).toBeLessThanOrEqual(answer.answeredAt)
  })

  it('keeps processed_until at the oldest event that is not in the numbers yet', async () => {
    const processedUntil = async () => Date.parse((await fetchStats(request)).body.processed_until)
    const sent = { before: 0, after: 0 }
    await server.database.write(async (store) => {
      // The pipeline cannot move its cursor while another transaction holds it.
      const cursor = await findCursor(store, PIPELINE_CURSOR)
      await moveCursor(store, PIPELINE_CURSOR, cursor, cursor)
      sent.before = Date.now()
      await server.call('POST', '/v1/event/main', {
        body: { type: 'event', customer_id: 'c1', actions: [{ action: 'Opened' }] },
      })
      sent.after = Date.now()
      await until('time has passed', () => Date.now() > sent.after)
      expect(await processedUntil()).toBeGreaterThanOrEqual(sent.before)
      expect(await processedUntil()).toBeLessThanOrEqual(sent.after)
    })
    await until('the event is in the numbers', async () => (await processedUntil()) > sent.after)
  })

  it('keeps processed_until at the oldest event that is not on disk yet', async ({ skip }) => {
    skip(kind !== 'sqlite', 'a shared log stamps entries by its own clock when it commits them')
    const lock = new SqliteFile(join(server.dataDir, LOG_FILE))
    lock.exec('begin immediate')
    const sentAt = Date.now()
    const body = { type: 'event', customer_id: 'c1', actions: [{ action: 'Opened' }] }
    const tracking = server.call('POST', '/v1/event/main', { body })
    const stuckAt = await until('the event waits for the disk', async () => {
      const askedAt = Date.now()
      const processedUntil = Date.parse((await fetchStats(request)).body.processed_until)
      return processedUntil < askedAt && processedUntil
    })
    expect(stuckAt).toBeGreaterThanOrEqual(sentAt)
    lock.close()
    expect((await tracking).status).toBe(200)
    await until('the event is in the numbers', async () => {
      return Date.parse((await fetchStats(request)).body.processed_until) > stuckAt
    })
  })

  it('never lets processed_until go back', async () => {
    const processedUntil = async () => Date.parse((await fetchStats(request)).body.processed_until)
    const later = Date.now() + 60_000
    server.setClock(later)
    const first = await processedUntil()
    server.setClock(undefined)
    expect(await processedUntil()).toBeGreaterThanOrEqual(first)
    server.setClock(later + 60_000)
    expect(await processedUntil()).toBeGreaterThanOrEqual(first)
    server.setClock(undefined)
  })

  it('dates events by the clock again after it was ahead for a moment', async ({ skip }) => {
    skip(kind !== 'sqlite', 'a shared log stamps entries by its own clock when it commits them')
    const tracking = trackingOf(server)
    const apply = (customer_id: string) => {
      return tracking.apply({ type: 'event', customer_id, actions: [{ action: 'Opened' }] })
    }
    server.setClock(Date.now() + 2 * DAY_MS)
    await apply('ahead')
    server.setClock(undefined)
    const sentAt = Date.now()
    await apply('after')
    const [event] = (await tracking.listEvents({ customer_id: 'after' })).body.data
    expect(Date.parse(event?.time ?? '')).toBeGreaterThanOrEqual(sentAt)
    expect(Date.parse(event?.time ?? '')).toBeLessThanOrEqual(Date.now())
    expect(event?.received_at).toBe(event?.time)
  })
})

/** The total aggregate of a campaign. */
function allOf({ data }: Stats, id: string): VariationBody | undefined {
  const locale = data[id]?.[0]?.platforms['all_platforms']?.locales['all_locales']
  return locale?.variations['all_variations'] as VariationBody | undefined
}
