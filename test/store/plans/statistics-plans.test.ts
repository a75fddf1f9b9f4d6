// Checks that the table of statistics is read and changed by key on every store, with a thousand cells or a hundred million.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { CampaignNames } from '../../../src/core/campaigns/campaign-names.ts'
import { ANY_GROUP, cellKey, CellSum, NO_DAY, seriesKey } from '../../../src/core/statistics/cells.ts'
import { ALL } from '../../../src/core/statistics/grouping-sets.ts'
import { seriesOfDays } from '../../../src/core/statistics/series/day-counts.ts'
import { addCampaignNames, listCampaignNames } from '../../../src/store/campaigns/campaign-names.ts'
import { addCampaign } from '../../../src/store/campaigns/campaigns.ts'
import { addKeptCells } from '../../../src/store/statistics/kept-cells.ts'
import {
  boundCells,
  countCampaignsWithCounts,
  sumCells,
  countSeries,
  hasStatistics,
  listCampaignsWithCounts,
  listDayCounts,
  pageSeriesCounts,
  seriesStarts,
} from '../../../src/store/statistics/series-counts.ts'
import { findCampaignRevisions } from '../../../src/store/statistics/statistics-revisions.ts'
import { addCells, removeGenerations, streamCells } from '../../../src/store/statistics/statistics.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import { explain, expectIndexed } from '../../support/query-plan.ts'
import { recordQueries } from '../../support/record-queries.ts'
import {
  describeEachStore,
  describeOnPostgres,
  makeStore,
  openTestDatabase,
  type TestLocation,
} from '../../support/stores.ts'

/** Enough that PostgreSQL has reason to prefer an index. */
const CAMPAIGNS = 500
const DAYS = 40
const WORKSPACES = 20

const RANGE = { firstDay: 5, lastDay: 35 }
const EVERYWHERE = { platform: ALL, locale: ALL, variation: ALL }
const QUESTION = { range: RANGE, attributionType: 'IN_SESSION' } as const

describeEachStore('Statistics', (kind) => {
  let location: TestLocation
  let database: Database

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    await database.write(async (store) => {
      for (let number = 1; number <= CAMPAIGNS; number++) await add(store, number)
      await addCells(store, manyCells())
      await addKeptCells(store, manyCells())
      for (let number = 1; number <= CAMPAIGNS; number++)
        await addCampaignNames(store, new Map([[number, namesOf(number)]]))
      await sql`analyze`.execute(store.query)
    })
  }, 120_000)
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  const one = { number: 7, generation: 1 }
  const fewer = (sum: CellSum) => {
    const away = new CellSum()
    away.addAll(sum, -1)
    return away
  }
  const page = { offset: 0, limit: 10 }
  // SQLite also calls the number of any row `id`.
  const lookups: [what: string, narrowedBy: string[], work: (store: Store) => Promise<unknown>][] = [
    [
      'the counts of campaigns',
      ['campaign'],
      (store) => pageSeriesCounts(store, seriesStarts([one, { number: 9, generation: 1 }]), QUESTION, 5_000),
    ],
    [
      'the counts of a campaign after a page',
      ['campaign'],
      (store) => pageSeriesCounts(store, [{ ...one, after: '["","sent"' }], QUESTION, 1_000),
    ],
    [
      'how many series a campaign has',
      ['campaign'],
      (store) => countSeries(store, seriesStarts([one]), 'IN_SESSION', 100),
    ],
    [
      'how many cells a count can be the sum of',
      ['campaign'],
      (store) => boundCells(store, seriesStarts([one]), RANGE),
    ],
    [
      'how many cells a campaign has in a range',
      ['campaign', 'series'],
      (store) => sumCells(store, seriesStarts([one]), QUESTION, 100_000),
    ],
    [
      'how many campaigns have counts',
      ['workspace_id', 'campaign'],
      (store) => countCampaignsWithCounts(store, 'w1', RANGE),
    ],
    [
      'the campaigns that have counts',
      ['workspace_id', 'campaign'],
      (store) => listCampaignsWithCounts(store, 'w1', RANGE, page),
    ],
    [
      'the counts of each day',
      ['campaign', 'series'],
      (store) =>
        listDayCounts(
          store,
          one,
          seriesOfDays({ ...QUESTION, metricType: 'TOTAL', level: EVERYWHERE, goalNames: ['g'] }),
          RANGE,
        ),
    ],
    ['whether there are statistics', ['workspace_id', 'campaign'], (store) => hasStatistics(store, 'w1')],
    ['cells to add to in existing series', ['campaign'], (store) => addCells(store, cellsOf(7))],
    ['cells to add in new series', ['campaign', '"only"', 'id'], (store) => addCells(store, cellsOf(CAMPAIGNS + 1))],
    ['cells to subtract', ['campaign'], (store) => addCells(store, fewer(cellsOf(7)))],
    ['the revisions of campaigns', ['campaign', 'id'], (store) => findCampaignRevisions(store, [7, 8])],
    ['the names of a campaign', ['campaign'], (store) => listCampaignNames(store, 7)],
    ['names to add', ['campaign'], (store) => addCampaignNames(store, new Map([[7, namesOf(7)]]))],
    ['cells of earlier goals', ['campaign'], (store) => removeGenerations(store, [one])],
    ['all cells of a campaign', ['campaign'], (store) => readAll(store, [7, 8])],
  ]
  it.each(lookups)('finds %s by key', async (_what, narrowedBy, work) => {
    const queries = await recordQueries(database, work)
    expect(queries.length).toBeGreaterThan(0)
    for (const query of queries) {
      const plan = await explain(database, query)
      // A statement that only adds rows looks nothing up.
      if (plan.accesses.length > 0) expectIndexed(plan, ...narrowedBy)
      expect(plan.sorts).toBe(false)
    }
  })
})

describeOnPostgres('Statistics in tables that were never analyzed', () => {
  it('are read only for the campaigns of the workspace', async () => {
    const location = await makeStore('postgres')
    const database = await openTestDatabase(location)
    await database.write(async (store) => {
      for (const table of ['campaigns', 'series', 'statistics']) {
        await sql`alter table ${sql.table(table)} set (autovacuum_enabled = off)`.execute(store.query)
      }
      // The more campaigns a workspace has, the more PostgreSQL tends to read the series of all workspaces at once.
      for (let number = 1; number <= CAMPAIGNS; number++) await add(store, number, 'w1')
      await addCells(store, manyCells())
      await sql`analyze campaigns`.execute(store.query)
    })
    const [query] = await recordQueries(database, (store) => countCampaignsWithCounts(store, 'w1', RANGE))
    if (!query) throw new Error('no query was recorded')
    expectIndexed(await explain(database, query), 'workspace_id', 'campaign')
    await database.close()
    await location.remove()
  }, 120_000)
})

function add(store: Store, number: number, workspaceId = `w${number % WORKSPACES}`) {
  const details = { name: 'c', platforms: ['EMAIL'], goals: [], createdBy: 'anna', createdAt: number }
  return addCampaign(store, { ...details, id: `campaign-${number}`, workspaceId })
}

function manyCells(): CellSum {
  const all = new CellSum()
  for (let campaign = 1; campaign <= CAMPAIGNS; campaign++) all.addAll(cellsOf(campaign))
  return all
}

function namesOf(campaign: number): CampaignNames {
  return { dimensions: new Set([`["EMAIL",null,"${campaign}"]`]), reason: new Set([`reason_${campaign}`]) }
}

function cellsOf(campaign: number): CellSum {
  const sum = new CellSum()
  const aggregate = { group: ANY_GROUP, platform: ALL, locale: ALL, variation: ALL } as const
  for (const generation of [0, 1, 2]) {
    const series = seriesKey({ campaign, generation, metric: 'sent', ...aggregate })
    for (let day = 1; day <= DAYS; day++) sum.add(cellKey(series, day, day % 2 === 0 ? day - 1 : NO_DAY), 1, 1)
  }
  return sum
}

async function readAll(store: Store, campaigns: number[]): Promise<void> {
  for (const campaign of campaigns) {
    for await (const cells of streamCells(store, campaign)) expect(cells.length).toBeGreaterThan(0)
  }
}
