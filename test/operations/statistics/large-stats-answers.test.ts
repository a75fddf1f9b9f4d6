// Fetch Campaign Stats of campaigns with very many numbers: read in pages of one snapshot, and refused past a limit instead of
// crashing the process.
import { sql, type KyselyPlugin } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ANY_GROUP, cellKey, CellSum, NO_DAY, NO_GENERATION, seriesKey } from '../../../src/core/statistics/cells.ts'
import { fromCalendarDate } from '../../../src/core/time-zone.ts'
import type { ErrorBody } from '../../../src/http/answers/error-answer.ts'
import { ResponseMemory } from '../../../src/operations/response-memory.ts'
import type { CampaignStatsBody, VariationBody } from '../../../src/operations/statistics/campaign-stats-body.ts'
import { ResponseCache } from '../../../src/operations/statistics/response-cache.ts'
import {
  SERIES_PER_CAMPAIGN_MAX,
  StatsReader,
  type RangeQuestion,
} from '../../../src/operations/statistics/stats-reader.ts'
import { addCampaign } from '../../../src/store/campaigns/campaigns.ts'
import { addCells } from '../../../src/store/statistics/statistics.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const DATE = '2026-03-02'
const DAY = fromCalendarDate(DATE) as number
const request = {
  request_id: 'call-1',
  start_date: DATE,
  end_date: DATE,
  attribution_type: 'CLICK_THROUGH',
  metric_type: 'TOTAL',
}
const QUESTION = {
  range: { firstDay: DAY, lastDay: DAY },
  attributionType: 'CLICK_THROUGH',
  metricType: 'TOTAL',
} as const
const PATH = '/core-services/v1/campaign-stats'
/** Five names of 1 KiB each, which every variation contains three times. */
const LONG_GOALS = Array.from({ length: 5 }, (_, index) => `${index}${'😀'.repeat(255)}`)
/** So many variations that the answer takes about 38 MiB with these goals. */
const HALF_AN_ANSWER = 2_200

describeEachStore('A large response of Fetch Campaign Stats (fetch_campaign_stats)', (kind) => {
  let server: TestServer

  beforeAll(async () => void (server = await startServer(kind, {}, { withPipeline: false })))
  afterAll(() => server.stop())

  const fetchStats = (...ids: string[]) =>
    server.call<{ data: Record<string, CampaignStatsBody[]> }>('POST', PATH, {
      tile: 'reports',
      body: { ...request, ...(ids.length > 0 && { campaign_ids: ids }) },
    })

  /**
   * Creates a campaign with variations v1, v2 …, in which every metric has the number of the variation as its count.
   */
  async function makeCampaign(id: string, variations: number, metrics: string[], goals: string[] = []) {
    return server.database.write(async (store) => {
      const counted = goals.map((name) => ({ name, event: 'Bought', where: [], windowHours: 36 }))
      const details = { name: id, platforms: ['EMAIL'], goals: counted, createdBy: 'anna', createdAt: 0 }
      const { number } = await addCampaign(store, { ...details, id, workspaceId: server.workspace.id })
      const rows = sql`with recursive rows(i) as (select 1 union all select i + 1 from rows where i < ${sql.lit(variations)})`
      for (const [index, metric] of metrics.entries()) {
        const first = sql.lit(number * 10_000_000 + index * 1_000_000)
        const head = sql.lit(`["","${metric}","EMAIL","de","v`)
        await sql`${rows} insert into series (campaign, generation, name, attribution, number)
          select ${sql.lit(number)}, 0, ${head} || i || '"]', null, ${first} + i from rows`.execute(store.query)
        await sql`${rows} insert into statistics (campaign, series, day, previous_day, users, occurrences)
          select ${sql.lit(number)}, ${first} + i, ${sql.lit(DAY)}, ${sql.lit(NO_DAY)}, 1, i from rows`.execute(
          store.query,
        )
      }
      return number
    })
  }

  /** Adds series without counts. */
  async function addSeriesTo(id: string, count: number) {
    await server.database.write(async ({ query }) => {
      const rows = sql`with recursive rows(i) as (select 1 union all select i + 1 from rows where i < ${sql.lit(count)})`
      await sql`${rows} insert into series (campaign, generation, name, attribution, number)
        select campaigns.number, 0, '["","x' || i || '"]', null, campaigns.number * 10000000 + 1000000 + i
        from rows cross join campaigns where campaigns.id = ${sql.lit(id)}`.execute(query)
    })
  }

  const variationsOf = (stats: CampaignStatsBody | undefined) =>
    (stats?.platforms['EMAIL']?.locales['de']?.variations ?? {}) as Record<string, VariationBody>

  it('contains every number of a campaign that has more series than one query reads', async () => {
    await makeCampaign('many', 4_000, ['sent', 'click', 'attempted'])
    const { status, body } = await fetchStats('many')
    expect(status).toBe(200)
    const variations = Object.entries(variationsOf(body.data['many']?.[0])).filter(([name]) => name.startsWith('v'))
    expect(variations).toHaveLength(4_000)
    const wrong = variations.filter(
      ([
        name,
        {
          performance_stats: { sent, click, attempted },
        },
      ]) => {
        return [sent, click, attempted].some((count) => `v${count}` !== name)
      },
    )
    expect(wrong).toEqual([])
  })

  /** Reads a campaign from a database that the test instruments. */
  async function readFrom(database: Database, id: string, question: RangeQuestion = QUESTION) {
    const sources = { database, responseCache: new ResponseCache(), responseMemory: new ResponseMemory() }
    const reader = new StatsReader(sources, server.workspace.id, question)
    const { data } = await reader.readPage({ campaign_ids: [id], offset: 0, limit: 1 })
    return variationsOf((JSON.parse(Buffer.concat([...(data[0]?.[1] ?? [])]).toString()) as [CampaignStatsBody])[0])
  }

  it('comes from one snapshot, even if numbers change between its pages', async () => {
    const number = await makeCampaign('moving', 4_000, ['sent', 'click'])
    // One more message is sent and clicked after each query. Sent messages and clicks are on pages that are far apart.
    const plugin: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        await server.database.write((store) => addCells(store, oneMore(number)))
        return result
      },
    }
    const { database } = server
    const moving = <Moving extends Store>(store: Moving) => ({ ...store, query: store.query.withPlugin(plugin) })
    const variations = await readFrom(
      { ...moving(database), readSnapshot: (read) => database.readSnapshot((store) => read(moving(store))) },
      'moving',
    )
    const { sent = 0, click } = variations['v999']?.performance_stats ?? {}
    expect(sent).toBeGreaterThan(999)
    expect(click).toBe(sent)
  })

  it('lets other work run between its pages', async () => {
    await makeCampaign('long', 4_000, ['sent', 'click'])
    const { database } = server
    let [turns, isReading] = [0, false]
    const takeTurns = () => {
      turns++
      if (isReading) setImmediate(takeTurns)
    }
    const watched: Database = {
      ...database,
      readSnapshot: (read) =>
        database.readSnapshot((store) => {
          isReading = true
          setImmediate(takeTurns)
          return read(store).finally(() => (isReading = false))
        }),
    }
    expect(Object.keys(await readFrom(watched, 'long')).length).toBeGreaterThan(4_000)
    // 8,000 series, 500 a page.
    expect(turns).toBeGreaterThanOrEqual(16)
  })

  /** Sends each of 100 variations on each of 31 days to users who last got it one day ago, two days ago and so on. */
  async function sendOften(id: string, gaps: number) {
    const number = await makeCampaign(id, 100, ['sent'])
    const [first, anything] = [number * 10_000_000, number * 10_000_000 + 9_000_000].map((value) => sql.lit(value))
    await server.database.write(async ({ query }) => {
      const days = sql`with recursive days(i) as (select 1 union all select i + 1 from days where i < 100),
        gaps(i) as (select 1 union all select i + 1 from gaps where i < ${sql.lit(gaps)})`
      await sql`insert into series (campaign, generation, name, attribution, number)
        values (${sql.lit(number)}, 0, '["","anything","","",""]', null, ${anything})`.execute(query)
      await sql`${days} insert into statistics (campaign, series, day, previous_day, users, occurrences)
        select ${sql.lit(number)}, ${anything}, ${sql.lit(DAY)} + i - 69, ${sql.lit(NO_DAY)}, 0, 1 from days`.execute(
        query,
      )
      await sql`${days} insert into statistics (campaign, series, day, previous_day, users, occurrences)
        select ${sql.lit(number)}, ${first} + series.i, ${sql.lit(DAY)} + days.i, ${sql.lit(DAY)} + days.i - gaps.i, 1, 1
        from days cross join gaps cross join days as series where days.i <= 31`.execute(query)
    })
  }

  it('is read in pages if its numbers are sums over very many days', async () => {
    await sendOften('irregular', 70)
    await sendOften('daily', 1)
    const { database } = server
    let queries = 0
    const counter: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        queries++
        return result
      },
    }
    const readSnapshot: Database['readSnapshot'] = (read) =>
      database.readSnapshot((store) => read({ ...store, query: store.query.withPlugin(counter) }))
    const month = { ...QUESTION, range: { firstDay: DAY + 1, lastDay: DAY + 31 } }
    const sentOf = async (id: string) => {
      const variations = await readFrom({ ...database, readSnapshot }, id, month)
      return Array.from({ length: 100 }, (_, index) => variations[`v${index + 1}`]?.performance_stats.sent)
    }
    expect(await sentOf('irregular')).toEqual(Array.from({ length: 100 }, () => 31 * 70))
    const pages = queries
    expect(pages).toBeGreaterThanOrEqual(3)
    expect(await sentOf('daily')).toEqual(Array.from({ length: 100 }, () => 31))
    // Read with a single query outside a snapshot.
    expect(queries).toBe(pages)
  })

  it('is refused if a campaign has more numbers than can be read', async () => {
    await makeCampaign('endless', 1, ['sent'])
    await addSeriesTo('endless', SERIES_PER_CAMPAIGN_MAX)
    const refused = await fetchStats('endless')
    expectRefusal(refused, 409, 'conflict')
    expect((refused.body as unknown as ErrorBody).error.message).toMatch(/^Campaign endless has more than 545,000 /)
  })

  it('is refused if it would exceed 72 MiB, with the advice to request fewer campaigns', async () => {
    await makeCampaign('half', HALF_AN_ANSWER, ['sent'], LONG_GOALS)
    await makeCampaign('other half', HALF_AN_ANSWER, ['sent'], LONG_GOALS)
    const refused = await fetchStats('half', 'other half')
    expectRefusal(refused, 409, 'conflict')
    expect((refused.body as unknown as ErrorBody).error.message).toBe(
      'The response would exceed 72 MiB. Request fewer campaigns (campaign_ids, limit) or fewer days.',
    )
    const { status, body } = await fetchStats('other half')
    const { conversion_goal_stats: goals } = variationsOf(body.data['other half']?.[0])['v2200'] as VariationBody
    expect([status, Object.keys(goals)]).toEqual([200, LONG_GOALS])
  })
})

/** One more message to one variation, sent and clicked. */
function oneMore(campaign: number): CellSum {
  const sum = new CellSum()
  const dimensions = { platform: 'EMAIL', locale: 'de', variation: 'v999' }
  for (const metric of ['sent', 'click']) {
    const series = seriesKey({ campaign, generation: NO_GENERATION, group: ANY_GROUP, metric, ...dimensions })
    sum.add(cellKey(series, DAY, NO_DAY), 0, 1)
  }
  return sum
}
