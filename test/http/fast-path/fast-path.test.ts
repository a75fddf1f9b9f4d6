// Simple requests on the fast path get the same answers as from Node's HTTP server, and all other input goes to Node with every
// byte before it.
import { channel } from 'node:diagnostics_channel'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import SqliteFile from 'better-sqlite3'
import { sql } from 'kysely'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { LOG_FILE } from '../../../src/log/open-log.ts'
import { RawConnection, type RawAnswer } from '../../support/raw-http.ts'
import { startServer, until, type StartOptions, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { EVENTS, eventOf, requestOf, type Head } from './simple-requests.ts'
import { describeEachStore, describeOnPostgres, openTestDatabase } from '../../support/stores.ts'
import { countAccepted } from '../../support/calls/tracking.ts'

describeEachStore('A simple request', (kind) => {
  let server: TestServer
  let other: TestWorkspace
  let opened: RawConnection[]
  /** Requests that reached Node's own server in this process. */
  let byNode = 0
  const count = () => void byNode++
  const channelOfNode = channel('http.server.request.start')

  beforeAll(async () => {
    channelOfNode.subscribe(count)
    opened = []
    server = await startServer(kind, {}, { httpLimits: { sweepEveryMs: 1_000, headWaitMs: 2_000 } })
    other = await server.makeWorkspace({ limits: { track_events_per_minute: 3 } as never })
  })
  afterAll(async () => {
    for (const connection of opened) connection.close()
    await server.stop()
    channelOfNode.unsubscribe(count)
  })

  async function open(keepsSending = false): Promise<RawConnection> {
    const connection = await RawConnection.open(server.url, keepsSending)
    opened.push(connection)
    return connection
  }

  const keyOf = ({ id, dataKey }: TestWorkspace) => `Basic ${btoa(`${id}:${dataKey}`)}`
  const track = (head: Head = {}) =>
    requestOf({ ...head, headers: { authorization: keyOf(server.workspace), ...head.headers } })
  const customer = (name: string) => ({ body: JSON.stringify(eventOf(name)) })

  /** The part that is equal in two answers to the same request. */
  function comparable({ status, headers, body }: RawAnswer) {
    const id = headers.get('x-request-id') ?? ''
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
    expect(body).toContain(id)
    const changing = new Set(['date', 'x-request-id', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after'])
    const rest = [...headers].map(([name, value]) => (changing.has(name) ? name : `${name}: ${value}`))
    return { status, headers: rest.toSorted(), body: body.replaceAll(id, 'id') }
  }

  const cases: [what: string, head: () => Head, status: number][] = [
    ['is accepted', () => ({}), 200],
    [
      'with faults is refused with all of them',
      () => ({ body: '{"type":"x","actions":[{"action":""},{"action":"svc_a"}]}' }),
      400,
    ],
    ['with broken JSON is refused with the position', () => ({ body: '{"type":' }), 400],
    ['without a body is refused with that reason', () => ({ body: '' }), 400],
    ['without a key is refused', () => ({ headers: { authorization: undefined } }), 401],
    ['with a wrong key is refused', () => ({ headers: { authorization: 'Basic bWFpbjp4' } }), 401],
    ['with the key of another workspace is refused', () => ({ headers: { authorization: keyOf(other) } }), 403],
    [
      'past its limit is refused',
      () => ({
        line: `POST /v1/event/${other.id} HTTP/1.1`,
        headers: { authorization: keyOf(other) },
        body: JSON.stringify({
          type: 'event',
          customer_id: 'c',
          actions: Array.from({ length: 4 }, () => ({ action: 'Visit' })),
        }),
      }),
      400,
    ],
    [
      'of Track User is accepted',
      () => ({ line: 'POST /v1/customer/main HTTP/1.1', body: '{"type":"customer","customer_id":"c"}' }),
      200,
    ],
  ]
  it.each(cases)('%s, as it is by Node', async (_what, head, status) => {
    const [fast, usual] = [await open(), await open()]
    byNode = 0
    await fast.write(track(head()))
    const answer = await fast.nextAnswer()
    expect([answer.status, byNode]).toEqual([status, 0])
    const { headers = {}, ...rest } = head()
    await usual.write(track({ ...rest, headers: { ...headers, 'proxy-connection': 'keep-alive' } }))
    expect(comparable(answer)).toEqual(comparable(await usual.nextAnswer()))
    expect(byNode).toBe(1)
  })

  it('repeated with its Idempotency-Key gets the first id, and a 409 with another body', async () => {
    const headers = { 'idempotency-key': 'simple-1' }
    const connection = await open()
    byNode = 0
    const answers: RawAnswer[] = []
    for (const name of ['k', 'k', 'other']) {
      await connection.write(track({ headers, ...customer(name) }))
      answers.push(await connection.nextAnswer())
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 409])
    const [first, repeat] = answers.map((answer) => answer.headers.get('x-request-id'))
    expect(repeat).toBe(first)
    expect(byNode).toBe(0)
  })

  it('may arrive after others on its connection, and in pieces', async () => {
    const connection = await open()
    const accepted = await countAccepted(server)
    byNode = 0
    const request = track(customer('pieces'))
    const bodyStart = request.indexOf('\r\n\r\n') + 4
    for (const pieces of [[request], [request.slice(0, bodyStart + 5), request.slice(bodyStart + 5)], [request]]) {
      for (const piece of pieces) {
        await connection.write(piece)
        // The server reads each piece separately.
        await fetch(`${server.url}/healthz`)
      }
      expect((await connection.nextAnswer()).status).toBe(200)
    }
    // The requests in between reached Node.
    expect(byNode).toBe(4)
    expect(await countAccepted(server)).toBe(accepted + 3)
  })

  const largeBody = JSON.stringify({ ...eventOf('large'), device_id: 'd'.repeat(200) })
  const inPieces = (request: string) => [request.slice(0, -200), ...request.slice(-200).split('')]
  const others: [what: string, sent: () => string[], statuses: number[], toNode: number][] = [
    [
      'a request that is not simple',
      () => [track(), 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n', track()],
      [200, 200, 200],
      2,
    ],
    ['two requests at once', () => [track(customer('a')) + track(customer('b')), track()], [200, 200, 200], 3],
    ['a head in two pieces', () => [track(), track().slice(0, 40), track().slice(40)], [200, 200], 1],
    ['input that is not HTTP', () => [track(), 'nonsense\r\n\r\n'], [200, 400], 0],
    ['a body in very many pieces', () => [...inPieces(track({ body: largeBody })), track()], [200, 200], 2],
  ]
  it.each(others)('and %s after it are all answered, in order', async (_what, sent, statuses, toNode) => {
    const connection = await open()
    const pieces = sent()
    byNode = 0
    for (const piece of pieces) {
      await connection.write(piece)
      // The server reads each piece separately.
      await fetch(`${server.url}/healthz`)
    }
    const answers: number[] = []
    while (answers.length < statuses.length) answers.push((await connection.nextAnswer()).status)
    expect(answers).toEqual(statuses)
    expect(byNode - pieces.length).toBe(toNode)
  })

  it('is answered before requests that arrive while it is executed', async () => {
    const connection = await open()
    const requests = Array.from({ length: 30 }, (_, index) => track(customer(`early-${index}`)))
    const accepted = await countAccepted(server)
    for (const request of requests) await connection.write(request)
    for (let count = 0; count < requests.length; count++) expect((await connection.nextAnswer()).status).toBe(200)
    expect(await countAccepted(server)).toBe(accepted + requests.length)
  })

  it('of a client that finishes sending is answered, and its connection ends', async () => {
    const connection = await open(true)
    await connection.write(track())
    connection.finishSending()
    expect((await connection.nextAnswer()).status).toBe(200)
    await until('the connection is ended', () => connection.isEnded)
  })

  it('whose body ends too early is refused, as it is by Node', async () => {
    const answers: object[] = []
    for (const headers of [{}, { 'proxy-connection': 'keep-alive' }]) {
      const connection = await open(true)
      await connection.write(track({ headers }).slice(0, -5))
      connection.finishSending()
      const answer = await connection.nextAnswer()
      expect(answer.status).toBe(400)
      answers.push(comparable(answer))
      await until('the connection is ended', () => connection.isEnded)
    }
    expect(answers[0]).toEqual(answers[1])
  })

  it('with a missing key is refused before its body arrives', async () => {
    const connection = await open()
    await connection.write(track({ headers: { authorization: undefined } }).slice(0, -5))
    expect((await connection.nextAnswer()).status).toBe(401)
  })

  it('keeps its connection open for longer than the first request may take to arrive', async () => {
    const [used, unused] = [await open(), await open(true)]
    await used.write(track())
    expect((await used.nextAnswer()).status).toBe(200)
    // The other connection sends nothing until it times out.
    expect((await unused.nextAnswer()).status).toBe(408)
    await until('the other is ended', () => unused.isEnded)
    // Other connections are not affected.
    unused.reset()
    expect(used.isEnded).toBe(false)
    await used.write(track())
    expect((await used.nextAnswer()).status).toBe(200)
  })
})

describe('On the fast path', () => {
  let server: TestServer
  let connection: RawConnection
  const stop = () => server.stop()

  const start = async (environment: Record<string, string> = {}, options: StartOptions = {}) => {
    server = await startServer('sqlite', environment, options)
    connection = await RawConnection.open(server.url)
  }
  const send = async (key = server.workspace.dataKey, headers: Head['headers'] = {}) => {
    await connection.write(requestOf({ headers: { authorization: `Basic ${btoa(`main:${key}`)}`, ...headers } }))
    return connection.nextAnswer()
  }

  it('failures count for the address that a trusted proxy reports', async () => {
    await start({ TRUSTED_PROXIES: '127.0.0.1' })
    // All of them must be in the same minute.
    server.setClock(Date.UTC(2030, 0, 1, 12))
    const from = (address: string) => ({ 'x-forwarded-for': address })
    const statuses = new Set<number>()
    for (let count = 0; count < 100; count++) statuses.add((await send('wrong', from('198.51.100.1'))).status)
    expect([...statuses]).toEqual([401])
    expect((await send('wrong', from('198.51.100.1'))).status).toBe(429)
    expect((await send('wrong', from('198.51.100.2'))).status).toBe(401)
    expect((await send(undefined, from('198.51.100.1'))).status).toBe(200)
    await stop()
  })

  it('an answer that is the fault of the server appears in the diagnostics', async () => {
    const lines: string[] = []
    await start({}, { diagnostics: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }) })
    renameSync(join(server.dataDir, LOG_FILE), join(server.dataDir, 'elsewhere'))
    const refused = await until('requests are refused', async () => {
      const answer = await send()
      return answer.status === 503 && answer
    })
    expect(refused.headers.get('retry-after')).toBe('1')
    const reported = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(reported).toContainEqual(
      expect.objectContaining({ request_id: refused.headers.get('x-request-id'), operation: 'track_events' }),
    )
    await stop()
  })

  /** Resolves when the server has read everything sent before. */
  const roundTrip = () => fetch(`${server.url}/healthz`)

  /** Keeps requests from being answered until the returned function is called. */
  function holdLog(): () => void {
    const file = new SqliteFile(join(server.dataDir, LOG_FILE))
    file.exec('begin immediate')
    return () => {
      file.exec('commit')
      file.close()
    }
  }

  it('a process that stops waits for a request in execution, but not for an incomplete one', async () => {
    // So that no timeout closes the connection first.
    await start({}, { httpLimits: { stopStalledMs: 0, sweepEveryMs: 60_000 } })
    // Caches the key, without which the server does not wait for a body.
    expect((await send()).status).toBe(200)
    const stalled = await RawConnection.open(server.url)
    const authorization = `Basic ${btoa(`main:${server.workspace.dataKey}`)}`
    await stalled.write(requestOf({ headers: { authorization } }).slice(0, -5))
    await roundTrip()
    const releaseLog = holdLog()
    const answered = send()
    await roundTrip()
    const stopped = stop()
    await until('the other is closed', () => stalled.isEnded)
    releaseLog()
    expect((await answered).status).toBe(200)
    await stopped
  })

  it('a request that arrives while another is executed is answered after it', async () => {
    await start()
    const releaseLog = holdLog()
    const first = send()
    await roundTrip()
    const early = requestOf({ headers: { authorization: 'Basic bWFpbjp4' } })
    for (const piece of [early.slice(0, 30), early.slice(30)]) {
      await connection.write(piece)
      await roundTrip()
    }
    expect(connection.hasAnswer).toBe(false)
    releaseLog()
    expect((await first).status).toBe(200)
    expect((await connection.nextAnswer()).status).toBe(401)
    await stop()
  })

  it('connections end when the process stops: busy ones with an answer that says so, idle ones at once', async () => {
    await start()
    const [busy, idle] = [connection, await RawConnection.open(server.url)]
    connection = idle
    expect((await send()).headers.get('connection')).toBe('keep-alive')
    connection = busy
    expect((await send()).headers.get('connection')).toBe('keep-alive')
    const unused = await RawConnection.open(server.url)
    const stopped = stop()
    await until('it is stopping', async () => (await fetch(`${server.url}/readyz`)).status === 503)
    expect((await send()).headers.get('connection')).toBe('close')
    await until('the idle one is closed', () => idle.isEnded)
    // A first request may still be in transit.
    connection = unused
    expect((await send()).headers.get('connection')).toBe('close')
    await stopped
  })

  it('a connection closes when it has been idle for longer than Keep-Alive announces', async () => {
    await start({}, { httpLimits: { sweepEveryMs: 10 } })
    const { headers } = await send()
    expect(headers.get('keep-alive')).toBe('timeout=72')
    const now = performance.now.bind(performance)
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 72_000)
    expect((await send()).status).toBe(200)
    clock.mockImplementation(() => now() + 2 * 74_000)
    await until('it is closed', () => connection.isEnded)
    clock.mockRestore()
    await stop()
  })

  /** The number of Track Events answers with this status in the metrics. */
  async function countAnswers(status: number): Promise<number> {
    const text = await (await fetch(`${server.url}/metrics`)).text()
    const line = new RegExp(`^tidings_http_requests_total{operation="track_events",status="${status}"} (\\d+)$`, 'm')
    return Number(line.exec(text)?.[1] ?? 0)
  }

  /** Sends requests, each after the answer to the previous one, until an answer waits for a client that does not read. */
  async function fillConnection(): Promise<number> {
    connection.readFirstOnly()
    const attributes = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`${at}-${'x'.repeat(400)}`, 1]))
    const body = JSON.stringify({ type: 'event', customer_id: 'c', actions: [{ action: 'A', attributes }] })
    const request = requestOf({ headers: { authorization: `Basic ${btoa(`main:${server.workspace.dataKey}`)}` }, body })
    for (let sent = 1; ; sent++) {
      await connection.write(request)
      const isSent = await until('it is sent', async () => (await countAnswers(400)) === sent, 1_000).catch(() => false)
      if (!isSent) return sent
    }
  }

  it('an answer counts as sent only when the client has room for all of it', async () => {
    await start()
    const sent = await fillConnection()
    expect(await countAnswers(400)).toBe(sent - 1)
    connection.read()
    for (let count = 0; count < sent; count++) expect((await connection.nextAnswer()).status).toBe(400)
    await until('the last one is counted', async () => (await countAnswers(400)) === sent)
    expect((await send()).status).toBe(200)
    await stop()
  })

  it('an answer does not count as sent if the connection ends first', async () => {
    await start()
    const sent = await fillConnection()
    connection.reset()
    await until('it is counted as unanswered', async () => (await countAnswers(499)) === 1)
    expect(await countAnswers(400)).toBe(sent - 1)
    await stop()
  })
})

describeOnPostgres('A request whose client leaves before its operation begins', () => {
  it.each([
    ['on the fast path', {}],
    ['in the server of Node', { 'proxy-connection': 'keep-alive' }],
  ])('is not executed %s', async (_where, headers) => {
    const server = await startServer('postgres')
    const elsewhere = await openTestDatabase(server)
    const authorization = `Basic ${btoa(`main:${server.workspace.dataKey}`)}`
    const request = requestOf({ headers: { authorization, ...headers } })
    const connection = await RawConnection.open(server.url)
    await connection.write(request)
    expect((await connection.nextAnswer()).status).toBe(200)
    await elsewhere.write(async ({ query }) => {
      // The request waits until it can take its unit.
      await sql`lock table limit_windows`.execute(query)
      await connection.write(request)
      await until('it waits', async () => {
        const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event = 'relation'`
        return (await waiting.execute(query)).rows.length > 0
      })
      connection.reset()
      await until('the server knows', async () => {
        const { body } = await server.call<string>('GET', '/metrics')
        return body.includes('tidings_http_requests_total{operation="track_events",status="499"} 1')
      })
    })
    expect((await server.call('POST', EVENTS, { body: eventOf('later') })).status).toBe(200)
    expect(await countAccepted(server)).toBe(2)
    await elsewhere.close()
    await server.stop()
  })
})
