// Retries of Track Events through real HTTP, on every store: they store events once ("Retries"), and the limit counts events
// ("Rate").
import { join } from 'node:path'
import SqliteFile from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LIMIT_DEFAULTS } from '../../../src/core/workspace.ts'
import { LOG_FILE } from '../../../src/log/open-log.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { trackingOf, type Tracking } from '../../support/calls/tracking.ts'

const HOUR_MS = 60 * 60 * 1000
const MINUTE_MS = 60_000

const event = (customer_id: string, ...actions: object[]) => ({ type: 'event', customer_id, actions })
const A = { action: 'A' }

describeEachStore('Retries of Track Events (track_events)', (kind) => {
  let server: TestServer
  let tracking: Tracking

  beforeAll(async () => {
    server = await startServer(kind)
    tracking = trackingOf(server)
  })
  afterAll(() => server.stop())

  const send = (key: string, body: unknown, to = tracking) => to.events(body, { 'idempotency-key': key })

  async function countEvents(customerId: string): Promise<number> {
    return (await tracking.listEvents({ customer_id: customerId, limit: 500 })).body.data.length
  }

  it('with the same Idempotency-Key get the same answer and are stored once', async () => {
    const first = await send('same', event('same', A))
    const repeat = await send('same', event('same', A))
    expect(repeat.status).toBe(200)
    expect(repeat.body).toEqual(first.body)
    expect(repeat.headers.get('x-request-id')).toBe(first.body.request_id)
    await tracking.apply(event('same', A))
    expect(await countEvents('same')).toBe(2)
  })

  it('at the same moment are stored once', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => send('at once', event('at once', A))))
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.request_id}`)).size).toBe(1)
    await tracking.apply(event('at once', A))
    expect(await countEvents('at once')).toBe(2)
  })

  const changes: [what: string, body: unknown][] = [
    ['another value', event('changed', { action: 'B' })],
    ['one space more', `${JSON.stringify(event('changed', A))} `],
    ['its members in another order', { customer_id: 'changed', type: 'event', actions: [A] }],
  ]
  it.each(changes)('with the same key and %s in the body are refused with 409', async (what, body) => {
    const first = await send(what, event('changed', A))
    expect(first.status).toBe(200)
    expectRefusal(await send(what, body), 409, 'conflict', ['header.Idempotency-Key'])
    // The key still belongs to the first request.
    expect((await send(what, event('changed', A))).body).toEqual(first.body)
  })

  it('with the same key for another operation are refused with 409', async () => {
    const body = { type: 'event', customer_id: 'other', actions: [A] }
    expect((await send('operation', body)).status).toBe(200)
    const other = await tracking.user({ type: 'customer', customer_id: 'other' }, { 'idempotency-key': 'operation' })
    expectRefusal(other, 409, 'conflict', ['header.Idempotency-Key'])
  })

  it('with the same key to a path that differs only in ignored parts are repeats', async () => {
    const headers = { 'idempotency-key': 'address' }
    const first = await tracking.events(event('address', A), headers, '?_ts=1')
    for (const path of ['?_ts=2', '', '/ignored', '?project_code=ignored']) {
      const repeat = await tracking.events(event('address', A), headers, path)
      expect([repeat.status, repeat.body]).toEqual([200, first.body])
    }
  })

  it('with the same key are repeats if the project moves between path and query, but 409 for another project', async () => {
    const grouped = trackingOf(server, await server.makeWorkspace({ projectCodes: ['shop', 'app'] }))
    const headers = { 'idempotency-key': 'project' }
    const first = await grouped.events(event('project', A), headers, '/shop')
    const repeat = await grouped.events(event('project', A), headers, '?project_code=shop')
    expect([repeat.status, repeat.body]).toEqual([200, first.body])
    const other = await grouped.events(event('project', A), headers, '/app')
    expectRefusal(other, 409, 'conflict', ['header.Idempotency-Key'])
  })

  it('with different keys, or without one, are separate requests', async () => {
    const answers = [await send('k1', event('own', A)), await send('k2', event('own', A))]
    answers.push(await tracking.events(event('own', A)), await tracking.events(event('own', A)))
    expect(new Set(answers.map(({ body }) => body.request_id)).size).toBe(4)
    await tracking.fateOf(answers[3] as (typeof answers)[0])
    expect(await countEvents('own')).toBe(4)
  })

  it('are recognised only in their workspace', async () => {
    const other = trackingOf(server, await server.makeWorkspace())
    const first = await send('shared', event('shared', A))
    const theirs = await send('shared', event('shared', { action: 'B' }), other)
    expect(theirs.status).toBe(200)
    expect(theirs.body.request_id).not.toBe(first.body.request_id)
  })

  it('of a refused request are new requests', async () => {
    expectRefusal(await send('refused', event('refused')), 400, 'invalid_request', ['actions'])
    expect((await send('refused', event('refused', A))).status).toBe(200)
  })

  it('are recognised for 24 hours', async ({ skip }) => {
    skip(kind !== 'sqlite', 'a shared log uses the clock of its database, which a test cannot change')
    const start = Date.now()
    server.setClock(start)
    const first = await send('day', event('day', A))
    server.setClock(start + 24 * HOUR_MS - 1)
    expect((await send('day', event('day', A))).body).toEqual(first.body)
    server.setClock(start + 24 * HOUR_MS)
    const later = await send('day', event('day', { action: 'B' }))
    server.setClock(undefined)
    expect(later.status).toBe(200)
    expect(later.body.request_id).not.toBe(first.body.request_id)
  })

  it.each(['', 'x'.repeat(129), 'tab\there', 'ümlaut'])('with the key %j are refused', async (key) => {
    expectRefusal(await send(key, event('key', A)), 400, 'invalid_request', ['header.Idempotency-Key'])
  })

  it('may have a key of 128 characters', async () => {
    expect((await send('x'.repeat(128), event('key', A))).status).toBe(200)
  })

  it('with an existing event_id are dropped silently, in any request and for any user', async () => {
    const first = await tracking.events(event('ids', { ...A, event_id: 'e1' }, { ...A, event_id: 'e2' }))
    expect(await tracking.fateOf(first)).toMatchObject({ events: 2, duplicates: 0 })
    const again = await tracking.events(event('ids', { ...A, event_id: 'e1' }, { ...A, event_id: 'e3' }, A))
    expect(await tracking.fateOf(again)).toMatchObject({ status: 'processed', events: 3, duplicates: 1 })
    const others = await tracking.events(event('ids-2', { ...A, event_id: 'e3' }))
    expect(await tracking.fateOf(others)).toMatchObject({ status: 'processed', events: 1, duplicates: 1 })
    expect([await countEvents('ids'), await countEvents('ids-2')]).toEqual([4, 0])
  })

  it('with an event_id of another workspace are stored', async () => {
    const other = trackingOf(server, await server.makeWorkspace())
    await tracking.apply(event('c1', { ...A, event_id: 'w' }))
    expect(await other.fateOf(await other.events(event('c1', { ...A, event_id: 'w' })))).toMatchObject({
      duplicates: 0,
    })
  })
})

describeEachStore('The limit of Track Events (track_events)', (kind) => {
  let server: TestServer
  /** The start of a minute. */
  const start = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS

  beforeAll(async () => void (server = await startServer(kind)))
  afterAll(() => server.stop())

  async function limitedTo(track_events_per_minute: number): Promise<Tracking> {
    const limits = { ...LIMIT_DEFAULTS, track_events_per_minute }
    return trackingOf(server, await server.makeWorkspace({ limits }))
  }

  const events = (count: number) => event('c1', ...Array.from({ length: count }, () => A))

  it('is 30,000 events a minute', async () => {
    const answer = await trackingOf(server).events(events(3))
    expect(answer.headers.get('x-ratelimit-limit')).toBe('30000')
    expect(answer.headers.get('x-ratelimit-remaining')).toBe('29997')
  })

  it('is exact: a request takes as many units as it has actions', async () => {
    const tracking = await limitedTo(10)
    server.setClock(start + 20_000)
    const steps: [count: number, status: number, remaining: string][] = [
      [4, 200, '6'],
      [5, 200, '1'],
      [2, 429, '1'],
      [1, 200, '0'],
      [1, 429, '0'],
    ]
    for (const [count, status, remaining] of steps) {
      const answer = await tracking.events(events(count))
      expect([count, answer.status, answer.headers.get('x-ratelimit-remaining')]).toEqual([count, status, remaining])
      expect(answer.headers.get('x-ratelimit-reset')).toBe(String((start + MINUTE_MS) / 1000))
      expect(answer.headers.get('retry-after')).toBe(status === 429 ? '40' : null)
    }
    server.setClock(start + MINUTE_MS - 1)
    expectRefusal(await tracking.events(events(1)), 429, 'rate_limited')
    server.setClock(start + MINUTE_MS)
    expect((await tracking.events(events(10))).status).toBe(200)
    server.setClock(undefined)
  })

  it('stores nothing of a request refused with 429', async () => {
    const tracking = await limitedTo(2)
    server.setClock(start)
    await tracking.fateOf(await tracking.events(events(2)))
    expectRefusal(await tracking.events(events(1)), 429, 'rate_limited')
    server.setClock(start + MINUTE_MS)
    await tracking.fateOf(await tracking.events(event('c1', { action: 'B' })))
    server.setClock(undefined)
    const { data } = (await tracking.listEvents({ customer_id: 'c1' })).body
    expect(data.map(({ action }) => action)).toEqual(['B', 'A', 'A'])
  })

  it('refuses a request with more events than a whole minute allows, with the reason, and takes nothing', async () => {
    const tracking = await limitedTo(3)
    server.setClock(start)
    const answer = await tracking.events(events(4))
    expectRefusal(answer, 400, 'invalid_request', ['actions'])
    expect(JSON.stringify(answer.body)).toContain('limits.track_events_per_minute')
    expect(answer.headers.get('x-ratelimit-remaining')).toBe('3')
    expect((await tracking.events(events(3))).status).toBe(200)
    server.setClock(undefined)
  })

  it('counts refused requests by their actions, broken bodies as one, and repeats', async () => {
    const tracking = await limitedTo(20)
    server.setClock(start)
    const remaining = async (body: unknown, headers?: Record<string, string>) => {
      return (await tracking.events(body, headers)).headers.get('x-ratelimit-remaining')
    }
    expect(await remaining(event('c1', A, { action: 'svc_x' }, A))).toBe('17')
    expect(await remaining('{"type":')).toBe('16')
    expect(await remaining({ type: 'event', actions: 'none' })).toBe('15')
    expect(await remaining(event('c1', A), { 'content-type': 'text/plain' })).toBe('14')
    expect(await remaining(events(2), { 'idempotency-key': 'k' })).toBe('12')
    expect(await remaining(events(2), { 'idempotency-key': 'k' })).toBe('10')
    server.setClock(undefined)
  })
})

describe('A retry that reaches a newer version', () => {
  it('is recognised by the hash that the older version stored, whose format must not change', async () => {
    const server = await startServer('sqlite')
    await trackingOf(server).events(event('kept', A), { 'idempotency-key': 'kept' })
    const log = new SqliteFile(join(server.dataDir, LOG_FILE), { readonly: true })
    const hash = log.prepare('select hash from idempotency_keys').pluck().get()
    log.close()
    await server.stop()
    expect(hash).toBe('18uvgKStlxTBJ32WDtf0eE9mDbS38KVk0nkPBjtBCHA=')
  })
})
