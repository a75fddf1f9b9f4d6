// Kills a serving process at random moments while audiences, message events and goal events are reported and goals change.
// Everything that was acknowledged is counted afterwards, exactly once. CRASH_SEED repeats a run.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createWorkspace } from '../../src/actions/create-workspace.ts'
import { environmentOf, runJson, startServing } from '../support/program.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { until } from '../support/server.ts'
import { LOAD_SETTINGS, StatisticsLoad, type LoadKeys } from '../support/statistics/statistics-load.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestPlace } from '../support/stores.ts'

const ROUNDS = 5
/** How long it lives, from the first acknowledgement of a round on. */
const ALIVE_MS = [0, 700] as const

describeEachStore('campaign statistics of a killed server', (kind) => {
  let place: TestPlace
  let keys: LoadKeys

  beforeAll(async () => {
    place = await makeStore(kind)
    const database = await openTestDatabase(place)
    keys = await createWorkspace(database, 'main', LOAD_SETTINGS, Date.now())
    await database.close()
  })
  afterAll(() => place.remove())

  it('count everything that it acknowledged, exactly once', { timeout: 120_000 }, async () => {
    const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000)
    process.stderr.write(`crash test of statistics on ${kind}: CRASH_SEED=${seed}\n`)
    const random = seededRandom(seed)
    const load = new StatisticsLoad(random, keys)
    const environment = environmentOf(place)
    for (let round = 0; round < ROUNDS; round++) {
      const server = await startServing(environment)
      const { url } = server.started
      if (round === 0) await load.makeCampaigns(url)
      const before = load.acknowledged
      // The recount may be killed in any of its steps, and so may the changes that begin it.
      const sending = Promise.all([load.send(url), load.changeGoals(url).catch(() => 'killed')])
      // On a busy machine the first answer may take longer than all that follows.
      await until('something is acknowledged', () => load.acknowledged > before)
      await new Promise((resolve) => setTimeout(resolve, ALIVE_MS[0] + random() * (ALIVE_MS[1] - ALIVE_MS[0])))
      expect(await server.stop('SIGKILL')).toMatchObject({ status: null })
      await sending
    }
    const server = await startServing(environment)
    const { url } = server.started
    try {
      expect(load.acknowledged).toBeGreaterThan(ROUNDS)
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
