// Of a batch that is counted ahead, some users are counted where the batch is stored.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { Shares } from '../src/pipeline/ahead/ahead.ts'
import { countAhead, storeCounted } from '../src/pipeline/ahead/counted-batch.ts'
import { KnownFacts } from '../src/pipeline/ahead/known-facts.ts'
import { KnownUsers } from '../src/pipeline/ahead/known-users.ts'
import { applyBatch, readBatch } from '../src/pipeline/apply-batch.ts'
import { GoalBooks } from '../src/pipeline/contributions/goal-books.ts'
import { NeedsWriting } from '../src/pipeline/count-statistics.ts'
import { verifyStatistics } from '../src/pipeline/recounts/verify-statistics.ts'
import { NOW, openPipelineBench, type PipelineBench, type TestEntry } from './pipeline-bench.ts'
import { AUDIENCE, MESSAGE_EVENTS, reportOf, type ReportKind } from './report-calls.ts'

/** The same as `AUDIENCE`, on another day. */
const AUDIENCE_LATER: ReportKind = { ...AUDIENCE, item: { ...AUDIENCE.item, evaluated_at: '2026-05-03T08:00:00Z' } }
const CUSTOMERS = Array.from({ length: 10 }, (_, index) => `c${index}`)

let bench: PipelineBench
let campaign: number
beforeAll(async () => void (bench = await openPipelineBench('sqlite')))
afterAll(() => bench.close())
beforeEach(async () => {
  await bench.makeWorkspace()
  campaign = await bench.makeCampaign()
  await applyBatch(bench.database, await toBatch(reportAbout(AUDIENCE, CUSTOMERS)), [await bench.cursor()])
})

function reportAbout(report: ReportKind, customers: readonly string[]): TestEntry {
  const body = reportOf(report, ...customers.map((customer_id) => ({ customer_id })))
  return { kind: report.kind, body, context: { campaign } }
}

async function toBatch(entry: TestEntry, factsPerUserMax?: number) {
  await bench.append(entry)
  const options = { now: NOW, ...(factsPerUserMax !== undefined && { factsPerUserMax }) }
  return readBatch(bench.database, await bench.readNew(), options)
}

async function count(entry: TestEntry, factsPerUserMax?: number) {
  const batch = await toBatch(entry, factsPerUserMax)
  if (!(await new KnownUsers().find(bench.database, batch))) throw new Error('it cannot be counted ahead')
  const { batch: counted } = await countAhead(bench.database, batch, {
    knownFacts: new KnownFacts(),
    leftShare: 1 / 3,
    from: [await bench.cursor()],
  })
  return { counted, cellsAhead: counted.cells.size }
}

const verify = async () => verifyStatistics(bench.database, bench.workspaceId, () => {})

it('All users are counted, each once', async () => {
  const { counted, cellsAhead } = await count(reportAbout(MESSAGE_EVENTS, CUSTOMERS))
  expect(counted.left).toHaveLength(3)
  expect(cellsAhead).toBeGreaterThan(0)
  const stored = await bench.database.write((store) => storeCounted(store, counted, new GoalBooks()))
  expect(stored.facts).toBe(CUSTOMERS.length)
  expect(stored.read.map(({ customer }) => customer)).toEqual(counted.left.map(([customer]) => customer))
  expect(await verify()).toMatchObject({ differingCells: 0, facts: 2 * CUSTOMERS.length })
})

it('Facts that are known count once, and are looked up', async () => {
  const again = reportAbout(MESSAGE_EVENTS, CUSTOMERS)
  await bench.database.write(async (store) => storeCounted(store, (await count(again)).counted, new GoalBooks()))
  const { counted } = await count(again)
  expect(counted.newWeeks).toBeUndefined()
  // Of nobody whose facts are known it is told what was stored.
  expect(await bench.database.write((store) => storeCounted(store, counted, new GoalBooks()))).toEqual({
    facts: 0,
    read: [],
  })
  expect(await verify()).toMatchObject({ differingCells: 0, facts: 2 * CUSTOMERS.length })
})

it('Nothing of a batch is stored where one of these users has grown large', async () => {
  const [, , third = ''] = CUSTOMERS
  await applyBatch(bench.database, await toBatch(reportAbout(MESSAGE_EVENTS, [third])), [await bench.cursor()])
  const { counted } = await count(reportAbout(AUDIENCE_LATER, CUSTOMERS.slice(0, 3)), 1)
  expect(counted.left).toHaveLength(1)
  await expect(bench.database.write((store) => storeCounted(store, counted, new GoalBooks()))).rejects.toThrow(
    NeedsWriting,
  )
  expect(await verify()).toMatchObject({ differingCells: 0, facts: CUSTOMERS.length + 1 })
  await bench.follow()
  expect(await verify()).toMatchObject({ differingCells: 0, facts: CUSTOMERS.length + 4 })
})

it('More are left where counting takes longer than storing, and fewer where it does not', () => {
  const shares = new Shares()
  const { left } = shares
  shares.note(40, 20)
  expect(shares.left).toBeGreaterThan(left)
  shares.note(20, 40)
  shares.note(20, 40)
  expect(shares.left).toBeLessThan(left)
  for (let batch = 0; batch < 100; batch++) shares.note(20, 40)
  expect(shares.left).toBe(0)
  for (let batch = 0; batch < 100; batch++) shares.note(40, 20)
  expect(shares.left).toBe(3 / 4)
})
