// Rate limits through real HTTP ("Rate limits"): exact at the edge, aligned to the UTC minute and day, reported in headers.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AppError } from '../../../src/core/app-error.ts'
import { DEFAULT_SETTINGS, LIMIT_DEFAULTS, type Limits, type Workspace } from '../../../src/core/workspace.ts'
import type { LimitedOperation } from '../../../src/http/limits/limiter.ts'
import { RateLimits } from '../../../src/http/limits/rate-limits.ts'
import { trackEvents } from '../../../src/operations/events/track-events.ts'
import { updatePreferences } from '../../../src/operations/preferences/update-preferences.ts'
import { listLimitWindows, saveLimitWindows, type UsedWindows } from '../../../src/store/workspaces/limit-windows.ts'
import { PREFERENCES_PATH } from '../../support/calls/preference-calls.ts'
import { RawConnection } from '../../support/raw-http.ts'
import {
  expectRefusal,
  startServer,
  until,
  type Answer,
  type CallOptions,
  type TestServer,
} from '../../support/server.ts'
import type { TestWorkspace } from '../../support/server.ts'
import { describeEachStore, makeStore, openTestDatabase, type StoreKind } from '../../support/stores.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import { DAY_MS } from '../../../src/core/time-zone.ts'

const NOON = Date.UTC(2030, 5, 15, 12)
const MAIN: Workspace = {
  ...DEFAULT_SETTINGS,
  id: 'main',
  name: 'main',
  createdAt: 0,
  globalControlSeed: 'seed',
  linkKey: 'key',
  limits: LIMIT_DEFAULTS,
}
const MINUTE_MS = 60_000
const SECOND_MS = 1_000
const visits = (count: number) => Array.from({ length: count }, () => ({ action: 'Visit' }))

/** The statuses of sequential changes of one preference; 404 because no user has that id. */
async function updateOften(server: TestServer, workspace: TestWorkspace, times: number): Promise<number[]> {
  const body = { user_preferences: { customer_id: 'nobody', opt_in_status: 'OPTED_IN' } }
  const statuses: number[] = []
  while (statuses.length < times) {
    statuses.push((await server.call('PUT', PREFERENCES_PATH, { as: workspace, body })).status)
  }
  return statuses
}

/** The statuses of sequential requests with one event each. Their operation has no daily limit. */
async function trackOften(server: TestServer, workspace: TestWorkspace, times: number): Promise<number[]> {
  const body = { type: 'event', customer_id: 'c1', actions: visits(1) }
  const statuses: number[] = []
  while (statuses.length < times) {
    statuses.push((await server.call('POST', `/v1/event/${workspace.id}`, { as: workspace, body })).status)
  }
  return statuses
}

interface Starts {
  readonly limits: Partial<Limits>
  /** The time of the server's clock at each start. */
  readonly times: readonly number[]
  readonly send: typeof updateOften
}

/** The statuses of two requests after each start of a server over the same store. */
async function sendAtStarts(kind: StoreKind, { limits, times, send }: Starts): Promise<number[][]> {
  const location = await makeStore(kind)
  const statuses: number[][] = []
  let workspace: TestWorkspace | undefined
  try {
    for (const time of times) {
      const server = await startServer(kind, {}, { at: { ...location, ...(workspace && { workspace }) } })
      server.setClock(time)
      workspace ??= await server.makeWorkspace({ limits: { ...LIMIT_DEFAULTS, ...limits } })
      statuses.push(await send(server, workspace, 2))
      await server.stop()
    }
    return statuses
  } finally {
    await location.remove()
  }
}

/** The head of a Track Events request whose body the server asks for once it has received the head. */
function headOf({ id, dataKey }: TestWorkspace, length: number): string {
  const lines = [
    `POST /v1/event/${id} HTTP/1.1`,
    'host: tidings.test',
    `authorization: Basic ${Buffer.from(`${id}:${dataKey}`).toString('base64')}`,
    'content-type: application/json',
    `content-length: ${length}`,
    'expect: 100-continue',
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** The values of the limit headers. */
function limitsOf({ headers }: Answer<unknown>): { limit: number; remaining: number; reset: number } {
  const header = (name: string) => Number(headers.get(`x-ratelimit-${name}`) ?? Number.NaN)
  return { limit: header('limit'), remaining: header('remaining'), reset: header('reset') }
}

describeEachStore('A limit', (kind) => {
  let server: TestServer

  beforeAll(async () => void (server = await startServer(kind)))
  afterAll(() => server.stop())

  const makeWorkspace = (limits: Partial<Limits>, settings = {}) => {
    server.setClock(NOON)
    return server.makeWorkspace({ ...settings, limits: { ...LIMIT_DEFAULTS, ...limits } })
  }
  const track = (as: TestWorkspace, body: unknown, options: CallOptions = {}) => {
    return server.call('POST', `/v1/event/${as.id}`, { as, body, ...options })
  }
  /** One unit of `management_per_minute`. */
  const list = (as: TestWorkspace, options: CallOptions = {}) => {
    return server.call('GET', `/v1/event/${as.id}?customer_id=c1`, { as, ...options })
  }

  it('allows exactly its number of requests until the next UTC minute begins', async () => {
    const workspace = await makeWorkspace({ management_per_minute: 3 })
    server.setClock(NOON + 17 * SECOND_MS)
    const statuses = [await list(workspace), await list(workspace), await list(workspace)].map(({ status }) => status)
    expect(statuses).toEqual([200, 200, 200])
    expectRefusal(await list(workspace), 429, 'rate_limited')
    server.setClock(NOON + MINUTE_MS - 1)
    expectRefusal(await list(workspace), 429, 'rate_limited')
    server.setClock(NOON + MINUTE_MS)
    expect((await list(workspace)).status).toBe(200)
  })

  it('allows exactly its number of concurrent requests', async () => {
    const workspace = await makeWorkspace({ management_per_minute: 20 })
    const answers = await Promise.all(Array.from({ length: 50 }, () => list(workspace)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(30)
  })

  it('reports its size, the remaining units, and the start of the next window in UTC epoch seconds', async () => {
    const workspace = await makeWorkspace({ management_per_minute: 2 })
    server.setClock(NOON + 17_001)
    const reset = (NOON + MINUTE_MS) / SECOND_MS
    expect(limitsOf(await list(workspace))).toEqual({ limit: 2, remaining: 1, reset })
    expect(limitsOf(await list(workspace))).toEqual({ limit: 2, remaining: 0, reset })
    const refused = await list(workspace)
    expect(limitsOf(refused)).toEqual({ limit: 2, remaining: 0, reset })
    // Rounded up: a client that waits this long is within the next window.
    expect(refused.headers.get('retry-after')).toBe('43')
  })

  it('per day resets at midnight UTC, regardless of the time zone of the workspace', async () => {
    const limits = { update_preferences_per_day: 2 }
    const workspace = await makeWorkspace(limits, { timezone: 'Pacific/Auckland' })
    const body = { user_preferences: { customer_id: 'nobody', opt_in_status: 'OPTED_IN' } }
    const update = () => server.call('PUT', PREFERENCES_PATH, { as: workspace, body })
    const midnight = Date.UTC(2030, 5, 16)
    expect((await update()).status).toBe(404)
    server.setClock(midnight - 1)
    expect((await update()).status).toBe(404)
    const refused = await update()
    expectRefusal(refused, 429, 'rate_limited')
    expect(refused.headers.get('retry-after')).toBe('1')
    server.setClock(midnight)
    expect((await update()).status).toBe(404)
  })

  it('with the smallest remaining share is reported if there are two, or the longer one if both are used up', async () => {
    const limits = { update_preferences_per_minute: 4, update_preferences_per_day: 6 }
    const workspace = await makeWorkspace(limits)
    const body = { user_preferences: { customer_id: 'nobody', opt_in_status: 'OPTED_IN' } }
    const report = async () => limitsOf(await server.call('PUT', PREFERENCES_PATH, { as: workspace, body }))
    const [minute, day] = [NOON + MINUTE_MS, Date.UTC(2030, 5, 16)].map((at) => at / SECOND_MS)
    expect(await report()).toEqual({ limit: 4, remaining: 3, reset: minute })
    expect(await report()).toEqual({ limit: 4, remaining: 2, reset: minute })
    expect(await report()).toEqual({ limit: 4, remaining: 1, reset: minute })
    server.setClock(NOON + MINUTE_MS)
    expect(await report()).toEqual({ limit: 6, remaining: 2, reset: day })
    expect(await report()).toEqual({ limit: 6, remaining: 1, reset: day })
    expect(await report()).toEqual({ limit: 6, remaining: 0, reset: day })
    expect(await report()).toEqual({ limit: 6, remaining: 0, reset: day })
  })

  it('with the longer window is reported if two have equal shares left', async () => {
    const workspace = await makeWorkspace({ update_preferences_per_minute: 2, update_preferences_per_day: 2 })
    const body = { user_preferences: { customer_id: 'nobody', opt_in_status: 'OPTED_IN' } }
    const reset = Date.UTC(2030, 5, 16) / SECOND_MS
    for (const remaining of [1, 0, 0]) {
      const answer = await server.call('PUT', PREFERENCES_PATH, { as: workspace, body })
      expect(limitsOf(answer)).toEqual({ limit: 2, remaining, reset })
    }
    const refused = await server.call('PUT', PREFERENCES_PATH, { as: workspace, body })
    expect(refused.headers.get('retry-after')).toBe(String(reset - NOON / SECOND_MS))
  })

  it('counts a repeat like a first request', async () => {
    const workspace = await makeWorkspace({ track_events_per_minute: 10 })
    const body = { type: 'event', customer_id: 'c1', actions: visits(2) }
    const headers = { 'idempotency-key': 'again' }
    expect(limitsOf(await track(workspace, body, { headers })).remaining).toBe(8)
    expect(limitsOf(await track(workspace, body, { headers })).remaining).toBe(6)
  })

  const event = { type: 'event', customer_id: 'c1', actions: visits(1) }
  const refusals: [status: number, what: string, options: CallOptions & { path?: string }][] = [
    [400, 'invalid fields', { body: { ...event, type: 'x' } }],
    [400, 'no actions', { body: { ...event, actions: [] } }],
    [400, 'broken JSON', { body: '{"type":' }],
    [400, 'an empty body', { body: '' }],
    [400, 'invalid gzip', { body: event, headers: { 'content-encoding': 'gzip' } }],
    [403, 'a key of the other tile', { body: event, tile: 'reports' }],
    [403, 'another workspace in the path', { body: event, path: '/v1/event/other' }],
    [409, 'an Idempotency-Key of another request', { body: event, headers: { 'idempotency-key': 'taken' } }],
    [413, 'a body that is too large', { body: { ...event, device_id: 'x'.repeat(128 * 1024) } }],
    [415, 'another media type', { body: 'x', headers: { 'content-type': 'text/plain' } }],
    [415, 'an invalid media type', { body: 'x', headers: { 'content-type': 'x' } }],
    [415, 'another content encoding', { body: event, headers: { 'content-encoding': 'br' } }],
  ]
  it.each(refusals)(
    'counts a request that is refused with %d (%s), and reports the remaining units',
    async (status, _, options) => {
      const workspace = await makeWorkspace({ track_events_per_minute: 10 })
      const first = { ...event, customer_id: 'other' }
      await track(workspace, first, { headers: { 'idempotency-key': 'taken' } })
      const path = options.path ?? `/v1/event/${workspace.id}`
      const answer = await server.call('POST', path, { as: workspace, ...options })
      expect({ status: answer.status, ...limitsOf(answer) }).toMatchObject({ status, limit: 10, remaining: 8 })
      expect(limitsOf(await track(workspace, event)).remaining).toBe(7)
    },
  )

  it('counts a request that is refused with 404', async () => {
    const workspace = await makeWorkspace({ management_per_minute: 10 })
    const get = () => server.call('GET', `/v1/customer/${workspace.id}?customer_id=nobody`, { as: workspace })
    const first = await get()
    expect({ status: first.status, remaining: limitsOf(first).remaining }).toEqual({ status: 404, remaining: 9 })
    expect(limitsOf(await get()).remaining).toBe(8)
  })

  it('does not count requests refused with 429, and executes nothing of them', async () => {
    const workspace = await makeWorkspace({ track_events_per_minute: 2 })
    const tracking = trackingOf(server, workspace)
    for (const action of ['one', 'two', 'three', 'four']) await track(workspace, { ...event, actions: [{ action }] })
    const limits = { ...LIMIT_DEFAULTS, track_events_per_minute: 3 }
    await server.changeSettings(workspace, { ...DEFAULT_SETTINGS, limits })
    const last = await tracking.events({ ...event, actions: [{ action: 'five' }] })
    expect(limitsOf(last)).toMatchObject({ limit: 3, remaining: 0 })
    await tracking.fateOf(last)
    const { body } = await tracking.listEvents({ customer_id: 'c1' })
    expect(new Set(body.data.map(({ action }) => action))).toEqual(new Set(['one', 'two', 'five']))
  })

  it('takes as many units as a request has actions, all or none', async () => {
    const workspace = await makeWorkspace({ track_events_per_minute: 10 })
    expect(limitsOf(await track(workspace, { ...event, actions: visits(7) })).remaining).toBe(3)
    const refused = await track(workspace, { ...event, actions: visits(4) })
    expectRefusal(refused, 429, 'rate_limited')
    expect(limitsOf(refused).remaining).toBe(3)
    const filling = await track(workspace, { ...event, actions: visits(3) })
    expect({ status: filling.status, remaining: limitsOf(filling).remaining }).toEqual({ status: 200, remaining: 0 })
  })

  it('refuses a request that needs more units than a whole window has with 400 and the reason, and takes nothing', async () => {
    const workspace = await makeWorkspace({ track_events_per_minute: 5 })
    const refused = await track(workspace, { ...event, actions: visits(6) })
    expectRefusal(refused, 400, 'invalid_request', ['actions'])
    expect(JSON.stringify(refused.body)).toContain('limits.track_events_per_minute')
    expect(refused.headers.has('retry-after')).toBe(false)
    expect(limitsOf(refused).remaining).toBe(5)
    expect((await track(workspace, { ...event, actions: visits(5) })).status).toBe(200)
    // Still 400 rather than 429, because waiting would not help.
    expectRefusal(await track(workspace, { ...event, actions: visits(6) }), 400, 'invalid_request', ['actions'])
    expectRefusal(await track(workspace, { ...event, actions: visits(1) }), 429, 'rate_limited')
  })

  it('is taken when the body is complete, regardless of when it began', async () => {
    const workspace = await makeWorkspace({ track_events_per_minute: 1 })
    const body = JSON.stringify(event)
    const connection = await RawConnection.open(server.url)
    await connection.write(headOf(workspace, body.length))
    expect((await connection.nextAnswer()).status).toBe(100)
    server.setClock(NOON + 12 * MINUTE_MS + 20 * SECOND_MS)
    expect((await track(workspace, event)).status).toBe(200)
    await connection.write(body)
    const { status, headers } = await connection.nextAnswer()
    expect([status, headers.get('retry-after')]).toEqual([429, '40'])
    expectRefusal(await track(workspace, event), 429, 'rate_limited')
    connection.close()
  })

  it('belongs to one workspace and one operation', async () => {
    const workspace = await makeWorkspace({ management_per_minute: 1 })
    const other = await makeWorkspace({ management_per_minute: 1 })
    expect((await list(workspace)).status).toBe(200)
    expectRefusal(await list(workspace), 429, 'rate_limited')
    expect((await list(other)).status).toBe(200)
    const get = await server.call('GET', `/v1/customer/${workspace.id}?customer_id=c1`, { as: workspace })
    expect(get.status).toBe(404)
  })

  it('is checked after authentication, suspension, tile and workspace, and before the content of the body', async () => {
    const workspace = await makeWorkspace({ update_preferences_per_minute: 1 })
    const put = (options: CallOptions) => server.call('PUT', PREFERENCES_PATH, { as: workspace, body: '{', ...options })
    expect((await put({})).status).toBe(400)
    expect((await put({ as: null })).status).toBe(401)
    expect((await put({ tile: 'reports' })).status).toBe(403)
    expect((await put({ headers: { 'svc-appkey': 'other' } })).status).toBe(403)
    expect((await put({})).status).toBe(429)
    expect((await put({ headers: { 'content-type': 'text/plain' } })).status).toBe(429)
    expect((await put({ headers: { 'svc-appkey': undefined } })).status).toBe(429)
  })

  it('follows the settings of the workspace within a running window', async () => {
    const workspace = await makeWorkspace({ management_per_minute: 1 })
    const limitTo = (units: number) => {
      return server.changeSettings(workspace, { limits: { ...LIMIT_DEFAULTS, management_per_minute: units } })
    }
    await list(workspace)
    expectRefusal(await list(workspace), 429, 'rate_limited')
    await limitTo(5)
    expect(limitsOf(await list(workspace))).toMatchObject({ limit: 5, remaining: 3 })
    await limitTo(1)
    const refused = await list(workspace)
    expectRefusal(refused, 429, 'rate_limited')
    expect(limitsOf(refused)).toMatchObject({ limit: 1, remaining: 0 })
  })
})

describe('the defaults', () => {
  it("are the document's numbers", () => {
    expect(LIMIT_DEFAULTS).toEqual({
      search_templates_per_minute: 100,
      fetch_coupon_lists_per_day: 10_000,
      track_events_per_minute: 30_000,
      update_preferences_per_minute: 1_000,
      update_preferences_per_day: 360_000,
      campaign_stats_per_minute: 100,
      campaign_tests_per_minute: 30,
      management_per_minute: 1_000,
    })
  })
})

describeEachStore('A limit over restarts', (kind) => {
  const ofDay: Starts = {
    limits: { update_preferences_per_day: 3 },
    times: [NOON, NOON + MINUTE_MS, NOON + DAY_MS],
    send: updateOften,
  }
  const ofMinute: Starts = {
    limits: { track_events_per_minute: 3 },
    times: [NOON, NOON + SECOND_MS, NOON + MINUTE_MS],
    send: trackOften,
  }

  it.each([
    { window: 'day', starts: ofDay, passed: 404 },
    { window: 'minute', starts: ofMinute, passed: 200 },
  ])('per $window continues in its window, and resets with the next', async ({ starts, passed }) => {
    expect(await sendAtStarts(kind, starts)).toEqual([
      [passed, passed],
      [passed, 429],
      [passed, passed],
    ])
  })
})

describe('A daily limit of an embedded server', () => {
  it('is saved while the server runs, in case it is killed', async () => {
    const server = await startServer('sqlite')
    try {
      expect(await updateOften(server, server.workspace, 3)).toEqual([404, 404, 404])
      const saved = await until('the windows are saved', async () => {
        const windows = await listLimitWindows(server.database)
        return windows.some(({ day }) => day.used === 3) && windows
      })
      expect(saved).toMatchObject([{ workspaceId: server.workspace.id, operation: updatePreferences.name }])
    } finally {
      await server.stop()
    }
  })

  it('is loaded as it was last saved', async () => {
    const location = await makeStore('sqlite')
    const database = await openTestDatabase(location)
    try {
      const savedOf = (first: number): UsedWindows[] =>
        ['main', 'other'].map((workspaceId, index) => ({
          workspaceId,
          operation: updatePreferences.name,
          minute: { startsAt: first + index, used: first + 10 },
          day: { startsAt: first + 20, used: first + 30 },
        }))
      for (const first of [100, 200]) {
        await database.write((store) => saveLimitWindows(store, savedOf(first)))
        expect(await listLimitWindows(database)).toEqual(savedOf(first))
      }
    } finally {
      await database.close()
      await location.remove()
    }
  })

  it('is saved once for each change, and again if saving failed', async () => {
    const rateLimits = new RateLimits()
    const workspace = MAIN
    const saved: number[] = []
    const save = () => rateLimits.save(async (windows) => void saved.push(...windows.map(({ day }) => day.used)))
    const take = (operation: LimitedOperation) => rateLimits.take({ workspace, operation, units: 1, now: NOON })
    take(updatePreferences)
    take(trackEvents)
    await expect(rateLimits.save(() => Promise.reject(new Error('the disk is full')))).rejects.toThrow('disk')
    await save()
    await save()
    take(updatePreferences)
    await save()
    expect(saved).toEqual([1, 2])
  })
})

describe('Refused requests', () => {
  it('count at most up to the limit of a window, so that a raised limit allows others at once', () => {
    const rateLimits = new RateLimits()
    const limitTo = (units: number) => {
      const limits = { ...LIMIT_DEFAULTS, track_events_per_minute: units }
      return { ...MAIN, limits }
    }
    for (let times = 0; times < 8; times++)
      rateLimits.count({ workspace: limitTo(5), operation: trackEvents, now: NOON })
    const taken = rateLimits.take({ workspace: limitTo(6), operation: trackEvents, units: 1, now: NOON })
    expect(taken).toMatchObject({ refusal: undefined, state: { limit: 6, remaining: 0 } })
  })
})

describe('A server that ends before it served, for example because its port is in use', () => {
  it('does not save the windows it loaded, which another server may have used since', async () => {
    const windows = { minute: { startsAt: NOON, used: 5 }, day: { startsAt: NOON - (NOON % DAY_MS), used: 5 } }
    const read = [updatePreferences, trackEvents].map(({ name }) => ({
      workspaceId: 'main',
      operation: name,
      ...windows,
    }))
    const saved: string[] = []
    const save = async (windows: readonly UsedWindows[]) =>
      void saved.push(...windows.map(({ operation }) => operation))
    const rateLimits = new RateLimits(read)
    await rateLimits.saveAll(save, NOON)
    expect(saved).toEqual([])
    const workspace = MAIN
    rateLimits.take({ workspace, operation: trackEvents, units: 1, now: NOON })
    await rateLimits.saveAll(save, NOON)
    expect(saved).toEqual([trackEvents.name])
  })
})

describe('a clock that goes back', () => {
  const limits = { ...LIMIT_DEFAULTS, track_events_per_minute: 2 }
  const workspace = { ...MAIN, limits }
  const taking = () => {
    const rateLimits = new RateLimits()
    return (now: number) => {
      const { state, refusal } = rateLimits.take({ workspace, operation: trackEvents, units: 1, now })
      return refusal instanceof AppError ? refusal.code : state
    }
  }

  it('continues the current window if it goes back a little, instead of starting an old one again', () => {
    const take = taking()
    const reset = (NOON + MINUTE_MS) / SECOND_MS
    expect(take(NOON)).toEqual({ limit: 2, remaining: 1, reset })
    expect(take(NOON - 1)).toEqual({ limit: 2, remaining: 0, reset })
    expect(take(NOON - 5 * MINUTE_MS)).toBe('rate_limited')
    expect(take(NOON + 1)).toBe('rate_limited')
  })

  it('starts the window of the new time if it goes back far', () => {
    const take = taking()
    const hourBefore = NOON - 60 * MINUTE_MS
    for (const now of [NOON, NOON + 1]) expect(take(now)).toMatchObject({ limit: 2 })
    expect(take(hourBefore)).toMatchObject({ remaining: 1, reset: (hourBefore + MINUTE_MS) / SECOND_MS })
  })
})
