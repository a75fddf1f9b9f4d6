// Kills a serving process at random moments while clients report facts and change goals. Afterwards everything
// acknowledged is counted exactly once. CRASH_SEED repeats a run.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createWorkspace } from '../../src/actions/create-workspace.ts'
import { environmentOf, runJson, startServing } from '../support/program.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { until } from '../support/server.ts'
import { LOAD_SETTINGS, StatisticsLoad, type LoadKeys } from '../support/statistics/statistics-load.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'

const KILLS = Number(process.env['CRASH_KILLS'] ?? 3)
/** How long the process lives after the first acknowledgement of a round. */
const ALIVE_MS = [0, 700] as const

describeEachStore('The campaign statistics of a killed server', (kind) => {
  let location: TestLocation
  let keys: LoadKeys

  beforeAll(async () => {
    location = await makeStore(kind)
    const database = await openTestDatabase(location)
    keys = await createWorkspace(database, 'main', LOAD_SETTINGS, Date.now())
    await database.close()
  })
  afterAll(() => location.remove())

  it('count everything it acknowledged exactly once', { timeout: 120_000 }, async () => {
    const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000)
    process.stderr.write(`crash test of statistics on ${kind}: CRASH_SEED=${seed}\n`)
    const random = seededRandom(seed)
    const load = new StatisticsLoad(random, keys)
    const environment = environmentOf(location)
    for (let round = 0; round < KILLS; round++) {
      const server = await startServing(environment)
      const { url } = server.started
      if (round === 0) await load.makeCampaigns(url)
      const before = load.acknowledged
      // A kill may hit any step of the backfill, and any change that starts one.
      const sending = Promise.all([load.send(url), load.changeGoals(url).catch(() => 'killed')])
      // On a busy machine the first response may take longer than all others.
      await until('something is acknowledged', () => load.acknowledged > before)
      await new Promise((resolve) => setTimeout(resolve, ALIVE_MS[0] + random() * (ALIVE_MS[1] - ALIVE_MS[0])))
      expect(await server.stop('SIGKILL')).toMatchObject({ status: null })
      await sending
    }
    const server = await startServing(environment)
    const { url } = server.started
    try {
      expect(load.acknowledged).toBeGreaterThan(KILLS)
      await load.changeGoals(url)
      await load.retryUnanswered(url)
      await load.waitUntilCounted(url)
      expect(await load.findWrong(url)).toEqual([])
      const verified = await runJson(['statistics', 'verify'], environment)
      expect(verified).toMatchObject({ status: 0, body: { equal: true } })
    } finally {
      await server.stop('SIGTERM')
    }
  })
})
