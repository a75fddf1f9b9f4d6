// `tidings demo`: fills a workspace of a running server through its operations, and removes it again, on every store.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { readConfig, type Config } from '../../src/app/config.ts'
import { fillFor } from '../../src/commands/demo/demo-command.ts'
import { removeDemo } from '../../src/commands/demo/remove-demo.ts'
import { LIMIT_DEFAULTS } from '../../src/core/workspace.ts'
import { findWorkspace } from '../../src/store/workspaces/workspaces.ts'
import { DAY_MS } from '../../src/core/time-zone.ts'
import { terminalProgress } from '../../src/commands/terminal-progress.ts'
import { TABLE_TREATMENTS } from '../../src/store/moves/moved-tables.ts'
import type { Database } from '../../src/store/store.ts'
import { verifyStatistics } from '../../src/statistics/verify-statistics.ts'
import { signInAs, type SignedInPerson } from '../support/accounts/sign-in-as.ts'
import { environmentOf, failureOf, runJson } from '../support/program.ts'
import { startServer, until, type TestServer } from '../support/server.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'
import { trackingOf } from '../support/calls/tracking.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const PEOPLE = 300
const CAMPAIGNS = '/core-services/v1/campaigns'
const NOW = Date.now()
/** What processes leave in the store while they run. */
const OF_PROCESSES = [
  'cursors',
  'pipeline_members',
  'partition_leases',
  'limit_windows',
  'staging_tables',
  'migrations',
]
const OPTIONS = { workspaceId: 'demo', progress: terminalProgress() }

describeEachStore('tidings demo', (kind) => {
  let location: TestLocation
  let config: Config
  let server: TestServer
  let owner: SignedInPerson
  let rowsBefore: Readonly<Record<string, number>>

  let workspace: TestServer['workspace'] | undefined

  const start = async () => {
    server = await startServer(kind, {}, { at: { ...location, ...(workspace && { workspace }) } })
  }
  let memberships = 0
  const fill = async () => {
    const { counts } = await fillFor(server.database, config, new URL(server.url), { people: PEOPLE, now: NOW })
    memberships = counts.memberships
    return counts
  }
  const inStore = async <Result>(work: (database: Database) => Promise<Result>) => {
    const database = await openTestDatabase(location)
    try {
      return await work(database)
    } finally {
      await database.close()
    }
  }
  const ask = <Body>(method: string, path: string, body?: object) =>
    server.call<Body>(method, path, { as: { id: 'demo', dataKey: '', reportsKey: '' }, person: owner, body })
  const remove = () => inStore((database) => removeDemo(database, config, OPTIONS))

  beforeAll(async () => {
    location = await makeStore(kind)
    config = readConfig({ ...environmentOf(location) })
    await start()
    workspace = server.workspace
    await trackingOf(server).apply({ type: 'event', customer_id: 'ada', actions: [{ action: 'Order Placed' }] })
    owner = await signInAs(server, 'owner')
    await server.stop()
    rowsBefore = await inStore(countRows)
    await start()
  })
  afterAll(() => location.remove())

  it('fills a workspace with people, events and campaigns whose numbers add up', async () => {
    expect(await fill()).toMatchObject({ people: PEOPLE, campaigns: 8 })
    const users = { where: { attribute: 'first_name', operator: 'exists' } }
    expect((await ask('POST', '/core-services/v1/segments/count', users)).body).toMatchObject({ users: PEOPLE })
    const { body } = await ask<{ data: { state?: string }[] }>('GET', CAMPAIGNS)
    expect(body.data.flatMap(({ state }) => state ?? [])).toEqual(['paused', 'draft'])
    const verified = await verifyStatistics(server.database, 'demo', () => {})
    expect(verified).toMatchObject({ differingCells: 0 })
    expect((await server.database.readSnapshot((store) => findWorkspace(store, 'demo')))?.workspace.limits).toEqual(
      LIMIT_DEFAULTS,
    )
  })

  it('is refused while the workspace exists', async () => {
    await expect(fill()).rejects.toMatchObject({ code: 'conflict', message: /already exists.*demo --remove/s })
  })

  it('is not removed while a server runs', async () => {
    await expect(remove()).rejects.toMatchObject({ code: 'conflict', message: /A server is running/ })
  })

  it('leaves nothing when it is removed, and has the same numbers when it is filled again', async () => {
    const first = await numbersOf()
    await server.stop()
    expect(await remove()).toBeGreaterThan(first.rows.reduce((sum, rows) => sum + rows))
    expect(await inStore(countRows)).toEqual(rowsBefore)
    await expect(remove()).rejects.toMatchObject({ code: 'not_found' })
    await start()
    await fill()
    const again = await numbersOf()
    await server.stop()
    expect(again).toEqual(first)
  })

  /** The rows of some tables, and the statistics of the campaigns that were reported, by name. */
  async function numbersOf() {
    const tables = ['users', 'events', 'preferences', 'templates', 'segments', 'coupons', 'memberships']
    const { body } = await ask<{ data: { campaign_id: string; name: string; state?: string }[] }>('GET', CAMPAIGNS)
    const sent = body.data.find(({ state }) => state === 'paused')
    // The campaign may be paused while its audience is still being decided.
    const all = await until('the audience of the run is counted', async () => {
      const runs = await ask<{ data: [{ audience: number }] }>('GET', `${CAMPAIGNS}/${sent?.campaign_id}/runs`)
      const rows = await countRows(server.database)
      return rows['memberships'] === memberships + runs.body.data[0].audience && rows
    })
    const reported = body.data.filter(({ state }) => state === undefined)
    const statistics = await Promise.all(
      reported.map(async ({ campaign_id: id, name }) => {
        const answer = await ask<{ data: Record<string, object> }>('POST', '/core-services/v1/campaign-stats', {
          request_id: 'demo',
          campaign_ids: [id],
          attribution_type: 'TOTAL_CONVERSIONS',
          metric_type: 'TOTAL',
          start_date: new Date(NOW - 30 * DAY_MS).toISOString().slice(0, 10),
          end_date: new Date(NOW).toISOString().slice(0, 10),
        })
        return { name, numbers: answer.body.data[id] }
      }),
    )
    return { rows: tables.map((table) => all[table] as number), statistics }
  }
})

it('says what is missing', async () => {
  const location = await makeStore('sqlite')
  const environment = environmentOf(location)
  const unreachable = await runJson(['demo', '--url', 'http://127.0.0.1:1'], environment)
  expect(failureOf(unreachable)).toMatchObject({ status: 1, code: 'unavailable' })
  const wrong = await runJson(['demo', '--url', 'ftp://127.0.0.1'], environment)
  expect(failureOf(wrong)).toMatchObject({ status: 1, code: 'invalid_request', fields: ['--url'] })
  const nothing = await runJson(['demo', '--remove', '--yes'], environment)
  expect(failureOf(nothing)).toMatchObject({ status: 1, code: 'not_found' })
  expect((await runJson(['demo', '--remove'], environment)).status).toBe(2)
  await location.remove()
})

/** Of every table in which rows of workspaces are. */
async function countRows(database: Database): Promise<Record<string, number>> {
  const tables = Object.keys(TABLE_TREATMENTS).filter((table) => !OF_PROCESSES.includes(table))
  const counts = tables.map(async (table) => {
    const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(database.query)
    return [table, Number(rows[0]?.n)] as const
  })
  return Object.fromEntries(await Promise.all(counts))
}
