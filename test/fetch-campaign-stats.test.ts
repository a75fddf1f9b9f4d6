// Fetch Campaign Stats through real HTTP, on every store: its rules, its paging, and what its numbers are read from.
import SqliteFile from 'better-sqlite3'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LIMIT_DEFAULTS } from '../src/core/workspace.ts'
import { fromCalendarDate } from '../src/core/time-zone.ts'
import { findCursor, moveCursor, PIPELINE_CURSOR } from '../src/store/cursors.ts'
import { LOG_FILE } from '../src/store/open-database.ts'
import type { Tables } from '../src/store/tables.ts'
import { describeEachStore } from './stores.ts'
import { expectRefusal, startServer, until, type TestServer, type TestWorkspace } from './server.ts'

type Row = Tables['statistics']

interface Stats {
  readonly response_id: string
  readonly total_campaigns: number
  readonly current_page: number
  readonly total_pages: number
  readonly data: Record<string, unknown[]>
  readonly processed_until: string
}

const request = {
  request_id: 'call-1',
  start_date: '2026-03-01',
  end_date: '2026-03-31',
  attribution_type: 'CLICK_THROUGH',
  metric_type: 'TOTAL',
}

/** What stands for no previous day. */
const NO_DAY = -1_000_000
const dayOf = (date: string) => fromCalendarDate(date) as number

describeEachStore('Fetch Campaign Stats', (kind) => {
  let server: TestServer

  beforeAll(async () => void (server = await startServer(kind)))
  afterAll(() => server.stop())

  const fetchStats = (
    body: unknown,
    options: { as?: TestWorkspace; headers?: Record<string, string | undefined> } = {},
  ) => server.call<Stats>('POST', '/core-services/v1/campaign-stats', { tile: 'reports', body, ...options })

  /** One cell of the aggregates, unless told otherwise. */
  async function addCell(workspace: TestWorkspace, campaignId: string, date: string, given: Partial<Row> = {}) {
    const row: Row = {
      workspace_id: workspace.id,
      campaign_id: campaignId,
      platform: 'all_platforms',
      locale: 'all_locales',
      variation: 'all_variations',
      audience_group: 'target',
      metric: 'sent',
      day: dayOf(date),
      previous_day: NO_DAY,
      users: 1,
      occurrences: 1,
      ...given,
    }
    await server.database.write(async ({ query }) => void (await query.insertInto('statistics').values(row).execute()))
  }

  it('answers what it was asked, with nothing while nothing is counted', async () => {
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
    ['a request_id that is no string', { request_id: 7 }, ['request_id']],
    ['a missing start_date', { start_date: undefined }, ['start_date']],
    ['a missing end_date', { end_date: undefined }, ['end_date']],
    ['a date that is not of the calendar', { start_date: '2026-02-30' }, ['start_date']],
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
    ['an empty campaign id', { campaign_ids: [''] }, ['campaign_ids[0]']],
    ['a campaign id that is no string', { campaign_ids: ['a', 7] }, ['campaign_ids[1]']],
    ['a negative offset', { offset: -1 }, ['offset']],
    ['a fractional offset', { offset: 0.5 }, ['offset']],
    ['an offset beyond all counting', { offset: 1e300 }, ['offset']],
    ['an offset that is a string', { offset: '0' }, ['offset']],
    ['a limit of 0', { limit: 0 }, ['limit']],
    ['a limit of 11', { limit: 11 }, ['limit']],
    ['an unknown field', { campaign_id: 'a' }, ['campaign_id']],
    [
      'everything wrong at once',
      { request_id: null, start_date: 'x', metric_type: 'x', limit: 99, extra: 1 },
      ['extra', 'limit', 'metric_type', 'request_id', 'start_date'],
    ],
  ]
  it.each(refusals)('refuses %s', async (_rule, change, fields) => {
    expectRefusal(await fetchStats({ ...request, ...change }), 400, 'invalid_request', fields)
  })

  it('needs SVC-APPKEY and the key of the tile reports', async () => {
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
    const campaigns = Array.from({ length: 12 }, (_, index) => `c-${String(index).padStart(2, '0')}`)
    for (const campaign of campaigns) {
      await addCell(workspace, campaign, '2026-03-01')
      await addCell(workspace, campaign, '2026-03-31', { metric: 'click', audience_group: 'campaign_control' })
    }
    await addCell(workspace, 'c-98-before', '2026-02-28')
    await addCell(workspace, 'c-98-after', '2026-04-01')
    await addCell(workspace, 'c-98-empty', '2026-03-15', { users: 0, occurrences: 0 })
    await addCell(await server.makeWorkspace(), 'c-99-other-workspace', '2026-03-15')
    const newestFirst = campaigns.toReversed()

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
      expect(Object.keys(body.data)).toHaveLength(newestFirst.slice(offset, offset + limit).length)
      expect(Object.keys(body.data).toSorted()).toEqual(newestFirst.slice(offset, offset + limit).toSorted())
    }
    const { body } = await fetchStats(request, { as: workspace })
    expect(body).toMatchObject({ total_campaigns: 12, current_page: 1, total_pages: 2 })
  })

  it('counts unknown and countless campaigns that were asked for, and leaves them out of data', async () => {
    const workspace = await server.makeWorkspace()
    await addCell(workspace, 'known-1', '2026-03-02')
    await addCell(workspace, 'known-2', '2026-03-02')
    await addCell(workspace, 'countless', '2026-02-28')
    await addCell(await server.makeWorkspace(), 'foreign', '2026-03-02')
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
    // One user active on three days, one of them before the range; two users active on one day.
    await addCell(workspace, 'c', '2026-02-28', { metric: 'attempted', occurrences: 7 })
    await addCell(workspace, 'c', '2026-03-02', {
      metric: 'attempted',
      previous_day: dayOf('2026-02-28'),
      occurrences: 4,
    })
    await addCell(workspace, 'c', '2026-03-09', { metric: 'attempted', previous_day: dayOf('2026-03-02') })
    await addCell(workspace, 'c', '2026-03-09', { metric: 'attempted', users: 2, occurrences: 3 })
    await addCell(workspace, 'c', '2026-03-09', { users: 2, occurrences: 2 })
    await addCell(workspace, 'c', '2026-03-09', { platform: 'WEB', locale: 'de', variation: 'A', metric: 'click' })
    const performance = async (metricType: string) => {
      const { body } = await fetchStats({ ...request, metric_type: metricType }, { as: workspace })
      return body.data['c']
    }
    const rest = { failed: 0, impression: 0, ctr: 0, delivery_rate: 0, failure_rate: 0 }
    const web = { locales: { de: { variations: { A: { performance_stats: expect.objectContaining({ click: 1 }) } } } } }
    const of = (numbers: object) => {
      const performance_stats = { click: 0, ...rest, ...numbers }
      const all = { locales: { all_locales: { variations: { all_variations: { performance_stats } } } } }
      return [{ platforms: { all_platforms: all, WEB: web } }]
    }

    expect(await performance('TOTAL')).toEqual(of({ attempted: 8, sent: 2, sent_rate: 25 }))
    expect(await performance('UNIQUE')).toEqual(of({ attempted: 3, sent: 2, sent_rate: 66.67 }))
  })

  it('says as processed_until the instant of the answer when nothing waits', async () => {
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

  it('keeps processed_until at the oldest event that is not on disk yet', async () => {
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
    const later = Date.now() + 60_000
    server.setClock(later)
    const first = (await fetchStats(request)).body.processed_until
    server.setClock(undefined)
    const second = (await fetchStats(request)).body.processed_until
    expect([first, second]).toEqual([new Date(later).toISOString(), new Date(later).toISOString()])
  })
})
