// Checks campaign statistics through the log and the tables on every store ("One pure function, and sums"): in any order
// of arrival and any batches, every answer equals that of a naive model, and verification finds no difference.
// STATISTICS_SEED repeats a run.
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { applyBatch, CursorMoved } from '../../src/pipeline/apply-batch.ts'
import { moveStagedMessageEvents } from '../../src/store/campaigns/message-events.ts'
import type { Database } from '../../src/store/store.ts'
import type { Tables } from '../../src/store/tables.ts'
import { entriesOf, type HistoryEntry } from '../support/statistics/history-entries.ts'
import { propertyRuns } from '../support/random/property-runs.ts'
import { event, goal, HOUR, message, NOON, workspace } from '../support/statistics/statistics-examples.ts'
import { TIMEZONES, workspaces } from '../support/statistics/statistics-histories.ts'
import {
  cut,
  expectAnswers,
  expectVerified,
  openStatisticsStore,
  rangeChoices,
  StatisticsRun,
  type StatisticsStore,
} from '../support/statistics/statistics-run.ts'
import { describeEachStore, type StoreKind } from '../support/stores.ts'

const SEED = Number(process.env['STATISTICS_SEED'] ?? Date.now() % 2 ** 31)
const HISTORIES: Readonly<Record<StoreKind, number>> = { sqlite: 50, postgres: 12 }
const PAIRS: Readonly<Record<StoreKind, number>> = { sqlite: 12, postgres: 4 }
const FAILURES: Readonly<Record<StoreKind, number>> = { sqlite: 10, postgres: 4 }
const TIMEOUT_MS = 120_000
/** Fewer histories on a slow machine. */
const LONGEST_MS = 100_000

/** The tables that a batch changes. */
const TABLES = [
  'statistics',
  'series',
  'memberships',
  'message_events',
  'message_events_staging',
  'staging_tables',
  'events',
  'users',
  'user_identities',
  'uncounted_events',
  'request_receipts',
  'cursors',
] as const satisfies readonly (keyof Tables)[]

describeEachStore('Campaign statistics', (kind) => {
  let opened: StatisticsStore

  beforeAll(async () => {
    process.stderr.write(`campaign statistics on ${kind}: STATISTICS_SEED=${SEED}\n`)
    opened = await openStatisticsStore(kind)
  })
  afterAll(() => opened.close())

  it(
    'equal a count of all facts, in any order of arrival, with any repetition, in batches of any size',
    async () => {
      await expectAlways(someHistory, HISTORIES[kind], async ({ history, entries, sizes, choices }) => {
        const run = await StatisticsRun.make(opened, history)
        const batches = cut(entries, sizes)
        for (const [index, batch] of batches.entries()) {
          await run.apply(batch)
          await opened.database.write((store) => moveStagedMessageEvents(store, index % 3 === 2 ? 1 : 1_000))
          await expectVerified(run)
          if (index === batches.length >> 1) await expectAnswers(run, run.ranges(choices.slice(0, 1)))
        }
        await expectAnswers(run, run.ranges(choices))
      })
    },
    TIMEOUT_MS,
  )

  it('count a new goal event by all earlier facts, however old, and by the campaigns that get the credit', async () => {
    const campaigns = ['c1', 'c2'].map((id) => ({ id, goals: [goal({})] }))
    const run = await StatisticsRun.make(opened, workspace({ campaigns }))
    const later = NOON + 15 * 24 * HOUR
    await run.apply([clickOf('c1', NOON), clickOf('c2', NOON + 1), orderAt(NOON + 2), clickOf('c1', later)])
    await run.apply([orderAt(later + 1)])
    await expectVerified(run)
    await expectAnswers(run, [{ startDate: '2026-03-10', endDate: '2026-03-25' }])
  })

  it(
    'stay separate for two workspaces whose entries share a batch',
    async () => {
      await expectAlways(fc.tuple(someHistory, someHistory), PAIRS[kind], async (pair) => {
        const runs = [
          await StatisticsRun.make(opened, pair[0].history),
          await StatisticsRun.make(opened, pair[1].history),
        ]
        const parts = pair.map(({ entries, sizes }) => cut(entries, sizes))
        for (let step = 0; parts.some(({ length }) => step < length); step++) {
          await applyTogether(
            runs,
            parts.map((batches) => batches[step] ?? []),
          )
        }
        for (const [index, run] of runs.entries()) {
          await expectVerified(run)
          await expectAnswers(run, run.ranges(pair[index]?.choices ?? []))
        }
      })
    },
    TIMEOUT_MS,
  )

  it(
    'are the same when two processes apply one partition of the log each',
    async () => {
      const withPartitions = fc.tuple(someHistory, fc.array(fc.nat(1), { minLength: 1 }))
      await expectAlways(withPartitions, PAIRS[kind], async ([{ history, entries, sizes, choices }, partitions]) => {
        const run = await StatisticsRun.make(opened, history)
        const partitionOf = (index: number) => partitions[index % partitions.length] ?? 0
        const parts = [0, 1].map((partition) => entries.filter((_, index) => partitionOf(index) === partition))
        await Promise.all(parts.map((part, partition) => run.follow(partition, cut(part, sizes))))
        await expectVerified(run)
        await expectAnswers(run, run.ranges(choices))
      })
    },
    TIMEOUT_MS,
  )

  it(
    'keep nothing of a batch that fails, and count it once when it is applied again',
    async () => {
      const own = await openStatisticsStore(kind)
      await expectAlways(someHistory, FAILURES[kind], async ({ history, entries, sizes, choices }) => {
        const run = await StatisticsRun.make(own, history)
        for (const part of cut(entries, sizes)) {
          const batch = await run.read(run.toLog(part))
          const options = await run.applyOptions()
          const before = await contents(own.database)
          await expect(applyBatch(breaking(own.database), batch, options)).rejects.toThrow('the power is cut')
          expect(await contents(own.database)).toEqual(before)
          await applyBatch(own.database, batch, options)
          const after = await contents(own.database)
          await expect(applyBatch(own.database, batch, options)).rejects.toThrow(CursorMoved)
          expect(await contents(own.database)).toEqual(after)
          run.applied.push(...part)
        }
        await expectVerified(run)
        await expectAnswers(run, run.ranges(choices))
      })
      await own.close()
    },
    TIMEOUT_MS,
  )
})

function clickOf(campaignId: string, time: number): HistoryEntry {
  const messages = [message({ campaignId, kind: 'click', time })]
  return { kind: 'svc_message_events', audiences: [], messages, events: [] }
}

function orderAt(time: number): HistoryEntry {
  const events = [event({ eventId: `order ${time}`, time })]
  return { kind: 'track_events', audiences: [], messages: [], events, customerId: 'ann' }
}

/** A history, its entries in order of arrival, the sizes of its batches, and the questions. */
const someHistory = fc.constantFrom(...TIMEZONES).chain((timezone) =>
  workspaces(timezone).chain((history) =>
    fc.record({
      history: fc.constant(history),
      entries: entriesOf(history),
      sizes: fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 6, size: 'max' }),
      choices: rangeChoices(),
    }),
  ),
)

async function expectAlways<Value>(
  values: fc.Arbitrary<Value>,
  numRuns: number,
  predicate: (value: Value) => Promise<void>,
): Promise<void> {
  await fc.assert(fc.asyncProperty(values, predicate), {
    seed: SEED,
    numRuns: propertyRuns(numRuns),
    interruptAfterTimeLimit: LONGEST_MS,
  })
}

/** Applies entries of several workspaces alternately as one batch. */
async function applyTogether(runs: readonly StatisticsRun[], parts: readonly (readonly HistoryEntry[])[]) {
  const [first] = runs
  const logs = runs.map((run, index) => run.toLog(parts[index] ?? []))
  const longest = Math.max(...logs.map(({ length }) => length))
  const mixed = Array.from({ length: longest }, (_, index) => logs.flatMap((log) => log[index] ?? [])).flat()
  if (!first || mixed.length === 0) return
  await applyBatch(first.database, await first.read(mixed), await first.applyOptions())
  for (const [index, run] of runs.entries()) run.applied.push(...(parts[index] ?? []))
}

/** The same database, where every transaction fails after all its writes. */
function breaking(database: Database): Database {
  return {
    ...database,
    write: (change) =>
      database.write(async (store) => {
        await change(store)
        throw new Error('the power is cut')
      }),
  }
}

/** Every row of the tables, in a fixed order. */
async function contents({ query }: Database): Promise<Record<string, string[]>> {
  const tables: Record<string, string[]> = {}
  for (const table of TABLES) {
    const rows = await query.selectFrom(table).selectAll().execute()
    tables[table] = rows.map((row) => JSON.stringify(row)).toSorted()
  }
  return tables
}
