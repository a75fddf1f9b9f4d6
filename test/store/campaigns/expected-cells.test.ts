// Checks recounted cells: each campaign gets back exactly the cells that were counted, however often memory was flushed.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cellKey, CellSum, NO_DAY, seriesKey, type Cell } from '../../../src/core/statistics/cells.ts'
import { ALL_GROUPING_SETS } from '../../../src/core/statistics/grouping-sets.ts'
import { ExpectedCells } from '../../../src/store/statistics/expected-cells.ts'

const CAMPAIGNS = [1, 2, 12, 123]
const CELLS_PER_PART = 5_000

const cell = (over: Partial<Cell> = {}): Cell => ({
  campaign: 1,
  generation: 0,
  group: '',
  metric: 'sent',
  platform: 'Web',
  locale: '',
  variation: '',
  day: 20_000,
  previousDay: NO_DAY,
  users: 1,
  occurrences: 2,
  ...over,
})

/** Adds a cell to a sum; with `isSpread` at all grouping sets. */
function addTo(sum: CellSum, { users, occurrences, ...one }: Cell, isSpread = false): void {
  const key = cellKey(seriesKey(one), one.day, one.previousDay)
  if (isSpread) sum.addAtGroupingSets(key, ALL_GROUPING_SETS, users, occurrences)
  else sum.add(key, users, occurrences)
}

const inOrder = (sum: CellSum) =>
  sum
    .toCells()
    .map((one) => JSON.stringify(one))
    .toSorted()

function use(cellsInMemoryMax: number | undefined, run: (recounted: ExpectedCells) => void): void {
  const recounted = new ExpectedCells(cellsInMemoryMax)
  try {
    run(recounted)
  } finally {
    recounted.close()
  }
}

describe('Recounted cells', () => {
  it('are returned for each campaign, however often memory is flushed', () => {
    const someCell = fc.record({
      campaign: fc.constantFrom(...CAMPAIGNS),
      metric: fc.constantFrom('sent', 'unit.failed:"\n'),
      platform: fc.constantFrom('', 'Web', 'ΩTV'),
      variation: fc.constantFrom('', 'A'),
      day: fc.integer({ min: 20_000, max: 20_002 }),
      users: fc.integer({ min: -1, max: 1 }),
      occurrences: fc.integer({ min: -1, max: 2 }),
    })
    const counts = fc.array(fc.array(fc.tuple(someCell.map(cell), fc.boolean())))
    fc.assert(
      fc.property(counts, fc.integer({ min: 1, max: 30 }), (steps, cellsInMemoryMax) => {
        use(cellsInMemoryMax, (recounted) => {
          for (const step of steps) {
            recounted.add((sum) => step.forEach(([one, isSpread]) => addTo(sum, one, isSpread)))
          }
          for (const campaign of CAMPAIGNS) {
            const expected = new CellSum()
            for (const [one, isSpread] of steps.flat()) if (one.campaign === campaign) addTo(expected, one, isSpread)
            expect(inOrder(recounted.of(campaign))).toEqual(inOrder(expected))
          }
        })
      }),
    )
  })

  it('leave memory when there are too many', () => {
    use(3, (recounted) => {
      const held: number[] = []
      for (let day = 0; day < 7; day++) {
        recounted.add((sum) => {
          held.push(sum.held)
          addTo(sum, cell({ day }), day % 2 === 0)
        })
      }
      expect(held).toEqual([0, 1, 2, 0, 1, 2, 0])
    })
  })

  it('return all missing cells in parts, as often as requested', () => {
    use(undefined, (recounted) => {
      expect([...recounted.missing()]).toEqual([])
      const expected = new CellSum()
      for (const [campaign, cells] of [CELLS_PER_PART + 1, 1, CELLS_PER_PART].entries()) {
        const sum = new CellSum()
        for (let day = 0; day < cells; day++) addTo(sum, cell({ campaign, day, users: -day }))
        expected.addAll(sum)
        recounted.addMissing(sum)
      }
      for (const _ of [1, 2]) {
        const parts = [...recounted.missing()]
        const found = new CellSum()
        for (const part of parts) found.addAll(part)
        expect(parts.map(({ size }) => size)).toEqual([CELLS_PER_PART, 1, 1, CELLS_PER_PART])
        expect(inOrder(found)).toEqual(inOrder(expected))
      }
    })
  })
})
