// Links of messages while the store or the log is busy: people are led on in time, and nothing acknowledged is lost.
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { LOG_FILE } from '../../../src/log/open-log.ts'
import { openDatabase } from '../../../src/store/open-database.ts'
import type { Database } from '../../../src/store/store.ts'
import { listHitsOf, storeRun, type SentRun } from '../../support/calls/link-calls.ts'
import { preferenceCalls, type PreferenceCalls } from '../../support/calls/preference-calls.ts'
import { reportCallsOf } from '../../support/calls/report-calls.ts'
import { startServer, until, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

/** Far below the ten seconds for which a change waits for other writers; enough for a slow machine. */
const IN_TIME_MS = 5_000
const TARGET = 'https://shop.example/'

describeEachStore('Links of messages on a busy machine', (kind) => {
  let server: TestServer
  let calls: PreferenceCalls
  let other: Database
  let run: SentRun
  let campaign: number

  beforeAll(async () => {
    server = await startServer(kind)
    calls = preferenceCalls(server)
    other = openDatabase(server)
    await server.changeSettings(server.workspace, { categories: ['news', 'offers'] })
    await calls.makeUsers(['c1'])
    campaign = (await reportCallsOf(server).makeCampaign()).number
  })
  afterAll(async () => {
    await other.close()
    await server.stop()
  })
  beforeEach(async () => {
    await calls.set({ customer_id: 'c1', opt_in_status: 'OPTED_IN', categories: { news: true, offers: true } })
    const sent = { campaign, category: 'news', links: [TARGET], customers: ['c1'] }
    run = await storeRun(server.database, { workspaceId: server.workspace.id, ...sent })
  })

  const request = (path: string, method = 'GET') => fetch(server.url + path, { method, redirect: 'manual' })

  /** How long the work takes, and its result. */
  const timed = async <Result>(work: () => Promise<Result>) => {
    const startedAt = performance.now()
    const result = await work()
    return { result, ms: performance.now() - startedAt }
  }

  /** Holds the writer of SQLite, or the tables that the pipeline changes, until the work is done. */
  const whileStoreIsBusy = async (work: () => Promise<void>) => {
    const [held, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holding = other.write(async (store) => {
      if (kind === 'postgres') {
        await sql`set local idle_in_transaction_session_timeout = 0`.execute(store.query)
        await sql`lock table message_hits, preferences in exclusive mode`.execute(store.query)
      } else await store.query.updateTable('users').set({ created_at: 1 }).where('id', '=', -1).execute()
      held.resolve()
      await done.promise
    })
    await held.promise
    try {
      await work()
    } finally {
      done.resolve()
      await holding
    }
  }

  it('lead on in time while the store is busy, also in a run that nobody opened before', async () => {
    await whileStoreIsBusy(async () => {
      for (const path of [`/c/${run.tokenOf('click', 1, 1)}`, `/o/${run.tokenOf('open', 1)}`]) {
        const { result, ms } = await timed(() => request(path))
        expect(result.status).toBe(path.startsWith('/c/') ? 302 : 200)
        expect(ms).toBeLessThan(IN_TIME_MS)
      }
      expect(await listHitsOf(server.database, run.number)).toEqual([])
    })
    const hits = await until('both hits are stored', async () => {
      const stored = await listHitsOf(server.database, run.number)
      return stored.length === 2 && stored
    })
    expect(hits.map(({ kind: of }) => of)).toEqual(['click', 'open'])
  })

  it('accept an unsubscribe in time while the store is busy, and apply it afterwards', async () => {
    await whileStoreIsBusy(async () => {
      const { result, ms } = await timed(() => request(`/u/${run.tokenOf('unsubscribe', 1)}`, 'POST'))
      expect(result.status).toBe(200)
      expect(ms).toBeLessThan(IN_TIME_MS)
      expect((await calls.readOne('c1')).categories).toEqual({ news: true, offers: true })
    })
    await until('it is applied', async () => (await calls.readOne('c1')).categories['news'] === false)
  })

  if (kind !== 'sqlite') return

  it('lead on in time while the log is busy, and keep the hit once it can be written', async () => {
    const log = new Sqlite(join(server.dataDir, LOG_FILE))
    log.exec('begin immediate')
    const { result, ms } = await timed(() => request(`/c/${run.tokenOf('click', 1, 1)}`))
    log.exec('rollback')
    log.close()
    expect([result.status, result.headers.get('location')]).toEqual([302, TARGET])
    expect(ms).toBeLessThan(IN_TIME_MS)
    await until('the hit is stored', async () => (await listHitsOf(server.database, run.number)).length === 1)
  })
})
