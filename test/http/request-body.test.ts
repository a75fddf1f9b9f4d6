// How bodies are read over real HTTP: their exact size limit, compression, media types, and that a client whose request is refused
// can read the answer and continue.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { EVENTS_PER_ENTRY_MAX } from '../../src/core/event.ts'
import type { ErrorBody } from '../../src/http/answers/error-answer.ts'
import { HTTP_LIMITS } from '../../src/http/http-limits.ts'
import { ReceivedBodies } from '../../src/http/requests/received-bodies.ts'
import { readBody, streamBody, type BodyToRead } from '../../src/http/requests/request-body.ts'
import { codesOf, couponCallsOf, couponsPath, type CouponCalls } from '../support/calls/coupon-calls.ts'
import { RawConnection, type RawAnswer } from '../support/raw-http.ts'
import { expectRefusal, startServer, until, type Answer, type TestServer } from '../support/server.ts'

const KIB = 1024
const MIB = 1024 * KIB

const event = { type: 'event', customer_id: 'c1', actions: [{ action: 'Order Placed' }] }
const statsRequest = {
  request_id: 'r',
  start_date: '2026-01-01',
  end_date: '2026-01-02',
  attribution_type: 'CLICK_THROUGH',
  metric_type: 'TOTAL',
}

interface Subject {
  readonly name: string
  readonly path: string
  readonly tile: 'data' | 'reports'
  readonly value: unknown
  readonly bytesMax: number
}

const trackEvents: Subject = {
  name: 'Track Events',
  path: '/v1/event/main',
  tile: 'data',
  value: event,
  bytesMax: 128 * KIB,
}
const fetchStats: Subject = {
  name: 'any other operation',
  path: '/core-services/v1/campaign-stats',
  tile: 'reports',
  value: statsRequest,
  bytesMax: MIB,
}
const subjects = [trackEvents, fetchStats]

/** The JSON of the subject's value, padded with white space to `bytes`. */
function padded({ value }: Subject, bytes: number): Buffer {
  return Buffer.from(JSON.stringify(value).padEnd(bytes, ' '))
}

describe('The body of a request', () => {
  let server: TestServer
  beforeAll(async () => void (server = await startServer('sqlite')))
  afterAll(() => server.stop())

  const send = (subject: Subject, body: unknown, headers: Record<string, string | undefined> = {}) =>
    server.call('POST', subject.path, { tile: subject.tile, body, headers })
  const track = (body: unknown, headers: Record<string, string | undefined> = {}) => send(trackEvents, body, headers)

  it.each(subjects)('of $name may have exactly $bytesMax bytes', async (subject) => {
    expect((await send(subject, padded(subject, subject.bytesMax))).status).toBe(200)
    expectRefusal(await send(subject, padded(subject, subject.bytesMax + 1)), 413, 'payload_too_large')
  })

  it.each(subjects)('of $name is measured decompressed', async (subject) => {
    const gzipped = { 'content-encoding': 'gzip' }
    expect((await send(subject, gzipSync(padded(subject, subject.bytesMax)), gzipped)).status).toBe(200)
    const refused = await send(subject, gzipSync(padded(subject, subject.bytesMax + 1)), gzipped)
    expectRefusal(refused, 413, 'payload_too_large')
  })

  it('is refused past the limit even if it compresses well', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * MIB, ' '))
    expect(bomb.byteLength).toBeLessThan(128 * KIB)
    expectRefusal(await track(bomb, { 'content-encoding': 'gzip' }), 413, 'payload_too_large')
  })

  it('is refused past the limit even if it decompresses to nothing', async () => {
    const nothing = gzipSync('')
    const endless = Buffer.concat(Array.from({ length: 20_000 }, () => nothing))
    expect(endless.byteLength).toBeGreaterThan(256 * KIB)
    expectRefusal(await track(endless, { 'content-encoding': 'gzip' }), 413, 'payload_too_large')
  })

  it('may exceed the limit as gzip if it is incompressible', async () => {
    const text = randomBytes(fetchStats.bytesMax)
      .toString('base64url')
      .slice(0, fetchStats.bytesMax - 2)
    const compressed = gzipSync(`"${text}"`, { level: 0 })
    expect(compressed.byteLength).toBeGreaterThan(fetchStats.bytesMax)
    // The server reads all of it before it finds that it is not an object.
    expectRefusal(await send(fetchStats, compressed, { 'content-encoding': 'gzip' }), 400, 'invalid_request', ['body'])
  })

  const encoded: [what: string, encoding: string, body: Uint8Array][] = [
    ['gzip', 'gzip', gzipSync(JSON.stringify(event))],
    ['gzip in capitals', 'GZIP', gzipSync(JSON.stringify(event))],
    ['gzip under its old name', 'x-gzip', gzipSync(JSON.stringify(event))],
    [
      'gzip in two members',
      'gzip',
      Buffer.concat([gzipSync('{"type":"event",'), gzipSync('"customer_id":"c1","actions":[{"action":"a"}]}')]),
    ],
    ['identity, which is no compression', 'identity', Buffer.from(JSON.stringify(event))],
  ]
  it.each(encoded)('may arrive as %s', async (_what, encoding, body) => {
    expect((await track(body, { 'content-encoding': encoding })).status).toBe(200)
  })

  const broken: [what: string, body: Uint8Array][] = [
    ['that is not gzip', Buffer.from(JSON.stringify(event))],
    ['that is cut off', gzipSync(JSON.stringify(event)).subarray(0, -10)],
    ['with a wrong checksum', corrupted(gzipSync(JSON.stringify(event)))],
    ['of nothing', gzipSync('')],
  ]
  it.each(broken)('is refused as a gzip body %s', async (_what, body) => {
    expectRefusal(await track(body, { 'content-encoding': 'gzip' }), 400, 'invalid_request', ['body'])
  })

  it.each(['br', 'deflate', 'zstd', 'gzip, gzip', 'aes128gcm'])(
    'is refused with Content-Encoding %s',
    async (encoding) => {
      expectRefusal(await track(event, { 'content-encoding': encoding }), 415, 'unsupported_media_type')
    },
  )

  const mediaTypes: [type: string | undefined, status: number][] = [
    ['application/json', 200],
    ['application/json; charset=utf-8', 200],
    ['application/json;charset=UTF-8', 200],
    ['Application/JSON', 200],
    ['application/json; charset="utf-8"; profile=x', 200],
    ['application/json ; q=1', 200],
    ['application/json;', 200],
    ['text/plain', 415],
    ['text/json', 415],
    ['application/jsonp', 415],
    ['application/vnd.api+json', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=x', 415],
    ['text/csv', 415],
    ['*/*', 415],
    ['application/json, text/plain', 415],
    ['json', 415],
    ['application/', 415],
    [';', 415],
    ['', 415],
    [undefined, 415],
  ]
  it.each(mediaTypes)('with Content-Type %s is answered %i', async (type, status) => {
    // As bytes, for which fetch adds no type.
    const answer = await track(Buffer.from(JSON.stringify(event)), { 'content-type': type })
    expect(answer.status).toBe(status)
    expect(codeOf(answer)).toBe(status === 415 ? 'unsupported_media_type' : undefined)
  })

  it.each(['', 'foo', 'text/plain'])('counts in the limit of events even with Content-Type %j', async (type) => {
    const workspace = await server.makeWorkspace()
    const answer = await server.call('POST', `/v1/event/${workspace.id}`, {
      as: workspace,
      body: '{}',
      headers: { 'content-type': type },
    })
    expect([answer.status, answer.headers.get('x-ratelimit-remaining')]).toEqual([415, '29999'])
  })

  it.each([[undefined], ['application/json'], ['application/json; charset=utf-8']])(
    'must not be empty (Content-Type %s)',
    async (type) => {
      const answer = await server.call('POST', '/v1/event/main', { headers: { 'content-type': type } })
      expectRefusal(answer, 400, 'invalid_request', ['body'])
    },
  )

  const texts: [what: string, body: string | Uint8Array, fields: string[]][] = [
    ['broken JSON', '{"type":', ['body']],
    ['a list', '[]', ['body']],
    ['null', 'null', ['body']],
    ['a string', '"event"', ['body']],
    ['an object with a repeated key', `{"type":"event",${JSON.stringify(event).slice(1)}`, ['type']],
    ['an object with __proto__', `{"__proto__":{},${JSON.stringify(event).slice(1)}`, ['__proto__']],
    ['invalid UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), ['body']],
    ['a byte order mark', `\ufeff${JSON.stringify(event)}`, ['body']],
    ['a hundred thousand levels', '['.repeat(100_000), ['body']],
  ]
  it.each(texts)('must not be %s', async (_what, body, fields) => {
    expectRefusal(await track(body), 400, 'invalid_request', fields)
  })
})

describe('The body of a client that disconnects before the server reads it', () => {
  const bodies = new ReceivedBodies(HTTP_LIMITS)
  const toRead: BodyToRead = { sender: 'main', bytesMax: MIB, bodies }
  const readers: [how: string, read: (request: IncomingMessage) => Promise<unknown>][] = [
    ['at once', (request) => readBody(request, toRead)],
    ['as a stream', (request) => streamBody(request, toRead).next()],
  ]
  const cases = readers.flatMap(([how, read]) =>
    ['identity', 'gzip', undefined].map((encoding) => ({ how, read, encoding })),
  )

  it.each(cases)(
    'is refused without waiting for more: $how, Content-Encoding $encoding',
    async ({ read, encoding }) => {
      const http = createServer().listen(0, '127.0.0.1')
      await once(http, 'listening')
      const arrived = once(http, 'request') as Promise<[IncomingMessage]>
      const connection = await RawConnection.open(`http://127.0.0.1:${(http.address() as AddressInfo).port}`)
      const headers = [
        'host: x',
        'content-length: 100',
        ...(encoding === undefined ? [] : [`content-encoding: ${encoding}`]),
      ]
      await connection.write(`POST / HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\nhalf`)
      const [request] = await arrived
      connection.reset()
      await until('the request is lost', () => request.destroyed)
      http.close()
      await expect(read(request)).rejects.toMatchObject({
        code: 'invalid_request',
        details: [{ field: 'body', problem: 'must arrive whole; the connection ended before' }],
      })
    },
  )
})

describe('A connection', () => {
  let server: TestServer
  beforeAll(async () => void (server = await startServer('sqlite')))
  afterAll(() => server.stop())

  const open = () => RawConnection.open(server.url)
  const head = (length: number | 'chunked', extra: readonly string[] = []) => headOf(server, length, extra)
  const good = () => head(JSON.stringify(event).length) + JSON.stringify(event)

  it.each([128 * KIB + 1, MIB, 20 * MIB])(
    'of a client that announces %i bytes gets 413 at once, and ends when they are sent',
    async (bytes) => {
      const connection = await RawConnection.open(server.url, true)
      await connection.write(head(bytes))
      const answer = await connection.nextAnswer()
      expectRaw(answer, 413, 'payload_too_large')
      expect(answer.headers.get('connection')).toBe('close')
      for (let sent = 0; sent < bytes; sent += MIB)
        await connection.write(Buffer.alloc(Math.min(MIB, bytes - sent), ' '))
      await until('the connection is closed', () => connection.isEnded)
      expect(connection.isReset).toBe(false)
      connection.close()
    },
  )

  it('of a client that sends too much in chunks gets 413, and continues', async () => {
    const connection = await open()
    await connection.write(`${head('chunked')}${MIB.toString(16)}\r\n${' '.repeat(MIB)}\r\n0\r\n\r\n`)
    expectRaw(await connection.nextAnswer(), 413, 'payload_too_large')
    await connection.write(good())
    expect((await connection.nextAnswer()).status).toBe(200)
    connection.close()
  })

  it.each(['gzip, chunked', 'chunked, chunked', 'GZIP,chunked'])('refuses Transfer-Encoding %s', async (coding) => {
    const connection = await open()
    await connection.write(head('chunked').replace('transfer-encoding: chunked', `transfer-encoding: ${coding}`))
    const text = JSON.stringify(event)
    await connection.write(`${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`)
    expectRaw(await connection.nextAnswer(), 400, 'invalid_request')
    connection.close()
  })

  it('of a client that never stops sending gets 413 meanwhile', async () => {
    const connection = await open()
    await connection.write(head('chunked'))
    const chunk = `${MIB.toString(16)}\r\n${' '.repeat(MIB)}\r\n`
    const sending = (async () => {
      while (!connection.hasAnswer) await connection.write(chunk)
    })()
    expectRaw(await connection.nextAnswer(), 413, 'payload_too_large')
    connection.close()
    await sending
  })

  it.each([
    ['broken gzip', 'content-encoding: gzip', 400],
    ['an unknown encoding', 'content-encoding: br', 415],
    ['another media type', 'content-type: text/plain', 415],
  ])('continues after %s', async (_what, header, status) => {
    const connection = await open()
    await connection.write(head(MIB, [header]))
    await connection.write(Buffer.alloc(MIB, 'x'))
    expect((await connection.nextAnswer()).status).toBe(status)
    await connection.write(good())
    expect((await connection.nextAnswer()).status).toBe(200)
    connection.close()
  })

  const closed: [what: string, headOf: (length: number) => string, status: number][] = [
    ['with another key', (length) => withWrongKey(head(length, ['connection: close'])), 401],
    ['at an unknown path', (length) => head(length, ['connection: close']).replace('/v1/event/', '/nowhere/'), 404],
    ['of another media type', (length) => head(length, ['connection: close', 'content-type: text/plain']), 415],
    ['that is far too large', (length) => head(length, ['connection: close']), 413],
    ['of HTTP/1.0', (length) => withWrongKey(head(length)).replace('HTTP/1.1', 'HTTP/1.0'), 401],
  ]
  it.each(closed)(
    'that is not kept alive receives all of a request %s, so that the client can read the answer',
    async (_what, of, status) => {
      const pieces = 10
      const connection = await RawConnection.open(server.url, true)
      await connection.write(of(pieces * MIB))
      for (let sent = 0; sent < pieces - 1; sent++) await connection.write(Buffer.alloc(MIB, ' '))
      expect((await connection.nextAnswer()).status).toBe(status)
      for (let sent = 0; sent < 16; sent++) await connection.write(Buffer.alloc(MIB / 16, ' '))
      await until('the connection is closed', () => connection.isEnded)
      expect(connection.isReset).toBe(false)
      connection.finishSending()
    },
  )

  it('answers requests that are sent at once in order', async () => {
    const connection = await open()
    const broken = head(1) + '{'
    await connection.write(good() + broken + good() + 'GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n' + good())
    const statuses: number[] = []
    for (let index = 0; index < 5; index++) statuses.push((await connection.nextAnswer()).status)
    expect(statuses).toEqual([200, 400, 200, 404, 200])
    connection.close()
  })

  /** The statuses of `count` answers before the server closes the connection, and whether there are no others. */
  async function statusesUntilEnd(connection: RawConnection, count: number) {
    const statuses: number[] = []
    while (statuses.length < count) statuses.push((await connection.nextAnswer()).status)
    await until('the connection is closed', () => connection.isEnded)
    return { statuses, isAll: !connection.hasAnswer }
  }

  const stray: [what: string, behind: () => string, statuses: number[]][] = [
    ['a stray byte', () => 'x', [200, 200, 400]],
    ['more garbage than is read at once', () => 'x'.repeat(MIB), [200, 200, 400]],
    ['a request whose body breaks', () => `${head('chunked')}zz\r\n`, [200, 200]],
    ['a request with a broken head', () => 'GET /healthz HTTP/1.1\r\nhost\r\n', [200, 200, 400]],
  ]
  it.each(stray)('answers complete requests and then ends if %s follows', async (_what, behind, statuses) => {
    const connection = await open()
    await connection.write(good() + good() + behind())
    expect(await statusesUntilEnd(connection, statuses.length)).toEqual({ statuses, isAll: true })
    connection.close()
  })

  it('sends nothing after an answer that ends it, even if garbage follows the request', async () => {
    const connection = await open()
    await connection.write('GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\nx\r\n\r\n')
    expect(await statusesUntilEnd(connection, 1)).toEqual({ statuses: [200], isAll: true })
    connection.close()
  })

  it('ends with 400 if a stray byte follows the answer', async () => {
    const connection = await open()
    await connection.write(good())
    expect((await connection.nextAnswer()).status).toBe(200)
    await connection.write('x\r\n\r\n')
    expect(await statusesUntilEnd(connection, 1)).toEqual({ statuses: [400], isAll: true })
    connection.close()
  })

  it('sends one answer to a request, even if its body breaks after the answer', async () => {
    const connection = await open()
    await connection.write(withWrongKey(head('chunked')))
    expectRaw(await connection.nextAnswer(), 401, 'unauthorized')
    await connection.write('zz\r\n')
    expect(await statusesUntilEnd(connection, 0)).toEqual({ statuses: [], isAll: true })
    connection.close()
  })

  it('continues if a body completes after its answer, and answers 400 to a stray byte after that', async () => {
    const connection = await open()
    for (const behind of [good(), 'x\r\n\r\n']) {
      await connection.write(withWrongKey(head('chunked')))
      expectRaw(await connection.nextAnswer(), 401, 'unauthorized')
      await connection.write(`1\r\n{\r\n0\r\n\r\n${behind}`)
      expect((await connection.nextAnswer()).status).toBe(behind === good() ? 200 : 400)
    }
    expect(await statusesUntilEnd(connection, 0)).toEqual({ statuses: [], isAll: true })
    connection.close()
  })

  it('sends large answers completely even if garbage arrives before they end', async () => {
    const path = '/docs/swagger-ui-bundle.js'
    const { body } = await server.call<string>('GET', path)
    const connection = await open()
    const request = `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`
    await connection.write(request.repeat(4))
    const answers = [await connection.nextAnswer()]
    await connection.write('x\r\n\r\n')
    while (answers.length < 4) answers.push(await connection.nextAnswer())
    await until('the connection is closed', () => connection.isEnded)
    expect(answers.map((answer) => answer.body === body)).toEqual([true, true, true, true])
    connection.close()
  })
})

describe('A body in chunks', () => {
  let server: TestServer
  let connection: RawConnection
  let calls: CouponCalls
  beforeAll(async () => {
    server = await startServer('sqlite')
    calls = couponCallsOf(server)
  })
  beforeEach(async () => void (connection = await RawConnection.open(server.url)))
  afterEach(() => connection.close())
  afterAll(() => server.stop())

  const chunkOf = (text: string | Uint8Array) =>
    Buffer.concat([Buffer.from(`${text.length.toString(16)}\r\n`), Buffer.from(text), Buffer.from('\r\n')])
  const BLANKS = chunkOf(' ').toString()
  const LAST = '0\r\n\r\n'
  const head = (...extra: string[]) => headOf(server, 'chunked', extra)

  it('may have one chunk per event of a request', async () => {
    const text = JSON.stringify(event)
    await connection.write(head() + BLANKS.repeat(EVENTS_PER_ENTRY_MAX - 1) + chunkOf(text).toString() + LAST)
    expect((await connection.nextAnswer()).status).toBe(200)
    await connection.write(head() + chunkOf(text).toString() + LAST)
    expect((await connection.nextAnswer()).status).toBe(200)
  })

  const uploadOf = (id: string) =>
    headOf(server, 'chunked', ['content-type: text/csv', 'svc-appkey: main'])
      .replace('/v1/event/main', couponsPath(id))
      .replace(/authorization: .*\r\n/, `authorization: Basic ${btoa(`main:${server.workspace.reportsKey}`)}\r\n`)

  const shortCodes = Array.from({ length: 40_000 }, (_, index) => index.toString(36).padStart(3, '0'))
  it.each([
    ['of a few characters', codesOf('C', EVENTS_PER_ENTRY_MAX + 1_000)],
    ['as short as possible, so that one read returns many', shortCodes],
  ])('may have one chunk per code of an upload: %s', async (_what, codes) => {
    const id = await calls.make()
    await connection.write(uploadOf(id) + codes.map((code) => chunkOf(`${code}\n`).toString()).join('') + LAST)
    expect((await connection.nextAnswer()).status).toBe(200)
    await calls.expectCodes(id, codes)
  })
})

describe('A client that finishes sending', () => {
  let server: TestServer
  let connection: RawConnection
  beforeAll(async () => {
    // Connections that stayed open would soon reach this limit.
    server = await startServer('sqlite', {}, { httpLimits: { connectionsMax: 3 } })
  })
  beforeEach(async () => void (connection = await RawConnection.open(server.url)))
  afterEach(() => connection.close())
  afterAll(() => server.stop())

  const text = JSON.stringify(event)
  const good = () => headOf(server, text.length, []) + text
  const PAGE = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: x\r\n\r\n'

  const sent: [what: string, sent: () => string, statuses: readonly number[]][] = [
    ['nothing', () => '', []],
    ['a request', good, [200]],
    ['several at once', () => good() + PAGE + good(), [200, 200, 200]],
    ['half a head', () => good().slice(0, 20), [400]],
    ['half a body', () => good().slice(0, -1), [400]],
    ['half a body after a request', () => good() + good().slice(0, -1), [200, 400]],
  ]
  it.each(sent)('after %s gets every answer, and its connection ends', async (_what, parts, statuses) => {
    await connection.write(parts())
    connection.finishSending()
    const answered: number[] = []
    while (answered.length < statuses.length) answered.push((await connection.nextAnswer()).status)
    await until('the connection is closed', () => connection.isEnded)
    expect(answered).toEqual(statuses)
    expect(connection.hasAnswer).toBe(false)
  })

  it('after an answer on a kept-alive connection ends it, for any number of clients', async () => {
    for (let count = 0; count < 10; count++) {
      const kept = await RawConnection.open(server.url)
      await kept.write(good())
      expect((await kept.nextAnswer()).status).toBe(200)
      kept.finishSending()
      await until('the connection is closed', () => kept.isEnded)
    }
  })
})

function corrupted(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt32LE(0, copy.byteLength - 8)
  return copy
}

function codeOf({ body }: Answer<unknown>): string | undefined {
  return (body as Partial<ErrorBody>).error?.code
}

/** The head of a Track Events request; headers in `extra` replace those of the same name. */
function headOf({ workspace }: TestServer, length: number | 'chunked', extra: readonly string[]): string {
  const credentials = Buffer.from(`${workspace.id}:${workspace.dataKey}`).toString('base64')
  const lines = [
    'host: tidings.test',
    `authorization: Basic ${credentials}`,
    length === 'chunked' ? 'transfer-encoding: chunked' : `content-length: ${length}`,
    ...(extra.some((line) => line.startsWith('content-type:')) ? [] : ['content-type: application/json']),
    ...extra,
  ]
  return `POST /v1/event/main HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

function withWrongKey(head: string): string {
  return head.replace(/authorization: .*\r\n/, `authorization: Basic ${btoa('main:wrong')}\r\n`)
}

function expectRaw(answer: RawAnswer, status: number, code: string): void {
  const body = JSON.parse(answer.body) as ErrorBody
  expect([answer.status, body.error.code]).toEqual([status, code])
  expect(body.error.request_id).toBe(answer.headers.get('x-request-id'))
}
