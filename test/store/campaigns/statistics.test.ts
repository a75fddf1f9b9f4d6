// Checks the table of statistics on every store: it is the sum of the cells added to it, and counts over any range are exact.
import * as fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ANYTHING } from '../../../src/core/statistics/anything.ts'
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
  type Series,
} from '../../../src/core/statistics/cells.ts'
import { ALL } from '../../../src/core/statistics/grouping-sets.ts'
import {
  countSeries,
  pageSeriesCounts,
  seriesStarts,
  type SeriesStart,
} from '../../../src/store/statistics/series-counts.ts'
import { findCampaignRevisions } from '../../../src/store/statistics/statistics-revisions.ts'
import { addCells, removeGenerations, streamCells } from '../../../src/store/statistics/statistics.ts'
import type { Database } from '../../../src/store/store.ts'
import { until } from '../../support/server.ts'
import {
  describeEachStore,
  describeOnPostgres,
  makeStore,
  openTestDatabase,
  type TestLocation,
} from '../../support/stores.ts'

/** More than fit into one statement, one page, or one call that removes cells. */
const MANY = 12_000
const RUNS = 25
const GENERATION = 1

const sent: Omit<Series, 'campaign'> = {
  generation: NO_GENERATION,
  group: ANY_GROUP,
  metric: 'sent',
  platform: ALL,
  locale: ALL,
  variation: ALL,
}

/** How a cell differs from the first `sent` event of one user, on day 10. */
type CellFields = Partial<Cell>

function sumOf(campaign: number, cells: readonly CellFields[]): CellSum {
  const sum = new CellSum()
  for (const { day = 10, previousDay = NO_DAY, users = 1, occurrences = 1, ...series } of cells) {
    sum.add(cellKey(seriesKey({ campaign, ...sent, ...series }), day, previousDay), users, occurrences)
  }
  return sum
}

/** The cells of a sum in a fixed order. */
function listed(sum: CellSum) {
  return [...sum.entries()].toSorted(([left], [right]) => (left < right ? -1 : 1))
}

/** Conversions by a click, on one day. */
const ON_DAY_10 = { range: { firstDay: 10, lastDay: 10 }, attributionType: 'CLICK_THROUGH' } as const

describeEachStore('The table of statistics', (kind) => {
  let location: TestLocation
  let database: Database
  let lastCampaign = 0

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
  })
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  /** Tests share the table; each has campaigns of its own. */
  const newCampaign = () => ++lastCampaign

  const add = (sum: CellSum) => database.write((store) => addCells(store, sum))

  async function read(campaign: number): Promise<CellSum> {
    const sum = new CellSum()
    for await (const cells of streamCells(database, campaign)) {
      for (const { day, previousDay, users, occurrences, ...series } of cells) {
        sum.add(cellKey(seriesKey(series), day, previousDay), users, occurrences)
      }
    }
    return sum
  }

  async function countRows(campaign: number): Promise<number> {
    const rows = await database.query.selectFrom('statistics').selectAll().where('campaign', '=', campaign).execute()
    return rows.length
  }

  async function count(campaign: number, firstDay: number, lastDay: number, generation = GENERATION) {
    const campaigns = [{ number: campaign, generation }]
    const question = { range: { firstDay, lastDay }, attributionType: 'CLICK_THROUGH' } as const
    const { counts, rest } = await pageSeriesCounts(database, seriesStarts(campaigns), question, 1_000)
    expect(rest).toEqual([])
    return counts.filter(({ metric }) => metric !== ANYTHING)
  }

  describe('addCells', () => {
    it('stores the cells of a sum', async () => {
      const campaign = newCampaign()
      const sum = sumOf(campaign, [
        {},
        { previousDay: 3, users: 7, occurrences: 9 },
        { day: 11, previousDay: 10 },
        { group: 'target', metric: AUDIENCE, platform: 'IOS', locale: 'de', variation: 'A' },
        { generation: 2, group: 'target', metric: metMetric('Purchase') },
      ])
      await add(sum)
      expect(listed(await read(campaign))).toEqual(listed(sum))
    })

    it('produces the same table for any order and division of the additions', async () => {
      const cell = fc.record({
        metric: fc.constantFrom('sent', 'click'),
        locale: fc.constantFrom(ALL, 'en'),
        day: fc.integer({ min: 1, max: 3 }),
        previousDay: fc.constantFrom(NO_DAY, 0),
        users: fc.integer({ min: -2, max: 2 }),
        occurrences: fc.integer({ min: -2, max: 2 }),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(cell, { maxLength: 6 }), { maxLength: 5 }), async (parts) => {
          const campaign = newCampaign()
          for (const part of parts) await add(sumOf(campaign, part))
          expect(listed(await read(campaign))).toEqual(listed(sumOf(campaign, parts.flat())))
        }),
        { numRuns: RUNS },
      )
    })

    it('adds cells of one sum with the same key together', async () => {
      const campaign = newCampaign()
      await add(sumOf(campaign, [{}, { users: 2, occurrences: 5 }, {}]))
      expect(listed(await read(campaign))).toEqual(listed(sumOf(campaign, [{ users: 4, occurrences: 7 }])))
    })

    it('raises the revision of each campaign that it changes, and of no other', async () => {
      const [first, second, third] = [++lastCampaign, ++lastCampaign, ++lastCampaign]
      await database.write((store) => addCells(store, sumOf(first, [{}])))
      const before = await findCampaignRevisions(database, [first, second, third])
      expect([...before.keys()]).toEqual([first])
      await database.write(async (store) => {
        await addCells(store, sumOf(second, [{}, { day: 11 }]))
        await addCells(store, sumOf(first, [{ users: -1, occurrences: -1 }]))
      })
      const after = await findCampaignRevisions(database, [first, second, third])
      expect(after.get(first)).toBeGreaterThan(before.get(first) as number)
      expect([after.has(second), after.has(third)]).toEqual([true, false])
    })

    it('never assigns a revision twice, even if the transaction that raised it is rolled back', async () => {
      const campaign = newCampaign()
      await database.write((store) => addCells(store, sumOf(campaign, [{}])))
      const given = new Set<number | undefined>()
      for (let failover = 0; failover < 3; failover++) {
        const losing = database.write(async (store) => {
          await addCells(store, sumOf(campaign, [{ users: failover + 1 }]))
          given.add((await findCampaignRevisions(store, [campaign])).get(campaign))
          throw new Error('lost')
        })
        await expect(losing).rejects.toThrow('lost')
      }
      expect(given.size).toBe(3)
    })

    it('raises no revision in a transaction that fails', async () => {
      const campaign = ++lastCampaign
      const failing = database.write(async (store) => {
        await addCells(store, sumOf(campaign, [{}]))
        throw new Error('in the middle')
      })
      await expect(failing).rejects.toThrow('in the middle')
      expect(await findCampaignRevisions(database, [campaign])).toEqual(new Map())
    })

    it('deletes rows whose counts become 0', async () => {
      const campaign = newCampaign()
      const first = sumOf(campaign, [{}, { day: 11 }])
      const both = sumOf(campaign, [{}, { day: 11 }, { day: 12 }])
      await add(both)
      const away = new CellSum()
      away.addAll(first, -1)
      await add(away)
      expect(listed(await read(campaign))).toEqual(listed(sumOf(campaign, [{ day: 12 }])))
      await add(sumOf(campaign, [{ day: 12, users: -1, occurrences: -1 }]))
      expect(await countRows(campaign)).toBe(0)
    })

    it('keeps a row that still has users or occurrences', async () => {
      const campaign = newCampaign()
      await add(sumOf(campaign, [{}, { day: 11 }]))
      await add(
        sumOf(campaign, [
          { users: -1, occurrences: 0 },
          { day: 11, users: 0, occurrences: -1 },
        ]),
      )
      const left = sumOf(campaign, [{ users: 0 }, { day: 11, occurrences: 0 }])
      expect(listed(await read(campaign))).toEqual(listed(left))
    })

    it('adds more cells than fit into one statement or one page', async () => {
      const campaign = newCampaign()
      const cells = Array.from({ length: MANY }, (_, index) => ({ locale: `l${index % 70}`, day: index }))
      const sum = sumOf(campaign, cells)
      await add(sum)
      expect(listed(await read(campaign))).toEqual(listed(sum))
      const away = new CellSum()
      away.addAll(sum, -1)
      await add(away)
      expect(await countRows(campaign)).toBe(0)
    })

    it('accepts an empty sum', async () => {
      await expect(add(new CellSum())).resolves.toBeUndefined()
    })

    it('adds the cells of concurrent transactions, and each series once', async () => {
      const campaign = newCampaign()
      const cells = Array.from({ length: 50 }, (_, index) => ({ locale: `l${index}`, day: index % 7 }))
      const writers = Array.from({ length: 8 }, (_, index) => index)
      await Promise.all(writers.map((index) => add(sumOf(campaign, index % 2 === 0 ? cells : cells.toReversed()))))
      const all = cells.map((cell) => ({ ...cell, users: writers.length, occurrences: writers.length }))
      expect(listed(await read(campaign))).toEqual(listed(sumOf(campaign, all)))
    })
  })

  describe('pageSeriesCounts', () => {
    /** One user is active on days 10, 12 and 20, two users on day 12 only, and one user on days 5 and 12. */
    const days: CellFields[] = [
      { day: 10, occurrences: 3 },
      { day: 12, previousDay: 10, occurrences: 4 },
      { day: 20, previousDay: 12 },
      { day: 12, users: 2, occurrences: 2 },
      { day: 5 },
      { day: 12, previousDay: 5, occurrences: 10 },
    ]
    const ranges: [first: number, last: number, occurrences: number, users: number][] = [
      [5, 20, 21, 4],
      [0, 100, 21, 4],
      [6, 20, 20, 4],
      [10, 12, 19, 4],
      [10, 10, 3, 1],
      [11, 12, 16, 4],
      [12, 12, 16, 4],
      [13, 20, 1, 1],
      [20, 20, 1, 1],
      [5, 5, 1, 1],
      [5, 11, 4, 2],
    ]
    it.each(ranges)(
      'counts from day %i to day %i: %i occurrences, %i users',
      async (first, last, occurrences, users) => {
        const campaign = newCampaign()
        await add(sumOf(campaign, days))
        expect(await count(campaign, first, last)).toEqual([{ campaign, ...sent, occurrences, users }])
      },
    )

    it.each([
      [0, 4],
      [6, 9],
      [13, 19],
      [21, 100],
    ])('omits series without a cell from day %i to day %i', async (first, last) => {
      const campaign = newCampaign()
      await add(sumOf(campaign, days))
      expect(await count(campaign, first, last)).toEqual([])
    })

    it('counts each series separately', async () => {
      const campaign = newCampaign()
      const all: Partial<Series>[] = [
        { metric: 'sent' },
        { metric: 'click' },
        { group: 'target' },
        { group: 'campaign_control' },
        { platform: 'IOS' },
        { locale: 'IOS' },
        { variation: 'IOS' },
      ]
      await add(sumOf(campaign, all))
      const series = all.map((one) => ({ campaign, ...sent, ...one, occurrences: 1, users: 1 }))
      const counts = await count(campaign, 10, 10)
      expect(counts).toHaveLength(series.length)
      expect(counts).toEqual(expect.arrayContaining(series))
    })

    it('counts the given generation of goals, and metrics that do not depend on goals', async () => {
      const campaign = newCampaign()
      const of = (generation: number) => ({ generation, metric: metMetric('g') })
      await add(sumOf(campaign, [{}, of(1), of(2), of(3)]))
      const counts = await count(campaign, 10, 10, 2)
      expect(new Set(counts.map(({ generation }) => generation))).toEqual(new Set([NO_GENERATION, 2]))
    })

    it('returns only conversions by the attribution type, but shows where others exist', async () => {
      const campaign = newCampaign()
      const asked = { generation: GENERATION, metric: convertedMetric('CLICK_THROUGH', 'g') }
      const other = { generation: GENERATION, metric: convertedMetric('VIEW_THROUGH', 'g'), locale: 'de' }
      await add(sumOf(campaign, [asked, other]))
      const starts = seriesStarts([{ number: campaign, generation: GENERATION }])
      const { counts } = await pageSeriesCounts(database, starts, ON_DAY_10, 1_000)
      const found = counts.map(({ metric, locale, occurrences }) => `${metric} ${locale} ${occurrences}`)
      expect(found.toSorted()).toEqual([`${ANYTHING}  1`, `${ANYTHING} de 1`, `${asked.metric}  1`].toSorted())
    })

    const names = ['', '"', '\\', '","', ']', '😀', '\u2028', "'", '%_', 'a\nb', '\u0001', 'Ä', ' ']
    it.each(names)('returns the text %j unchanged', async (name) => {
      const campaign = newCampaign()
      const metric = metMetric(name)
      await add(sumOf(campaign, [{ metric }]))
      expect((await count(campaign, 10, 10)).map((counted) => counted.metric)).toEqual([metric])
      expect([...(await read(campaign)).entries()].map(([key]) => key.split('\0')[3])).toEqual([metric])
    })

    it('returns nothing of other campaigns, and nothing without campaigns', async () => {
      const [campaign, other] = [newCampaign(), newCampaign()]
      await add(sumOf(other, [{}]))
      expect(await count(campaign, 10, 10)).toEqual([])
      expect(await pageSeriesCounts(database, [], ON_DAY_10, 1_000)).toEqual({ counts: [], rest: [] })
    })

    it('continues after each page, even if none of its series has a cell in the range', async () => {
      const campaign = newCampaign()
      const of = (metric: string, day: number, generation: number) => ({ metric, day, generation })
      const given = [of('b', 11, 0), of('c', 10, 0), of('d', 10, 0), of('f', 10, 1), of('g', 11, 1), of('h', 10, 1)]
      await add(sumOf(campaign, [...given, of('i', 10, 2)]))
      const starts = seriesStarts([{ number: campaign, generation: GENERATION }])
      for (const max of [1, 2, 3, 4, 5]) {
        const found: string[] = []
        for (let rest: readonly SeriesStart[] = starts; rest.length > 0;) {
          const page = await pageSeriesCounts(database, rest, ON_DAY_10, max)
          found.push(...page.counts.map(({ metric, generation }) => `${metric}${generation}`))
          rest = page.rest
        }
        expect(found.filter((name) => !name.startsWith(ANYTHING)).toSorted()).toEqual(['c0', 'd0', 'f1', 'h1'])
      }
    })

    it('countSeries counts the series to read, up to a limit', async () => {
      const campaign = newCampaign()
      const other = { generation: GENERATION, metric: convertedMetric('VIEW_THROUGH', 'g') }
      await add(sumOf(campaign, [{}, { metric: 'click' }, { generation: GENERATION, metric: metMetric('g') }, other]))
      const starts = seriesStarts([{ number: campaign, generation: GENERATION }])
      const counted = (max: number) => countSeries(database, starts, 'CLICK_THROUGH', max)
      // One series per generation shows that there is anything at all.
      expect([await counted(100), await counted(5), await counted(4), await counted(1)]).toEqual([5, 5, 5, 2])
    })
  })

  describe('removeGenerations', () => {
    const met = (generation: number, day = 10): CellFields => ({ generation, metric: metMetric('g'), day })
    const remove = (number: number, ...generations: number[]) =>
      database.write((store) =>
        removeGenerations(
          store,
          generations.map((generation) => ({ number, generation })),
        ),
      )

    const removals: [kept: number[], left: number[]][] = [
      [[3], [0, 3]],
      [
        [1, 3],
        [0, 1, 3],
      ],
      [
        [3, 1],
        [0, 1, 3],
      ],
      [[4], [0, 4]],
      [[9], [0]],
      [[], [0, 1, 2, 3, 4]],
    ]
    it.each(removals)('with the generations %j to keep, leaves %j of 0 to 4', async (kept, left) => {
      const [campaign, other] = [newCampaign(), newCampaign()]
      const cells = [{}, met(1), met(2), met(3), met(4)]
      await add(sumOf(campaign, cells))
      await add(sumOf(other, cells))
      expect(await remove(campaign, ...kept)).toBe(false)
      expect(listed(await read(campaign))).toEqual(
        listed(
          sumOf(
            campaign,
            left.map((index) => cells[index] as CellFields),
          ),
        ),
      )
      expect(listed(await read(other))).toEqual(listed(sumOf(other, cells)))
    })

    it('removes the series too', async () => {
      const campaign = newCampaign()
      await add(sumOf(campaign, [met(1), met(2)]))
      await remove(campaign, 2)
      const series = database.query.selectFrom('series').select('generation').where('campaign', '=', campaign)
      expect(new Set((await series.execute()).map(({ generation }) => generation))).toEqual(new Set([2]))
    })

    it('removes a bounded number of cells per call, and returns whether there may be more', async () => {
      const campaign = newCampaign()
      const days = Array.from({ length: MANY }, (_, day) => day)
      await add(sumOf(campaign, [met(2), ...days.map((day) => met(1, day))]))
      const [before, calls] = [await countRows(campaign), [] as number[]]
      while (await remove(campaign, 2)) calls.push(before - (await countRows(campaign)))
      expect(calls.length).toBeGreaterThan(1)
      expect(calls[0]).toBeLessThan(MANY)
      expect(listed(await read(campaign))).toEqual(listed(sumOf(campaign, [met(2)])))
    })

    it('removes the series of deleted cells before it continues with others', async () => {
      const campaign = newCampaign()
      const names = Array.from({ length: MANY / 10 }, (_, index) => metMetric(`g${index}`))
      await add(sumOf(campaign, [met(2), ...names.map((metric) => ({ generation: 1, metric }))]))
      const series = database.query.selectFrom('series').select('name').where('campaign', '=', campaign)
      const before = (await series.execute()).length
      expect(await remove(campaign, 2)).toBe(true)
      const [cellsLeft, seriesLeft] = [await countRows(campaign), (await series.execute()).length]
      expect(seriesLeft).toBeLessThan(before)
      // Each of these series has one cell.
      expect(seriesLeft).toBe(cellsLeft)
      expect(await remove(campaign, 2)).toBe(false)
      expect(listed(await read(campaign))).toEqual(listed(sumOf(campaign, [met(2)])))
    })
  })

  describe('streamCells', () => {
    it('returns the excess of a corrupted row, which addCells can subtract', async () => {
      const campaign = newCampaign()
      const sum = sumOf(campaign, [{}, { locale: 'de' }])
      await add(sum)
      const broken = [...(await seriesNumbers(campaign))].find(
        ([name]) => name.includes(ANYTHING) && name.includes('de'),
      )
      await database.write(async ({ query }) => {
        const row = query.updateTable('statistics').set({ occurrences: 3 }).where('campaign', '=', campaign)
        await row.where('series', '=', broken?.[1] as number).execute()
      })
      const excess = { group: ANY_GROUP, metric: ANYTHING, locale: 'de', users: 0, occurrences: 2 } as const
      const expected = sumOf(campaign, [{}, { locale: 'de' }, excess])
      expect(listed(await read(campaign))).toEqual(listed(expected))
      await add(sumOf(campaign, [{ ...excess, occurrences: -2 }]))
      expect(listed(await read(campaign))).toEqual(listed(sum))
    })

    async function seriesNumbers(campaign: number): Promise<Map<string, number>> {
      const rows = await database.query.selectFrom('series').selectAll().where('campaign', '=', campaign).execute()
      return new Map(rows.map(({ name, number }) => [name, number]))
    }
  })
})

describeOnPostgres('Transactions that add to the same cells at the same time', () => {
  it('do not deadlock, in any order of cells', async () => {
    const location = await makeStore('postgres')
    const database = await openTestDatabase(location)
    const cells = [10, 11, 12].map((day) => ({ day }))
    let tries = 0
    const add = (given: readonly CellFields[]) => {
      return database.write(async (store) => {
        tries++
        await addCells(store, sumOf(1, given))
      })
    }
    await add(cells)
    let adding: Promise<void>[] = []
    await database.write(async (store) => {
      await addCells(store, sumOf(1, [{ day: 11 }]))
      adding = [cells, cells.toReversed()].map(add)
      const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      await until('both wait', async () => {
        await sql`select pg_stat_clear_snapshot()`.execute(store.query)
        return (await waiting.execute(store.query)).rows.length === 2
      })
    })
    await Promise.all(adding)
    expect(tries).toBe(3)
    await database.close()
    await location.remove()
  })
})
