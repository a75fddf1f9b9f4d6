// Statistics keep their numbers when facts are deleted, because persons are erased or events are no longer kept: for random histories,
// on every store. STATISTICS_SEED repeats a run.
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { deleteOldEvents } from '../../src/statistics/deletions/delete-old-events.ts'
import { erasePerson, removeErasedEvents } from '../../src/statistics/deletions/erase-person.ts'
import { DAY_MS } from '../../src/core/time-zone.ts'
import { findUsers, listUserIdsAfter } from '../../src/store/users/users.ts'
import { entriesOf } from '../support/statistics/history-entries.ts'
import { TIMEZONES, workspaces } from '../support/statistics/statistics-histories.ts'
import {
  cut,
  expectVerified,
  openStatisticsStore,
  questionsOf,
  rangeChoices,
  StatisticsRun,
  type Range,
  type StatisticsStore,
} from '../support/statistics/statistics-run.ts'
import { describeEachStore, type StoreKind } from '../support/stores.ts'

const SEED = Number(process.env['STATISTICS_SEED'] ?? Date.now() % 2 ** 31)
const HISTORIES: Readonly<Record<StoreKind, number>> = { sqlite: 40, postgres: 12 }
const TIMEOUT_MS = 120_000
/** Fewer histories on a slow machine. */
const LONGEST_MS = 60_000

const someDeletions = fc.constantFrom(...TIMEZONES).chain((timezone) =>
  workspaces(timezone).chain((history) =>
    fc.record({
      history: fc.constant(history),
      entries: entriesOf(history),
      applied: fc.nat(60),
      /** Which events are too old, and which of the users are erased. */
      cutoff: fc.nat(),
      erased: fc.array(fc.boolean(), { maxLength: 8 }),
      choices: rangeChoices(),
    }),
  ),
)

describeEachStore('Deleting facts', (kind) => {
  let opened: StatisticsStore
  beforeAll(async () => {
    process.stderr.write(`deleted facts on ${kind}: STATISTICS_SEED=${SEED}\n`)
    opened = await openStatisticsStore(kind)
  })
  afterAll(() => opened.close())

  it(
    'changes no number of campaigns, and verification still finds no difference, before and after further facts',
    async () => {
      await fc.assert(
        fc.asyncProperty(someDeletions, async ({ history, entries, applied, cutoff, erased, choices }) => {
          const run = await StatisticsRun.make(opened, history)
          const [first = [], rest = []] = cut(entries, [applied])
          await run.apply(first)
          const ranges = run.ranges(choices)
          const before = await answersOf(run, ranges)
          const times = history.events.map(({ time }) => time)
          const retention = { days: 1, now: (times[cutoff % times.length] ?? 0) + DAY_MS + 1 }
          await deleteOldEvents(opened.database, { workspaceId: run.workspaceId, ...retention }, () => false)
          expect(await answersOf(run, ranges)).toEqual(before)
          await expectVerified(run)
          await eraseSome(run, erased)
          expect(await answersOf(run, ranges)).toEqual(before)
          await expectVerified(run)
          await run.apply(rest)
          await expectVerified(run)
        }),
        { seed: SEED, numRuns: HISTORIES[kind], interruptAfterTimeLimit: LONGEST_MS, markInterruptAsFailure: false },
      )
    },
    TIMEOUT_MS,
  )

  async function eraseSome(run: StatisticsRun, erased: readonly boolean[]): Promise<void> {
    const ids = await listUserIdsAfter(opened.database, run.workspaceId, { after: 0, max: 1_000 })
    for (const user of await findUsers(
      opened.database,
      ids.filter((_, index) => erased[index]),
    )) {
      const id = await opened.database.write((store) => erasePerson(store, user, { by: 'test', now: 1 }))
      while (await removeErasedEvents(opened.database, id));
    }
  }
})

async function answersOf(run: StatisticsRun, ranges: readonly Range[]): Promise<unknown[]> {
  const answers: unknown[] = []
  for (const question of ranges.flatMap(questionsOf)) answers.push(await run.ask(question))
  return answers
}
