// Plain requests take a short way past Node's HTTP server: they are answered there as they would be on the long one, and whatever
// is not plain goes to Node with every byte that came before.
import { channel } from 'node:diagnostics_channel'
import { renameSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import SqliteFile from 'better-sqlite3'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { PlainHeads } from '../src/http/shortcut/plain-head.ts'
import { LOG_FILE } from '../src/log/open-log.ts'
import { RawConnection, type RawAnswer } from './raw-http.ts'
import { startServer, until, type StartOptions, type TestServer, type TestWorkspace } from './server.ts'
import { describeEachStore } from './stores.ts'
import { countAccepted } from './tracking.ts'

const EVENTS = '/v1/event/main'
const eventOf = (customer: string) => ({ type: 'event', customer_id: customer, actions: [{ action: 'Visit' }] })

/** Lines of a head, and what of them is changed. */
interface Head {
  readonly line?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: string
}

function requestOf({ line = `POST ${EVENTS} HTTP/1.1`, headers = {}, body = JSON.stringify(eventOf('c')) }: Head) {
  const all = {
    host: 'tidings.test',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]))
  return `${line}\r\n${lines.join('\r\n')}\r\n\r\n${body}`
}

const manyHeaders = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, '']))

const heads = new PlainHeads([
  { method: 'POST', path: '/v1/event/:Workspace_ID', bodyBytesMax: 1_000, target: 'events' },
  { method: 'POST', path: '/v1/event/:Workspace_ID/:project_code', bodyBytesMax: 1_000, target: 'events' },
])

describe('A head', () => {
  const plain: [what: string, head: Head, params: object][] = [
    ['with the fewest headers', {}, { Workspace_ID: 'main' }],
    [
      'of an address with two names',
      { line: `POST ${EVENTS}/p HTTP/1.1` },
      { Workspace_ID: 'main', project_code: 'p' },
    ],
    [
      'that names a charset',
      { headers: { 'content-type': 'Application/JSON; charset=UTF-8' } },
      { Workspace_ID: 'main' },
    ],
    ['that keeps the connection', { headers: { connection: 'Keep-Alive' } }, { Workspace_ID: 'main' }],
    ['with an empty header', { headers: { 'x-empty': '' } }, { Workspace_ID: 'main' }],
    ['without a body', { body: '' }, { Workspace_ID: 'main' }],
    ['with fifty headers', { headers: manyHeaders(47) }, { Workspace_ID: 'main' }],
  ]
  it.each(plain)('%s is plain', (_what, head, params) => {
    const request = requestOf(head)
    const start = heads.read(Buffer.from(request))
    expect(start?.head).toMatchObject({ target: 'events', method: 'POST', params })
    expect(request.slice(start?.bodyStart, start?.end)).toBe(head.body ?? JSON.stringify(eventOf('c')))
  })

  it('like the last one is not read anew, whatever length it tells', () => {
    const last = heads.read(Buffer.from(requestOf({})))?.head
    const longer = Buffer.from(requestOf({ body: ' '.repeat(1_000) }))
    expect(heads.read(longer, last)?.head).toBe(last)
    expect(heads.read(longer, last)).toEqual(heads.read(longer))
    expect(heads.read(Buffer.from(requestOf({ body: ' '.repeat(1_001) })), last)).toBeUndefined()
    const other = heads.read(Buffer.from(requestOf({ headers: { 'x-a': '1' } })), last)?.head
    expect(other?.headers).toMatchObject({ 'x-a': '1' })
  })

  const others: [what: string, request: string][] = [
    ['of another method', requestOf({ line: `PUT ${EVENTS} HTTP/1.1` })],
    ['of another path', requestOf({ line: 'POST /v1/events/main HTTP/1.1' })],
    ['of a longer path', requestOf({ line: `POST ${EVENTS}/p/q HTTP/1.1` })],
    ['with a query', requestOf({ line: `POST ${EVENTS}?project_code=p HTTP/1.1` })],
    ['with an escape in its path', requestOf({ line: 'POST /v1/event/m%61in HTTP/1.1' })],
    ['with an empty part in its path', requestOf({ line: 'POST /v1//event/main HTTP/1.1' })],
    ['that ends with a slash', requestOf({ line: `POST ${EVENTS}/ HTTP/1.1` })],
    ['with a whole address', requestOf({ line: `POST http://tidings.test${EVENTS} HTTP/1.1` })],
    ['with a very long name in its path', requestOf({ line: `POST /v1/event/${'m'.repeat(1_025)} HTTP/1.1` })],
    ['of HTTP/1.0', requestOf({ line: `POST ${EVENTS} HTTP/1.0` })],
    ['with two spaces', requestOf({ line: `POST  ${EVENTS} HTTP/1.1` })],
    ['behind an empty line', `\r\n${requestOf({})}`],
    ['without a host', requestOf({ headers: { host: undefined } })],
    ['without a media type', requestOf({ headers: { 'content-type': undefined } })],
    ['of another media type', requestOf({ headers: { 'content-type': 'application/jsonp' } })],
    ['of another charset', requestOf({ headers: { 'content-type': 'application/json; charset=latin1' } })],
    ['without a length', requestOf({ headers: { 'content-length': undefined } })],
    ['with a signed length', requestOf({ headers: { 'content-length': '+2' } })],
    ['with two lengths in one', requestOf({ headers: { 'content-length': '2, 2' } })],
    ['with a length twice', requestOf({ headers: { 'Content-Length': '2' } })],
    ['with a body that is too large', requestOf({ body: ' '.repeat(1_001) })],
    ['with a header twice', requestOf({ headers: { 'x-a': '1', 'X-A': '2' } })],
    ['with a name that every object has', requestOf({ headers: { constructor: '1' } })],
    ['in chunks', requestOf({ headers: { 'transfer-encoding': 'chunked' } })],
    ['that is compressed', requestOf({ headers: { 'content-encoding': 'gzip' } })],
    ['that asks before it sends', requestOf({ headers: { expect: '100-continue' } })],
    ['that asks for another protocol', requestOf({ headers: { upgrade: 'websocket' } })],
    ['that closes the connection', requestOf({ headers: { connection: 'close' } })],
    ['that names headers of the connection', requestOf({ headers: { connection: 'keep-alive, x-a' } })],
    ['that closes the connection of a proxy', requestOf({ headers: { 'proxy-connection': 'close' } })],
    ['with a space before a colon', requestOf({ headers: { 'x-a ': '1' } })],
    ['with a line that goes on', requestOf({ headers: { 'x-a': '1\r\n 2' } })],
    ['with a bare line feed', requestOf({ headers: { 'x-a': '1\nx-b: 2' } })],
    ['with a bare carriage return', requestOf({ headers: { 'x-a': '1\rx-b: 2' } })],
    ['with a NUL', requestOf({ headers: { 'x-a': '\0' } })],
    ['with a character beyond ASCII', requestOf({ headers: { 'x-a': 'é' } })],
    ['that is very large', requestOf({ headers: { 'x-a': 'a'.repeat(4_096) } })],
    ['with more than fifty headers', requestOf({ headers: manyHeaders(48) })],
    ['that is not whole', requestOf({}).slice(0, 60)],
  ]
  it.each(others)('%s is not', (_what, request) => {
    expect(heads.read(Buffer.from(request))).toBeUndefined()
  })
})

/** Bytes that mean something in HTTP, more often than others. */
const SIGNS = [
  '\r',
  '\n',
  '\t',
  ...' :;,/%?&=+-_."0aZ'.split(''),
  '\0',
  '\x7f',
  '\xe9',
  '\r\n',
  '\r\n\r\n',
  '\r\n ',
  '__proto__: 1\r\n',
]

it('takes of thousands of changed heads only those that Node reads alike, whatever head came before', async () => {
  const seed = Date.now()
  const random = randomFrom(seed)
  const reader = await startReader()
  const original = requestOf({ headers: { 'x-a': 'a', accept: '*/*' }, body: '{"a":1}' })
  const last = heads.read(Buffer.from(original))?.head
  let taken = 0
  try {
    for (let count = 0; count < 6_000; count++) {
      const request = mutate(original, random)
      const bytes = Buffer.from(request, 'latin1')
      const start = heads.read(bytes)
      // Told where something differs.
      const from = { seed, request }
      expect({ ...from, start: heads.read(bytes, last) }).toEqual({ ...from, start })
      if (!start || start.end !== bytes.length) continue
      taken++
      const { method, url, headers } = start.head
      const body = bytes.toString('latin1', start.bodyStart)
      const own = { ...from, method, url, headers, body, length: body.length }
      expect({ ...from, ...(await reader.read(bytes)) }).toEqual(own)
    }
  } finally {
    reader.stop()
  }
  // Otherwise nothing was compared.
  expect(taken).toBeGreaterThan(200)
})

/** One to three places of a text replaced, removed or added to. */
function mutate(text: string, random: (below: number) => number): string {
  let changed = text
  for (let times = 1 + random(3); times > 0; times--) {
    const place = random(changed.length)
    const sign = SIGNS[random(SIGNS.length)] as string
    changed = changed.slice(0, place) + (random(4) === 0 ? '' : sign) + changed.slice(place + random(2))
  }
  return changed
}

function randomFrom(seed: number): (below: number) => number {
  let state = seed % 2_147_483_647 || 1
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

/** How Node has read a request; with the length of its body apart from the other headers. */
interface ReadByNode {
  readonly method?: string
  readonly url?: string
  readonly headers?: IncomingMessage['headers']
  readonly body?: string
  readonly length?: number
  readonly refusal?: string
}

/** Node's own server, which tells how it has read a request. */
async function startReader() {
  const server = createServer((request: IncomingMessage, response) => {
    let body = ''
    request.setEncoding('latin1').on('data', (piece: string) => (body += piece))
    request.on('end', () => {
      const { 'content-length': length, ...headers } = request.headers
      const { method, url } = request
      response.setHeader('connection', 'close')
      response.end(JSON.stringify({ method, url, headers, body, length: Number(length) }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    read: (bytes: Uint8Array) =>
      new Promise<ReadByNode>((resolve, reject) => {
        const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
        let answer = ''
        socket.setEncoding('utf8').on('data', (piece: string) => (answer += piece))
        socket.on('error', reject).on('end', () => {
          const body = /^HTTP\/1\.1 200 .*?\r\n\r\n(.*)$/s.exec(answer)?.[1]
          resolve(body === undefined ? { refusal: answer } : (JSON.parse(body) as ReadByNode))
        })
      }),
    stop: () => server.close(),
  }
}

describeEachStore('A plain request', (kind) => {
  let server: TestServer
  let other: TestWorkspace
  let opened: RawConnection[]
  /** Requests that came to Node's own server in this process. */
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

  /** What is the same for two answers to the same request. */
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
    ['with faults names them all', () => ({ body: '{"type":"x","actions":[{"action":""},{"action":"svc_a"}]}' }), 400],
    ['that is no JSON says where it breaks', () => ({ body: '{"type":' }), 400],
    ['without a body says so', () => ({ body: '' }), 400],
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
  it.each(cases)('%s, as on the long way', async (_what, head, status) => {
    const [short, long] = [await open(), await open()]
    byNode = 0
    await short.write(track(head()))
    const answer = await short.nextAnswer()
    expect([answer.status, byNode]).toEqual([status, 0])
    const { headers = {}, ...rest } = head()
    await long.write(track({ ...rest, headers: { ...headers, 'proxy-connection': 'keep-alive' } }))
    expect(comparable(answer)).toEqual(comparable(await long.nextAnswer()))
    expect(byNode).toBe(1)
  })

  it('is repeated with its key: answered with the first id, and refused with another body', async () => {
    const headers = { 'idempotency-key': 'plain-1' }
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

  it('may come after others on its connection, and in pieces', async () => {
    const connection = await open()
    const accepted = await countAccepted(server)
    byNode = 0
    const request = track(customer('pieces'))
    const bodyStart = request.indexOf('\r\n\r\n') + 4
    for (const pieces of [[request], [request.slice(0, bodyStart + 5), request.slice(bodyStart + 5)], [request]]) {
      for (const piece of pieces) {
        await connection.write(piece)
        // Each is a read of its own.
        await fetch(`${server.url}/healthz`)
      }
      expect((await connection.nextAnswer()).status).toBe(200)
    }
    // What was asked in between came to Node.
    expect(byNode).toBe(4)
    expect(await countAccepted(server)).toBe(accepted + 3)
  })

  const largeBody = JSON.stringify({ ...eventOf('large'), device_id: 'd'.repeat(200) })
  const inPieces = (request: string) => [request.slice(0, -200), ...request.slice(-200).split('')]
  const others: [what: string, sent: () => string[], statuses: number[], toNode: number][] = [
    [
      'a request that is not plain',
      () => [track(), 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n', track()],
      [200, 200, 200],
      2,
    ],
    ['two requests at once', () => [track(customer('a')) + track(customer('b')), track()], [200, 200, 200], 3],
    ['a head in two pieces', () => [track(), track().slice(0, 40), track().slice(40)], [200, 200], 1],
    ['what is no HTTP', () => [track(), 'nonsense\r\n\r\n'], [200, 400], 0],
    ['a body in very many pieces', () => [...inPieces(track({ body: largeBody })), track()], [200, 200], 2],
  ]
  it.each(others)('and %s behind it are all answered, in their order', async (_what, sent, statuses, toNode) => {
    const connection = await open()
    const pieces = sent()
    byNode = 0
    for (const piece of pieces) {
      await connection.write(piece)
      // Each is a read of its own.
      await fetch(`${server.url}/healthz`)
    }
    const answers: number[] = []
    while (answers.length < statuses.length) answers.push((await connection.nextAnswer()).status)
    expect(answers).toEqual(statuses)
    expect(byNode - pieces.length).toBe(toNode)
  })

  it('is answered before what comes while it is carried out', async () => {
    const connection = await open()
    const requests = Array.from({ length: 30 }, (_, index) => track(customer(`early-${index}`)))
    const accepted = await countAccepted(server)
    for (const request of requests) await connection.write(request)
    for (let count = 0; count < requests.length; count++) expect((await connection.nextAnswer()).status).toBe(200)
    expect(await countAccepted(server)).toBe(accepted + requests.length)
  })

  it('of a client that sends nothing more is answered, and the connection ended', async () => {
    const connection = await open(true)
    await connection.write(track())
    connection.finishSending()
    expect((await connection.nextAnswer()).status).toBe(200)
    await until('the connection is ended', () => connection.isEnded)
  })

  it('whose body ends too early is refused, as on the long way', async () => {
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

  it('without its body is refused for its key before that comes', async () => {
    const connection = await open()
    await connection.write(track({ headers: { authorization: undefined } }).slice(0, -5))
    expect((await connection.nextAnswer()).status).toBe(401)
  })

  it('keeps its connection for longer than the first request may take to come', async () => {
    const [used, unused] = [await open(), await open(true)]
    await used.write(track())
    expect((await used.nextAnswer()).status).toBe(200)
    // Nothing comes on the other one for so long that it is told so.
    expect((await unused.nextAnswer()).status).toBe(408)
    await until('the other is ended', () => unused.isEnded)
    // That harms nobody else.
    unused.reset()
    expect(used.isEnded).toBe(false)
    await used.write(track())
    expect((await used.nextAnswer()).status).toBe(200)
  })
})

describe('On the short way', () => {
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

  it('failures are counted for the address that a trusted proxy tells', async () => {
    await start({ TRUSTED_PROXIES: '127.0.0.1' })
    // All of them are to fall into one minute.
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

  it('operators are told of an answer that blames the server', async () => {
    const lines: string[] = []
    await start({}, { diagnostics: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }) })
    renameSync(join(server.dataDir, LOG_FILE), join(server.dataDir, 'elsewhere'))
    const refused = await until('requests are refused', async () => {
      const answer = await send()
      return answer.status === 503 && answer
    })
    expect(refused.headers.get('retry-after')).toBe('1')
    const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(told).toContainEqual(
      expect.objectContaining({ request_id: refused.headers.get('x-request-id'), operation: 'track_events' }),
    )
    await stop()
  })

  /** Whatever was sent before has been read when this resolves. */
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

  it('a request in hand is waited for when the process stops, unlike one that does not come whole', async () => {
    // Nobody gets it for being slow meanwhile.
    await start({}, { httpLimits: { stopStalledMs: 0, sweepEveryMs: 60_000 } })
    // The key is known from here on, so that a body may be waited for.
    expect((await send()).status).toBe(200)
    const stalled = await RawConnection.open(server.url)
    const authorization = `Basic ${btoa(`main:${server.workspace.dataKey}`)}`
    await stalled.write(requestOf({ headers: { authorization } }).slice(0, -5))
    await roundTrip()
    const letGo = holdLog()
    const answered = send()
    await roundTrip()
    const stopped = stop()
    await until('the other is closed', () => stalled.isEnded)
    letGo()
    expect((await answered).status).toBe(200)
    await stopped
  })

  it('what comes while a request is carried out is answered behind it', async () => {
    await start()
    const letGo = holdLog()
    const first = send()
    await roundTrip()
    const early = requestOf({ headers: { authorization: 'Basic bWFpbjp4' } })
    for (const piece of [early.slice(0, 30), early.slice(30)]) {
      await connection.write(piece)
      await roundTrip()
    }
    expect(connection.hasAnswer).toBe(false)
    letGo()
    expect((await first).status).toBe(200)
    expect((await connection.nextAnswer()).status).toBe(401)
    await stop()
  })

  it('connections end when the process stops, with an answer that says so, or when they are idle', async () => {
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
    // A first request may have been on its way.
    connection = unused
    expect((await send()).headers.get('connection')).toBe('close')
    await stopped
  })

  it('a connection is closed when it was idle for longer than clients are told', async () => {
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
})
