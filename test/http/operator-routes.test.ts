// The pages for operators: name, liveness, readiness and metrics of a running server.
import SqliteFile from 'better-sqlite3'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { lockCouponLists } from '../../src/store/coupons/coupon-lists.ts'
import { findCursor, moveCursor, PIPELINE_CURSOR } from '../../src/store/entries/cursors.ts'
import { LOG_FILE } from '../../src/log/open-log.ts'
import { STATE_FILE } from '../../src/store/open-database.ts'
import { readVersion } from '../../src/app/version.ts'
import { CAMPAIGNS_PATH, campaignCallsOf } from '../support/calls/campaign-calls.ts'
import { LISTS_PATH } from '../support/calls/coupon-calls.ts'
import { startProxy, type CuttableProxy } from '../support/cuttable-proxy.ts'
import { RawConnection } from '../support/raw-http.ts'
import { MESSAGE_EVENTS, reportOf } from '../support/calls/report-calls.ts'
import { describeEachStore, describeOnPostgres } from '../support/stores.ts'
import { expectRefusal, startServer, until, type TestServer } from '../support/server.ts'

/** The default scrape timeout of Prometheus. */
const PROMETHEUS_WAIT_MS = 10_000
const event = { type: 'event', customer_id: 'c1', actions: [{ action: 'Opened' }, { action: 'Closed' }] }

/** The value of a metric, named with its labels as in the text; undefined if it is missing. */
async function readMetric(server: TestServer, name: string): Promise<number | undefined> {
  const { body } = await server.call<string>('GET', '/metrics', { as: null })
  const line = body.split('\n').find((text) => text.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}

function basicOf({ workspace: { id, dataKey } }: TestServer): string {
  return `Basic ${btoa(`${id}:${dataKey}`)}`
}

const ready = (server: TestServer) => server.call('GET', '/readyz', { as: null })

describeEachStore('The pages for operators', (kind) => {
  let server: TestServer
  beforeAll(async () => void (server = await startServer(kind)))
  afterAll(() => server.stop())

  const get = <Body>(path: string) => server.call<Body>('GET', path, { as: null })

  it('show name, version and links to the other pages, without authentication', async () => {
    const { status, body } = await get<{ name: string; version: string; links: Record<string, string> }>('/')
    expect([status, body.name, body.version]).toEqual([200, 'tidings', readVersion()])
    for (const link of Object.values(body.links)) expect([link, (await get(link)).status]).toEqual([link, 200])
  })

  it('show that the process is alive, and its version', async () => {
    expect(await get('/healthz')).toMatchObject({ status: 200, body: { status: 'ok', version: readVersion() } })
  })

  it('show that store and log can be written', async () => {
    expect(await ready(server)).toMatchObject({ status: 200, body: { status: 'ok' } })
  })

  it.each(['/', '/healthz', '/readyz', '/metrics', '/openapi.json', '/docs'])(
    'answer HEAD %s like GET, without the body',
    async (path) => {
      const answer = await fetch(server.url + path, { method: 'HEAD' })
      const type = (await get(path)).headers.get('content-type')
      expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([200, type, ''])
    },
  )

  it.each(['/healthz', '/readyz', '/metrics', '/openapi.json'])('include %s only in this spelling', async (path) => {
    const encoded = `/%${path.charCodeAt(1).toString(16)}${path.slice(2)}`
    for (const other of [`/${path}`, `${path}/`, encoded, `/${encoded}//?x=1`]) {
      expectRefusal(await get(other), 404, 'not_found')
      expect([other, (await fetch(server.url + other, { method: 'HEAD' })).status]).toEqual([other, 404])
      expect([other, (await server.call('POST', other)).status]).toEqual([other, 404])
    }
    expect((await server.call('POST', path)).status).toBe(405)
    expect((await get(`${path}?x=/`)).status).toBe(200)
    const connection = await RawConnection.open(server.url)
    await connection.write(`GET ${server.url}${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
    expect((await connection.nextAnswer()).status).toBe(200)
    connection.close()
  })

  it('do not include *', async () => {
    const connection = await RawConnection.open(server.url)
    for (const target of ['*', '*healthz', '*/healthz']) {
      await connection.write(`GET ${target} HTTP/1.1\r\nhost: x\r\n\r\n`)
      expect([target, (await connection.nextAnswer()).status]).toEqual([target, 404])
    }
    connection.close()
  })

  it('need no authentication, and count in no limit', async () => {
    const answer = await server.call('GET', '/healthz', { headers: { authorization: 'Basic broken' } })
    expect([answer.status, answer.headers.has('x-ratelimit-limit')]).toEqual([200, false])
  })
})

describeEachStore('The metrics', (kind) => {
  let server: TestServer
  beforeAll(async () => void (server = await startServer(kind)))
  afterAll(() => server.stop())

  const track = (body: unknown = event) => server.call('POST', '/v1/event/main', { body })
  const metric = (name: string) => readMetric(server, name)

  /** Keeps the pipeline from applying anything while `work` runs. */
  async function withoutPipeline(work: () => Promise<void>): Promise<void> {
    await server.database.write(async (store) => {
      const cursor = await findCursor(store, PIPELINE_CURSOR)
      await moveCursor(store, PIPELINE_CURSOR, cursor, cursor)
      await work()
    })
  }

  it('are in the text format of Prometheus', async () => {
    const answer = await server.call<string>('GET', '/metrics', { as: null })
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
    expect(answer.body).toMatch(/^# HELP tidings_http_requests_total/m)
    expect(answer.body).toMatch(/^process_resident_memory_bytes \d+$/m)
  })

  it('count requests by operation and status, and measure their duration', async () => {
    const name = (status: number) => `tidings_http_requests_total{operation="track_events",status="${status}"}`
    const before = await Promise.all([metric(name(200)), metric(name(400)), metric(name(401))])
    await track()
    await track()
    await track({})
    await server.call('POST', '/v1/event/main', { as: null, body: event })
    const expected = [2, 1, 1].map((more, index) => (before[index] ?? 0) + more)
    await until('all are counted', async () => {
      const counts = [await metric(name(200)), await metric(name(400)), await metric(name(401))]
      return counts.every((count, index) => count === expected[index])
    })
    const took = await metric('tidings_http_request_duration_seconds_count{operation="track_events"}')
    expect(took).toBe(expected.reduce((sum, count) => sum + count))
  })

  it('count a request to no operation as none', async () => {
    const name = 'tidings_http_requests_total{operation="none",status="404"}'
    const before = (await metric(name)) ?? 0
    await server.call('GET', '/nowhere')
    expect(await metric(name)).toBe(before + 1)
  })

  const unhooked: [what: string, sent: string, status: number][] = [
    ['an undecodable path', 'GET /v1/event/%zz HTTP/1.1\r\nhost: x\r\n\r\n', 404],
    ['a part of a path that is too long', `GET /v1/event/${'x'.repeat(2_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, 404],
    ['input that is not HTTP', 'hello\r\n\r\n', 400],
    ['a head that is too large', `GET / HTTP/1.1\r\nhost: x\r\nlarge: ${'x'.repeat(40_000)}\r\n\r\n`, 400],
  ]
  it.each(unhooked)('count the answer to %s', async (_what, sent, status) => {
    const count = () => metric(`tidings_http_requests_total{operation="none",status="${status}"}`)
    const before = (await count()) ?? 0
    const connection = await RawConnection.open(server.url)
    await connection.write(sent)
    expect((await connection.nextAnswer()).status).toBe(status)
    connection.close()
    await until('it is counted', async () => (await count()) === before + 1)
  })

  it('count a request as 499, once, if its client disconnects before the whole answer', async () => {
    const count = (operation: string, status: number) =>
      metric(`tidings_http_requests_total{operation="${operation}",status="${status}"}`)
    const left = () => Promise.all(['track_events', 'create_coupon_list', 'none'].map((name) => count(name, 499)))
    const { id, dataKey, reportsKey } = server.workspace
    const headOf = (path: string, key: string, length: number) =>
      `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Basic ${btoa(`${id}:${key}`)}\r\nsvc-appkey: ${id}\r\n` +
      `content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
    const list = JSON.stringify({ name: 'Left', label: 'left', expires_at: '2199-12-31', created_by: 'anna' })
    const begun = [
      headOf('/v1/event/main', dataKey, 100),
      headOf(LISTS_PATH, reportsKey, list.length) + list,
      'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(6),
    ]
    await server.database.write(async (store) => {
      await lockCouponLists(store)
      for (const sent of begun) {
        const connection = await RawConnection.open(server.url)
        connection.readFirstOnly()
        await connection.write(sent)
        // When this is answered, the server has read what came before.
        await server.call('GET', '/healthz')
        connection.reset()
      }
      await until('all are counted', async () => (await left()).every((times) => times === 1))
    })
    // Waits in the queue after the other one.
    const next = await server.call('POST', LISTS_PATH, { tile: 'reports', body: list.replaceAll(/left/gi, 'next') })
    expect(next.status).toBe(201)
    expect([await left(), await count('create_coupon_list', 201)]).toEqual([[1, 1, 1], 1])
  })

  it('count a request with a broken body once', async () => {
    const count = (operation: string, status: number) =>
      metric(`tidings_http_requests_total{operation="${operation}",status="${status}"}`)
    const [left, refused] = [(await count('track_events', 499)) ?? 0, await count('none', 400)]
    const connection = await RawConnection.open(server.url)
    await connection.write(
      `POST /v1/event/main HTTP/1.1\r\nhost: x\r\nauthorization: ${basicOf(server)}\r\n` +
        'content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nno length\r\n',
    )
    expect((await connection.nextAnswer()).status).toBe(400)
    connection.close()
    await until('it is counted', async () => (await count('track_events', 499)) === left + 1)
    expect(await count('none', 400)).toBe(refused)
  })

  it('count accepted and processed events without repeats, and the commits of the log', async () => {
    const names = ['tidings_events_accepted_total', 'tidings_events_processed_total', 'tidings_log_commit_entries_sum']
    const read = () => Promise.all(names.map((name) => metric(name)))
    const counts = await until('nothing waits', async () => {
      const [accepted = 0, processed = 0, entries = 0] = await read()
      return accepted === processed && { accepted, processed, entries }
    })
    const headers = { 'idempotency-key': 'k1' }
    await server.call('POST', '/v1/event/main', { body: event, headers })
    await server.call('POST', '/v1/event/main', { body: event, headers })
    await track({ ...event, actions: [] })
    await until('the events are processed', async () => {
      const [accepted, processed] = await read()
      return accepted === counts.accepted + 2 && processed === counts.processed + 2
    })
    expect(await metric('tidings_log_commit_seconds_count')).toBeGreaterThan(0)
    expect(await metric('tidings_pipeline_batch_seconds_count')).toBeGreaterThan(0)
  })

  it('count the items of campaign reports as events', async () => {
    const read = async () => {
      const names = ['tidings_events_accepted_total', 'tidings_events_processed_total']
      const [accepted = 0, processed = 0] = await Promise.all(names.map((name) => metric(name)))
      return { accepted, processed }
    }
    const before = await read()
    const campaign = await campaignCallsOf(server).make()
    const body = reportOf(MESSAGE_EVENTS, { kind: 'sent' }, { kind: 'delivered' }, { kind: 'click' })
    const path = `${CAMPAIGNS_PATH}/${campaign}/message-events`
    expect((await server.call('POST', path, { tile: 'reports', body })).status).toBe(200)
    await until('the report is processed', async () => {
      const { accepted, processed } = await read()
      return accepted === before.accepted + 3 && processed === before.processed + 3
    })
  })

  it('show how far the pipeline is behind the log', async () => {
    const lag = async () => [await metric('tidings_log_lag_entries'), await metric('tidings_log_lag_seconds')]
    await until('nothing waits', async () => (await metric('tidings_log_lag_entries')) === 0)
    await withoutPipeline(async () => {
      await track()
      await track()
      const [entries, seconds] = await until('time has passed', async () => {
        const [waiting = 0, age = 0] = await lag()
        return age > 0 && [waiting, age]
      })
      expect(entries).toBe(2)
      expect(seconds).toBeLessThan(20)
    })
    await until('nothing waits', async () => (await lag()).every((value) => value === 0))
  })

  it('count entries that were parked, and those that wait for an operator', async () => {
    const workspace = await server.makeWorkspace()
    const send = () => server.call('POST', `/v1/event/${workspace.id}`, { as: workspace, body: event })
    // The server caches the workspace; the pipeline reads the store, and cannot apply an entry without a workspace.
    expect((await send()).status).toBe(200)
    await until('it is applied', async () => (await metric('tidings_log_lag_entries')) === 0)
    await server.database.write(async ({ query }) => {
      await query.deleteFrom('workspaces').where('id', '=', workspace.id).execute()
    })
    expect((await send()).status).toBe(200)
    await until('the entry is parked', async () => (await metric('tidings_entries_parked')) === 1)
    // That metric comes from the store; this one follows when the pipeline reports its commit.
    await until('it is counted', async () => (await metric('tidings_entries_parked_total')) === 1)
  })
})

describeEachStore('The metrics of a server with a short timeout for heads', (kind) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(kind, {}, { httpLimits: { headWaitMs: 500, sweepEveryMs: 10 } })
  })
  afterAll(() => server.stop())

  it('count incomplete heads, but not connections on which nothing arrived', async () => {
    for (const sent of ['', 'GET / HTTP/1.1\r\nhost']) {
      const connection = await RawConnection.open(server.url)
      await connection.write(sent)
      expect((await connection.nextAnswer()).status).toBe(408)
      connection.close()
    }
    expect(await readMetric(server, 'tidings_http_requests_total{operation="none",status="408"}')).toBe(1)
  })
})

describeEachStore('/readyz', (kind) => {
  let server: TestServer
  beforeAll(async () => void (server = await startServer(kind)))
  afterAll(() => server.stop())

  async function expectNotReady(reason: RegExp): Promise<void> {
    const answer = await ready(server)
    expectRefusal(answer, 503, 'unavailable')
    expect(answer.body).toMatchObject({ error: { message: expect.stringMatching(reason) as string } })
  }
  const untilReady = () => until('it is ready again', async () => (await ready(server)).status === 200)

  if (kind === 'sqlite') declareLocked()
  else declareGone()

  function declareLocked(): void {
    const locks: SqliteFile.Database[] = []
    afterEach(() => {
      for (const lock of locks.splice(0)) lock.close()
    })

    function lock(file: string): void {
      const connection = new SqliteFile(join(server.dataDir, file))
      locks.push(connection)
      connection.exec('begin immediate')
    }

    const files: [what: string, file: string][] = [
      ['store', STATE_FILE],
      ['log', LOG_FILE],
    ]
    it.each(files)(
      'is 503 with the reason while another process locks the %s, and 200 afterwards',
      async (what, file) => {
        lock(file)
        await expectNotReady(new RegExp(`^Not ready: the ${what} does not answer\\.$`))
        locks.pop()?.close()
        expect(await untilReady()).toBe(true)
      },
    )

    it('does not accumulate attempts while the store does not answer', async () => {
      lock(STATE_FILE)
      const answers = await Promise.all(Array.from({ length: 50 }, () => ready(server)))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
      locks.pop()?.close()
      expect(await untilReady()).toBe(true)
    })
  }

  function declareGone(): void {
    it('is 503 with the reason while the database is missing, and 200 afterwards', async () => {
      const url = new URL(server.databaseUrl as string)
      const name = url.pathname.slice(1)
      url.pathname = '/postgres'
      const client = new Client({ connectionString: url.href })
      await client.connect()
      await client.query(`alter database ${name} with allow_connections false`)
      await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
      await client.query(`alter database ${name} rename to ${name}_gone`)
      try {
        await expectNotReady(/^Not ready: the store cannot be written; the log cannot be written\.$/)
        expectRefusal(await server.call('GET', '/v1/customer/main?customer_id=c1'), 503, 'unavailable')
        expect(await readMetric(server, 'tidings_log_lag_entries')).toBeNaN()
        expect(await readMetric(server, 'tidings_entries_parked')).toBeNaN()
      } finally {
        await client.query(`alter database ${name}_gone rename to ${name}`)
        await client.query(`alter database ${name} with allow_connections true`)
      }
      await client.end()
      expect(await untilReady()).toBe(true)
    })
  }
})

describeOnPostgres('/metrics, while the database accepts queries and never answers,', () => {
  let proxy: CuttableProxy
  let first: TestServer
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

  it('shows the counts of the process before Prometheus times out', async () => {
    // Opens a connection to the database before the proxy holds it.
    expect(await readMetric(server, 'tidings_entries_parked')).toBe(0)
    proxy.hold()
    try {
      const scraped = await fetch(`${server.url}/metrics`, { signal: AbortSignal.timeout(PROMETHEUS_WAIT_MS) })
      const text = await scraped.text()
      expect(text).toMatch(/^tidings_log_lag_seconds nan$/im)
      expect(text).toMatch(/^tidings_entries_parked nan$/im)
      expect(text).toMatch(/^tidings_events_accepted_total 0$/m)
    } finally {
      proxy.cut()
      proxy.restore()
    }
    await until('the metric is back', async () => (await readMetric(server, 'tidings_entries_parked')) === 0)
  })
})
