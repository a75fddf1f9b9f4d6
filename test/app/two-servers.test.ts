// Checks two servers on one PostgreSQL, as on two machines: they share the limits of a workspace, notice changes of its keys and
// settings, and respond with the same statistics.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { DEFAULT_SETTINGS, LIMIT_DEFAULTS, type Limits } from '../../src/core/workspace.ts'
import { ANY_GROUP, cellKey, CellSum, NO_DAY, NO_GENERATION, seriesKey } from '../../src/core/statistics/cells.ts'
import { ALL } from '../../src/core/statistics/grouping-sets.ts'
import { fromCalendarDate } from '../../src/core/time-zone.ts'
import { replaceKey } from '../../src/actions/workspaces/replace-key.ts'
import { addCampaign, findCampaign, type StoredCampaign } from '../../src/store/campaigns/campaigns.ts'
import { addCells } from '../../src/store/statistics/statistics.ts'
import { saveSettings } from '../../src/store/workspaces/workspaces.ts'
import { changedByTest } from '../support/audit/changed-by.ts'
import { PREFERENCES_PATH } from '../support/calls/preference-calls.ts'
import { expectRefusal, startServer, until, type Answer, type CallOptions } from '../support/server.ts'
import type { TestServer, TestWorkspace } from '../support/server.ts'
import { describeOnPostgres } from '../support/stores.ts'

const NOON = Date.UTC(2030, 5, 15, 12)
const MINUTE_MS = 60_000
const STATS_PATH = '/core-services/v1/campaign-stats'

describeOnPostgres('Two servers', () => {
  let servers: [TestServer, TestServer]

  beforeAll(async () => {
    const first = await startServer('postgres', {}, { withPipeline: false })
    servers = [first, await startServer('postgres', {}, { withPipeline: false, beside: first })]
  })
  afterAll(async () => {
    const [first, second] = servers
    await second.stop()
    await first.stop()
  })

  const makeWorkspace = (limits: Partial<Limits> = {}) => {
    for (const server of servers) server.setClock(NOON)
    return servers[0].makeWorkspace({ limits: { ...LIMIT_DEFAULTS, ...limits } })
  }
  /** Uses one unit of `management_per_minute`. */
  const list = (server: TestServer, as: TestWorkspace, options: CallOptions = {}) => {
    return server.call('GET', `/v1/event/${as.id}?customer_id=c1`, { as, ...options })
  }
  const limitOf = ({ status, headers }: Answer<unknown>) => {
    const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`))
    return { status, limit: Number(limit), remaining: Number(remaining), reset: Number(reset) }
  }
  const reset = (NOON + MINUTE_MS) / 1_000

  it('accept together exactly as many requests of a workspace as one server would', async () => {
    const workspace = await makeWorkspace({ management_per_minute: 50 })
    const requests = servers.flatMap((server) => Array.from({ length: 60 }, () => list(server, workspace)))
    const answers = (await Promise.all(requests)).map(limitOf)
    const passed = answers.filter(({ status }) => status === 200)
    expect(passed.map(({ remaining }) => remaining).toSorted((one, other) => one - other)).toEqual([
      ...Array.from({ length: 50 }).keys(),
    ])
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused).toEqual(refused.map(() => ({ status: 429, limit: 50, remaining: 0, reset })))
  })

  it('report the rest of a limit after requests to both, and when the next window begins', async () => {
    const workspace = await makeWorkspace({ management_per_minute: 3 })
    const [first, second] = servers
    for (const server of servers) server.setClock(NOON + 17_001)
    expect(limitOf(await list(first, workspace))).toEqual({ status: 200, limit: 3, remaining: 2, reset })
    expect(limitOf(await list(second, workspace))).toEqual({ status: 200, limit: 3, remaining: 1, reset })
    expect(limitOf(await list(first, workspace))).toEqual({ status: 200, limit: 3, remaining: 0, reset })
    const refused = await list(second, workspace)
    expectRefusal(refused, 429, 'rate_limited')
    expect(refused.headers.get('retry-after')).toBe('43')
    for (const server of servers) server.setClock(NOON + MINUTE_MS)
    expect((await list(second, workspace)).status).toBe(200)
  })

  it('count the requests that either of them refuses, even repeated ones', async () => {
    const workspace = await makeWorkspace({ track_events_per_minute: 10 })
    const [first, second] = servers
    const track = (server: TestServer, options: CallOptions) => {
      return server.call('POST', `/v1/event/${workspace.id}`, { as: workspace, ...options })
    }
    const invalid = { body: { type: 'x', customer_id: 'c1', actions: [{ action: 'Visit' }, { action: 'Visit' }] } }
    expect(limitOf(await track(first, invalid))).toMatchObject({ status: 400, remaining: 8 })
    expect(limitOf(await track(second, invalid))).toMatchObject({ status: 400, remaining: 6 })
    expect(limitOf(await track(first, { ...invalid, tile: 'reports' }))).toMatchObject({ status: 403, remaining: 5 })
    const other = { body: 'x', headers: { 'content-type': 'text/plain' } }
    expect(limitOf(await track(second, other))).toMatchObject({ status: 415, remaining: 4 })
    const five = Array.from({ length: 5 }, () => ({ action: 'Visit' }))
    expect(limitOf(await track(first, { body: { type: 'event', actions: five } }))).toMatchObject({
      status: 429,
      remaining: 4,
    })
  })

  it('share the limits per minute and per day', async () => {
    const workspace = await makeWorkspace({ update_preferences_per_minute: 2, update_preferences_per_day: 3 })
    const body = { user_preferences: { customer_id: 'nobody', opt_in_status: 'OPTED_IN' } }
    const update = async (server: TestServer) =>
      limitOf(await server.call('PUT', PREFERENCES_PATH, { as: workspace, body }))
    const [first, second] = servers
    expect(await update(first)).toMatchObject({ status: 404, limit: 2, remaining: 1 })
    expect(await update(second)).toMatchObject({ status: 404, limit: 2, remaining: 0 })
    expect(await update(first)).toMatchObject({ status: 429 })
    for (const server of servers) server.setClock(NOON + MINUTE_MS)
    const midnight = Date.UTC(2030, 5, 16) / 1_000
    expect(await update(second)).toMatchObject({ status: 404, limit: 3, remaining: 0, reset: midnight })
    expect(await update(first)).toEqual({ status: 429, limit: 3, remaining: 0, reset: midnight })
  })

  it('notice keys and settings changed through the other within five seconds', async () => {
    const workspace = await makeWorkspace({ management_per_minute: 100 })
    const [first, second] = servers
    for (const server of servers) expect((await list(server, workspace)).status).toBe(200)
    const replacement = { tile: 'data', oldKeyValidHours: 0, by: changedByTest(workspace.id) } as const
    const { key: dataKey } = await first.database.write((store) => replaceKey(store, replacement))
    expect((await list(second, { ...workspace, dataKey })).status).toBe(200)
    const fails = async (server: TestServer) => (await list(server, workspace)).status === 401
    for (const server of servers) await until('the old key fails', () => fails(server))
    const limits = { ...LIMIT_DEFAULTS, management_per_minute: 200 }
    await second.database.write((store) =>
      saveSettings(store, workspace.id, { ...DEFAULT_SETTINGS, name: 'x', limits }),
    )
    const applies = async (server: TestServer) => limitOf(await list(server, { ...workspace, dataKey })).limit === 200
    for (const server of servers) await until('the new limit applies', () => applies(server))
  })

  it('respond with current statistics, even of campaigns that they have cached', async () => {
    const workspace = await makeWorkspace()
    const details = { id: 'c1', workspaceId: workspace.id, name: 'c1', platforms: [], goals: [], createdBy: 'anna' }
    const { number } = await servers[0].database.write(async (store) => {
      await addCampaign(store, { ...details, createdAt: 0 })
      return (await findCampaign(store, workspace.id, 'c1')) as StoredCampaign
    })
    const dimensions = { platform: ALL, locale: ALL, variation: ALL }
    const sent = {
      campaign: number,
      generation: NO_GENERATION,
      group: ANY_GROUP,
      metric: 'sent',
      ...dimensions,
    } as const
    const day = fromCalendarDate('2030-06-01') as number
    const range = { request_id: 'r', start_date: '2030-06-01', end_date: '2030-06-30' }
    const body = { ...range, attribution_type: 'CLICK_THROUGH', metric_type: 'TOTAL', campaign_ids: ['c1'] }
    for (let times = 1; times <= 3; times++) {
      const sum = new CellSum()
      sum.add(cellKey(seriesKey(sent), day, NO_DAY), 1, 1)
      await servers[times % 2 === 0 ? 0 : 1].database.write((store) => addCells(store, sum))
      for (const server of [...servers, ...servers]) {
        const answer = await server.call('POST', STATS_PATH, { as: workspace, tile: 'reports', body })
        expect(JSON.stringify(answer.body)).toContain(`"sent":${times},`)
      }
    }
  })
})
