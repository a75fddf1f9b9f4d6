// Shared limits while their database is unreachable, slow or overloaded: 503, no request passes, and no unit is taken twice.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { AppError } from '../../../src/core/app-error.ts'
import { DEFAULT_SETTINGS, LIMIT_DEFAULTS, type Workspace } from '../../../src/core/workspace.ts'
import { SharedRateLimits, type SharedRateLimitsOptions } from '../../../src/http/limits/shared-rate-limits.ts'
import { trackEvents } from '../../../src/operations/events/track-events.ts'
import { LimitWindows } from '../../../src/store/workspaces/limit-windows.ts'
import type { Database } from '../../../src/store/store.ts'
import { startProxy, type CuttableProxy } from '../../support/cuttable-proxy.ts'
import { expectRefusal, startServer, until, type TestServer } from '../../support/server.ts'
import { describeOnPostgres, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

const NOON = Date.UTC(2030, 5, 15, 12)
const WAIT_MS = 60_000
const UNAVAILABLE = { code: 'unavailable', retryAfterSeconds: 1 }
const operation = trackEvents

describeOnPostgres('Shared limits that cannot be reached', () => {
  let location: TestLocation
  let proxy: CuttableProxy
  /** Reaches the database through the proxy; `beside` reaches it directly. */
  let windows: LimitWindows
  let beside: Database
  let made = 0

  beforeAll(async () => {
    location = await makeStore('postgres')
    beside = await openTestDatabase(location)
    proxy = await startProxy(location.databaseUrl as string)
    windows = new LimitWindows(proxy.url)
  })
  afterAll(async () => {
    await windows.close()
    await beside.close()
    await proxy.stop()
    await location.remove()
  })

  const makeWorkspace = (units: number): Workspace => {
    const id = `workspace-${++made}`
    const limits = { ...LIMIT_DEFAULTS, track_events_per_minute: units }
    return { ...DEFAULT_SETTINGS, id, name: id, createdAt: 0, globalControlSeed: 'seed', linkKey: 'key', limits }
  }
  const open = (options: SharedRateLimitsOptions = {}) =>
    new SharedRateLimits(windows, { clock: () => NOON, ...options })
  /** Takes units, and returns the remaining ones or the reason of a refusal. */
  const take = async (limits: SharedRateLimits, workspace: Workspace, units = 1): Promise<unknown> => {
    try {
      const { state, refusal } = await limits.take({ workspace, operation, units, now: 0 })
      return refusal instanceof AppError ? refusal.code : state.remaining
    } catch (error) {
      return error
    }
  }
  const isBack = (limits: SharedRateLimits) => {
    const workspace = makeWorkspace(1)
    return until('limits can be reached', async () => (await take(limits, workspace)) === 0)
  }

  it('refuse all waiting requests as unavailable, take nothing meanwhile, and continue with the same count', async () => {
    const [limits, workspace] = [open(), makeWorkspace(10)]
    expect(await take(limits, workspace, 4)).toBe(6)
    proxy.cut()
    const refused = await Promise.all([
      take(limits, workspace),
      take(limits, workspace),
      take(limits, makeWorkspace(5)),
    ])
    for (const error of refused) expect(error).toMatchObject(UNAVAILABLE)
    await expect(limits.count({ workspace, operation, now: 0 })).rejects.toMatchObject(UNAVAILABLE)
    proxy.restore()
    await isBack(limits)
    expect(await take(limits, workspace, 6)).toBe(0)
    expect(await take(limits, workspace)).toBe('rate_limited')
  })

  it('refuse requests for windows cached as full even while they cannot be reached', async () => {
    const [limits, workspace] = [open(), makeWorkspace(1)]
    expect(await take(limits, workspace)).toBe(0)
    proxy.cut()
    expect(await take(limits, workspace)).toBe('rate_limited')
    proxy.restore()
    await isBack(limits)
  })

  it('refuse requests as unavailable if the answer is late, and let no late answer pass', async () => {
    const impatient = new LimitWindows(proxy.url, { answerWaitMs: 100 })
    const limits = new SharedRateLimits(impatient, { clock: () => NOON })
    const workspace = makeWorkspace(10)
    expect(await take(limits, workspace)).toBe(9)
    proxy.hold()
    const waiting = [take(limits, workspace), take(limits, workspace, 2)]
    for (const error of await Promise.all(waiting)) expect(error).toMatchObject(UNAVAILABLE)
    proxy.cut()
    proxy.restore()
    await isBack(limits)
    const patient = open()
    const used = 10 - Number(await take(patient, workspace))
    // The statement may have arrived, but no request got the units it took.
    expect([2, 5]).toContain(used)
    expect(await take(patient, workspace, 10 - used)).toBe(0)
    await impatient.close()
  })

  it('refuse requests beyond the queue limit as unavailable at once', async () => {
    const [limits, workspace] = [open({ waitingMax: 3 }), makeWorkspace(10)]
    const results = await Promise.all(Array.from({ length: 5 }, () => take(limits, workspace)))
    expect(results.slice(0, 3)).toEqual([9, 8, 7])
    for (const error of results.slice(3)) expect(error).toMatchObject(UNAVAILABLE)
    expect(await take(limits, workspace)).toBe(6)
  })

  it('survive a database that ends all connections', async () => {
    const [limits, workspace] = [open(), makeWorkspace(100_000)]
    const results: unknown[] = []
    const takeOften = async () => {
      for (let count = 0; count < 400; count++) results.push(await take(limits, workspace))
    }
    const load = Array.from({ length: 8 }, takeOften)
    await until('some have passed', () => results.length > 400)
    // The pool replaces an idle connection silently.
    await until('one ends in the middle of a statement', async () => {
      await terminateOthers(beside)
      return results.some((left) => typeof left !== 'number')
    })
    await Promise.all(load)
    const passed = results.filter((left) => typeof left === 'number')
    const failed = results.filter((left) => typeof left !== 'number')
    expect(failed.length).toBeGreaterThan(0)
    for (const error of failed) expect(error).toMatchObject(UNAVAILABLE)
    expect(results.slice(-load.length).map((left) => typeof left)).toEqual(load.map(() => 'number'))
    // Each unit was granted once; failed requests may have taken units too.
    expect(new Set(passed).size).toBe(passed.length)
    const used = 100_000 - Number(await take(limits, workspace)) - 1
    expect(used).toBeGreaterThanOrEqual(passed.length)
    expect(used).toBeLessThanOrEqual(results.length)
  })
})

describeOnPostgres('A server whose shared limits cannot be reached', () => {
  let first: TestServer
  let proxy: CuttableProxy
  let server: TestServer

  beforeAll(async () => {
    first = await startServer('postgres', {}, { withPipeline: false })
    proxy = await startProxy(first.databaseUrl as string)
    server = await startServer('postgres', { DATABASE_URL: proxy.url }, { withPipeline: false, beside: first })
  })
  afterAll(async () => {
    await server.stop()
    await proxy.stop()
    await first.stop()
  })

  const body = { type: 'event', customer_id: 'c1', actions: [{ action: 'Visit' }] }
  const requests = [
    ['an operation', 'GET', '/v1/event/main?customer_id=c1', {}],
    ['an operation whose units depend on the body', 'POST', '/v1/event/main', { body: { ...body, type: 'x' } }],
    ['a request that is refused for another reason', 'GET', '/v1/event/other?customer_id=c1', {}],
    ['an invalid media type', 'POST', '/v1/event/main', { body: 'x', headers: { 'content-type': 'nonsense' } }],
  ] as const

  it.each(requests)('answers 503 with retry-after to %s, and recovers', { timeout: WAIT_MS }, async (_, ...call) => {
    const [method, path, options] = call
    const before = (await server.call(method, path, options)).status
    proxy.cut()
    const refused = await server.call(method, path, options)
    expectRefusal(refused, 503, 'unavailable')
    expect(refused.headers.get('retry-after')).toBe('1')
    proxy.restore()
    await until('it recovers', async () => (await server.call(method, path, options)).status === before)
    expect(before).not.toBe(503)
  })
})

async function terminateOthers({ query }: Database): Promise<void> {
  const others = sql`datname = current_database() and pid <> pg_backend_pid()`
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where ${others}`.execute(query)
}
