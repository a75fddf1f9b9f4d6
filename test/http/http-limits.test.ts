// Limits on the memory and time of clients, over real sockets: incomplete requests, unread responses, stalled uploads, connections.
// Each limit is per process, and clients within it are not affected.
import dns from 'node:dns'
import { gzipSync } from 'node:zlib'
import { Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { PIECE_BYTES_MAX, piecesOf, streamOf } from '../../src/http/answers/answer-stream.ts'
import type { ErrorBody } from '../../src/http/answers/error-answer.ts'
import type { HttpLimits } from '../../src/http/http-limits.ts'
import { UPLOAD_SLOTS } from '../../src/operations/slots.ts'
import { listOpenUploads } from '../../src/store/coupons/coupon-uploads.ts'
import { CODES_BUFFERED_MAX } from '../../src/actions/coupon-upload.ts'
import { CAMPAIGNS_PATH, campaignCallsOf } from '../support/calls/campaign-calls.ts'
import { codesOf, couponCallsOf, couponsPath, countRows, toCsv } from '../support/calls/coupon-calls.ts'
import { RawConnection, type RawAnswer } from '../support/raw-http.ts'
import { expectRefusal, startServer, until, type TestServer } from '../support/server.ts'
import { newTemplate, SEARCH, TEMPLATES } from '../support/calls/template-calls.ts'
import { countAccepted } from '../support/calls/tracking.ts'

const KIB = 1024
const MIB = 1024 * KIB
const EVENTS = '/v1/event/main'
const LARGE_PAGE = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: x\r\n\r\n'

let server: TestServer
let opened: RawConnection[]
beforeEach(() => void (opened = []))
afterEach(closeAll)

/** For tests that each start a server with their own limits. */
function stopAfterEach(): void {
  afterEach(async () => {
    // First, because the server waits for their requests when it stops.
    closeAll()
    await server.stop()
  })
}

function closeAll(): void {
  for (const connection of opened) connection.close()
}

/** A server with small limits, checked so often that no test waits long. */
async function start(httpLimits: Partial<HttpLimits>): Promise<void> {
  server = await startServer('sqlite', {}, { httpLimits: { sweepEveryMs: 10, ...httpLimits }, withPipeline: false })
}

async function open(): Promise<RawConnection> {
  const connection = await RawConnection.open(server.url)
  opened.push(connection)
  return connection
}

function headOf(
  path: string,
  tile: 'data' | 'reports',
  headers: readonly string[],
  { id, dataKey, reportsKey } = server.workspace,
): string {
  const credentials = btoa(`${id}:${tile === 'data' ? dataKey : reportsKey}`)
  const lines = ['host: tidings.test', `authorization: Basic ${credentials}`, `svc-appkey: ${id}`, ...headers]
  return `POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

const json = (path: string, length: number | 'chunked', ...headers: string[]) => {
  const framing = length === 'chunked' ? 'transfer-encoding: chunked' : `content-length: ${length}`
  return headOf(path, 'data', ['content-type: application/json', framing, ...headers])
}
const eventOf = (customer: string) =>
  JSON.stringify({ type: 'event', customer_id: customer, actions: [{ action: 'A' }] })
const track = (customer: string) => json(EVENTS, eventOf(customer).length) + eventOf(customer)

async function trackNow(): Promise<void> {
  expect((await server.call('POST', EVENTS, { body: eventOf('now') })).status).toBe(200)
}

function expectRaw({ status, headers, body }: RawAnswer, expected: readonly [status: number, code: string]): void {
  const { error } = JSON.parse(body) as ErrorBody
  expect([status, error.code]).toEqual(expected)
  expect(error.request_id).toBe(headers.get('x-request-id'))
}

const accepted = () => countAccepted(server)

describe('A body that takes too long', () => {
  beforeAll(() => start({ bodyWaitMs: 400, headWaitMs: 400 }))
  afterAll(() => server.stop())

  const stalls: [what: string, sent: () => (string | Uint8Array)[]][] = [
    ['of which nothing arrives', () => [json(EVENTS, 100)]],
    ['that stops in the middle', () => [json(EVENTS, 100), '{"type":']],
    ['in chunks without the last one', () => [json(EVENTS, 'chunked'), '1\r\n{\r\n']],
    ['as gzip', () => [json(EVENTS, 100, 'content-encoding: gzip'), gzipSync('{"type":"event"}').subarray(0, 20)]],
    ['that is too large and stops', () => [`${json(EVENTS, 'chunked')}100000\r\n`, Buffer.alloc(200 * KIB, ' ')]],
  ]
  it.each(stalls)('%s is refused with 408, and its connection closes', async (_what, sent) => {
    const connection = await open()
    for (const part of sent()) await connection.write(part)
    const answer = await connection.nextAnswer()
    expectRaw(answer, [408, 'request_timeout'])
    expect(answer.headers.get('connection')).toBe('close')
    await until('the connection is closed', () => connection.isEnded)
    await trackNow()
  })

  it('has no effect even if it arrives steadily', async () => {
    const [connection, before] = [await open(), await accepted()]
    const event = eventOf('steady')
    await connection.write(json(EVENTS, event.length + 100_000) + event)
    while (!connection.hasAnswer) {
      await connection.write(' ')
      await nextTurn()
    }
    expectRaw(await connection.nextAnswer(), [408, 'request_timeout'])
    expect(await accepted()).toBe(before)
  })

  it('does not make the server refuse other requests meanwhile', async () => {
    const connection = await open()
    await connection.write(json(EVENTS, 100))
    while (!connection.hasAnswer) await trackNow()
    expectRaw(await connection.nextAnswer(), [408, 'request_timeout'])
  })

  it('gets 408 like a head that takes too long', async () => {
    const connection = await open()
    await connection.write('POST /v1/event/main HTTP/1.1\r\nhost: x\r\n')
    expectRaw(await connection.nextAnswer(), [408, 'request_timeout'])
    await until('the connection is closed', () => connection.isEnded)
  })
})

describe('Incomplete bodies', () => {
  stopAfterEach()

  it('share a memory limit: beyond it 503, while complete bodies pass', async () => {
    await start({ receivedBytesMax: 100 * KIB })
    const [first, second] = [await open(), await open()]
    const body = Buffer.alloc(90 * KIB, ' ')
    await first.write(json(EVENTS, body.length + 1))
    await first.write(body)
    let refused: RawAnswer | undefined
    // A client cannot see when the server has counted everything that was sent first.
    while (refused?.status !== 503) {
      await second.write(json(EVENTS, body.length))
      await second.write(body)
      refused = await second.nextAnswer()
    }
    expectRaw(refused, [503, 'unavailable'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    await trackNow()
    await second.write(track('behind'))
    expect((await second.nextAnswer()).status).toBe(200)
    await first.write('{')
    expectRaw(await first.nextAnswer(), [400, 'invalid_request'])
    // The server holds neither refused nor completed bodies any more.
    await second.write(json(EVENTS, body.length))
    await second.write(body)
    expectRaw(await second.nextAnswer(), [400, 'invalid_request'])
  })

  it('are dropped, oldest first, if their workspace holds the most and others need memory', async () => {
    await start({ receivedBytesMax: 100 * KIB })
    const other = await server.makeWorkspace()
    const standing: RawConnection[] = []
    for (const length of [20, 60]) {
      const connection = await open()
      await connection.write(json(EVENTS, MIB / 8))
      await connection.write(Buffer.alloc(length * KIB, ' '))
      standing.push(connection)
    }
    const [oldest, younger] = standing as [RawConnection, RawConnection]
    // When this is answered, the server has counted these bodies: otherwise the next one may hold the most.
    await trackNow()
    const needy = await open()
    const headers = ['content-type: application/json', `content-length: ${30 * KIB}`]
    await needy.write(headOf(`/v1/event/${other.id}`, 'data', headers, other))
    await needy.write(Buffer.alloc(30 * KIB - 1, ' '))
    await until('the oldest gives way', () => oldest.isEnded)
    expectRaw(await oldest.nextAnswer(), [408, 'request_timeout'])
    await needy.write('{')
    expectRaw(await needy.nextAnswer(), [400, 'invalid_request'])
    expect(younger.isEnded).toBe(false)
    await trackNow()
  })

  it('count for more than their bytes if these arrive one by one', async () => {
    await start({ receivedBytesMax: 100 * KIB })
    const connection = await open()
    await connection.write(json(EVENTS, 'chunked') + '1\r\n \r\n'.repeat(400))
    expectRaw(await connection.nextAnswer(), [503, 'unavailable'])
    await trackNow()
  })

  it('release their memory when their connections end', async () => {
    await start({ receivedBytesMax: 100 * KIB })
    const body = Buffer.alloc(90 * KIB, ' ')
    for (let count = 0; count < 3; count++) {
      const connection = await open()
      await connection.write(json(EVENTS, body.length + 1))
      await connection.write(body)
      connection.close()
    }
    const answer = await until('there is room', async () => {
      const connection = await open()
      await connection.write(json(EVENTS, body.length))
      await connection.write(body)
      const { status } = await connection.nextAnswer()
      return status !== 503 && status
    })
    expect(answer).toBe(400)
  })
})

describe('An upload', () => {
  stopAfterEach()

  const uploadOf = (id: string, ...headers: string[]) =>
    headOf(couponsPath(id), 'reports', ['content-type: text/csv', 'transfer-encoding: chunked', ...headers])
  const chunkOf = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`

  it('is abandoned if it stalls, and its codes are removed', async () => {
    await start({ uploadQuietMs: 300 })
    const calls = couponCallsOf(server)
    const id = await calls.make()
    const connection = await open()
    await connection.write(uploadOf(id))
    await connection.write(chunkOf(toCsv(codesOf('STILL', CODES_BUFFERED_MAX + 1_000))))
    expectRaw(await connection.nextAnswer(), [408, 'request_timeout'])
    await until('the connection is closed', () => connection.isEnded)
    expect(await listOpenUploads(server.database)).toEqual([])
    expect(await countRows(server.database, (await calls.stored(id)).number)).toBe(0)
    expect((await calls.addJson(id, ['NEXT'])).body).toMatchObject({ added: 1, duplicates: 0 })
  })

  it('may take longer than other bodies as long as data arrives', async () => {
    await start({ bodyWaitMs: 200, uploadQuietMs: 5_000 })
    const calls = couponCallsOf(server)
    const id = await calls.make()
    const connection = await open()
    await connection.write(uploadOf(id) + chunkOf('A\n'))
    for (const code of ['B', 'C']) {
      // A body that begins after the upload, and times out before the upload ends.
      const other = await open()
      await other.write(json(EVENTS, 100))
      expect((await other.nextAnswer()).status).toBe(408)
      await connection.write(chunkOf(`${code}\n`))
    }
    await connection.write('0\r\n\r\n')
    expect((await connection.nextAnswer()).status).toBe(200)
    await calls.expectCodes(id, ['A', 'B', 'C'])
  })

  it('needs a slot: without one it gets 503, and every end of an upload releases its slot', async () => {
    await start({ uploadQuietMs: 5_000 })
    const calls = couponCallsOf(server)
    const id = await calls.make()
    const running: RawConnection[] = []
    const begin = async () => {
      const connection = await open()
      await connection.write(uploadOf(id, 'expect: 100-continue'))
      // This answer shows that the server has begun with the request.
      expect((await connection.nextAnswer()).status).toBe(100)
      running.push(connection)
    }
    while (running.length < UPLOAD_SLOTS.slotsPerWorkspaceMax) await begin()
    const refused = await calls.addCsv(id, 'B')
    expectRefusal(refused, 503, 'unavailable')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    // A complete request with few codes needs no slot.
    expect((await calls.addJson(id, ['C'])).status).toBe(200)
    const ends: ((upload: RawConnection) => unknown)[] = [
      (upload) => upload.write(`${chunkOf('D\n')}0\r\n\r\n`),
      (upload) => upload.write(`${chunkOf('x'.repeat(129))}0\r\n\r\n`),
      (upload) => upload.close(),
    ]
    for (const end of ends) {
      await end(running.shift() as RawConnection)
      await until('a slot is free', async () => (await calls.addCsv(id, 'E')).status === 200)
      await begin()
      expectRefusal(await calls.addCsv(id, 'E'), 503, 'unavailable')
    }
  })
})

describe('Pipelined requests', () => {
  stopAfterEach()

  it('run one after another, each once the client has read the response before', async () => {
    await start({})
    const connection = await open()
    connection.readFirstOnly()
    await connection.write(LARGE_PAGE.repeat(10) + track('behind'))
    await until('the first answer has begun', () => connection.hasAnswer)
    for (let count = 0; count < 20; count++) await server.call('GET', '/healthz')
    expect(await accepted()).toBe(0)
    connection.read()
    for (let count = 0; count < 10; count++) expect((await connection.nextAnswer()).status).toBe(200)
    expect((await connection.nextAnswer()).status).toBe(200)
    expect(await accepted()).toBe(1)
  })

  it('are answered in order, in any number and even if some fail', async () => {
    await start({})
    const connection = await open()
    const some = [track('a'), 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n', `${json(EVENTS, 1)}{`, LARGE_PAGE]
    const rounds = 12
    const writing = connection.write(some.join('').repeat(rounds))
    for (let count = 0; count < rounds; count++) {
      const statuses = [await connection.nextAnswer(), await connection.nextAnswer(), await connection.nextAnswer()]
      statuses.push(await connection.nextAnswer())
      expect(statuses.map(({ status }) => status)).toEqual([200, 200, 400, 200])
    }
    await writing
  })

  it('are limited per process: beyond the limit a connection is closed', async () => {
    await start({ pipelinedMax: 10 })
    const [first, second] = [await open(), await open()]
    first.readFirstOnly()
    await first.write(LARGE_PAGE.repeat(10))
    await until('the first answer has begun', () => first.hasAnswer)
    await second.write(track('a').repeat(20))
    await until('the connection is closed', () => second.isEnded)
    await trackNow()
    first.read()
    for (let count = 0; count < 10; count++) expect((await first.nextAnswer()).status).toBe(200)
    const third = await open()
    await third.write(track('a').repeat(10))
    for (let count = 0; count < 10; count++) expect((await third.nextAnswer()).status).toBe(200)
  })

  it('are limited per connection: beyond the limit only that connection is closed', async () => {
    await start({ pipelinedPerConnectionMax: 5 })
    const [first, second] = [await open(), await open()]
    first.readFirstOnly()
    await first.write(LARGE_PAGE.repeat(6))
    await until('the first answer has begun', () => first.hasAnswer)
    await second.write(track('a').repeat(20))
    await until('the connection is closed', () => second.isEnded)
    first.read()
    for (let count = 0; count < 6; count++) expect((await first.nextAnswer()).status).toBe(200)
  })

  it('all wait if they arrive at once with a complete request, in any number', async () => {
    await start({})
    const connection = await open()
    const writing = connection.write(track('a').repeat(2_000))
    for (let count = 0; count < 2_000; count++) expect((await connection.nextAnswer()).status).toBe(200)
    await writing
  })
})

it('A request whose client leaves while it waits in a queue is not executed', async () => {
  await start({})
  const calls = campaignCallsOf(server)
  const id = await calls.make({ name: 'Before' })
  const path = `${CAMPAIGNS_PATH}/${id}`
  const turn = Promise.withResolvers<void>()
  const held = server.queue.run('changes of campaigns main', () => turn.promise)
  const body = JSON.stringify({ name: 'After', updated_by: 'ben' })
  const headers = ['content-type: application/json', `content-length: ${body.length}`]
  const connection = await open()
  await connection.write(headOf(path, 'reports', headers).replace('POST', 'PATCH') + body)
  // When this is answered, the server has read the request.
  await server.call('GET', '/healthz')
  connection.reset()
  await until('the server knows', async () => {
    const { body: metrics } = await server.call<string>('GET', '/metrics')
    return metrics.includes('tidings_http_requests_total{operation="update_campaign",status="499"} 1')
  })
  turn.resolve()
  await held
  // Waits in the same queue.
  const changed = await server.call('PATCH', path, { tile: 'reports', body: { platforms: ['IOS'], updated_by: 'ben' } })
  expect(changed).toMatchObject({ status: 200, body: { name: 'Before' } })
  await server.stop()
})

describe('Unread responses', () => {
  stopAfterEach()

  const page = { page: 1, entries: 15 }
  /** Templates of which one page takes 9 MiB: much more than the socket buffers of the system hold. */
  const fill = async () => {
    const details = { email_content: 'x'.repeat(900 * KIB) }
    for (let count = 0; count < 10; count++) {
      expect((await server.call('POST', TEMPLATES, { body: newTemplate({}, details) })).status).toBe(200)
    }
  }
  const search = () => server.call('POST', SEARCH, { body: page })
  /** A search whose client stops reading after the answer has begun to arrive. */
  const leaveUnread = async () => {
    const connection = await open()
    const body = JSON.stringify(page)
    connection.readFirstOnly()
    await connection.write(json(SEARCH, body.length) + body)
    await until('the answer has begun', () => connection.hasAnswer)
    return connection
  }
  /** A client that does not read learns only by writing that the server is gone. */
  const isGone = async (connection: RawConnection) => {
    await connection.write('\r\n')
    return connection.isEnded
  }

  it('share a memory limit: beyond it requests that can be repeated get 503', async () => {
    await start({ unsentBytesMax: 20 * MIB })
    await fill()
    const slow = [await leaveUnread(), await leaveUnread()]
    const refused = await search()
    expectRefusal(refused, 503, 'unavailable')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    await trackNow()
    for (const connection of slow) {
      connection.read()
      expect((await connection.nextAnswer()).status).toBe(200)
    }
    expect((await search()).status).toBe(200)
  })

  it.each([
    ['many faults', 500, 'x'],
    ['some faults whose characters need three bytes each', 120, '€'],
  ])('leave no room for a refusal with %s, only for a short one', async (_, faults, character) => {
    await start({ unsentBytesMax: 9_300_000 })
    await fill()
    const slow = await leaveUnread()
    const members = Array.from({ length: faults }, (__, index) => [`${index}-${character.repeat(400)}`, 1] as const)
    const ask = () =>
      server.call('POST', '/core-services/v1/campaign-stats', { tile: 'reports', body: Object.fromEntries(members) })
    expectRefusal(await ask(), 503, 'unavailable')
    slow.close()
    await until('there is room', async () => (await ask()).status === 400)
  })

  it('leave room only for short refusals on the fast path', async () => {
    await start({ unsentBytesMax: MIB })
    await fill()
    const slow = await leaveUnread()
    // The server gets it in one read.
    const attributes = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`${at}-${'x'.repeat(400)}`, 1]))
    const body = JSON.stringify({ type: 'event', customer_id: 'c', actions: [{ action: 'A', attributes }] })
    const ask = async () => {
      const connection = await open()
      await connection.write(json(EVENTS, body.length) + body)
      return connection.nextAnswer()
    }
    expectRaw(await ask(), [503, 'unavailable'])
    slow.close()
    await until('there is room', async () => (await ask()).status === 400)
  })

  it('are dropped after their time limit, oldest first', async () => {
    await start({ unsentBytesMax: 20 * MIB, unsentPatienceMs: 0 })
    await fill()
    const [first, second] = [await leaveUnread(), await leaveUnread()]
    expect((await search()).status).toBe(200)
    await until('the first is closed', () => isGone(first))
    second.read()
    expect((await second.nextAnswer()).status).toBe(200)
  })

  it('close their connections', async () => {
    await start({ answerUnreadMs: 50 })
    await fill()
    const connection = await leaveUnread()
    expect(await until('the connection is closed', () => isGone(connection))).toBe(true)
    await trackNow()
  })
})

describe('Connections', () => {
  stopAfterEach()

  const HEALTH = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'
  /** A connection that has sent a request. */
  const openUsed = async () => {
    const connection = await open()
    await connection.write(HEALTH)
    expect((await connection.nextAnswer()).status).toBe(200)
    return connection
  }

  it('beyond the limit are reported to operators', async () => {
    const lines: Record<string, unknown>[] = []
    const diagnostics = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    server = await startServer('sqlite', {}, { diagnostics, httpLimits: { connectionsMax: 1, sweepEveryMs: 10 } })
    await openUsed()
    const beyond = await open()
    await until('it is closed', () => beyond.isEnded)
    await until('operators get a line', () => lines.length > 0)
    expect(lines).toMatchObject([{ closed: 1 }])
  })

  it('beyond the limit are closed at once if all have sent a request, and accepted again when one ends', async () => {
    await start({ connectionsMax: 5 })
    const kept: RawConnection[] = []
    while (kept.length < 5) kept.push(await openUsed())
    const beyond = await open()
    await until('it is closed', () => beyond.isEnded)
    expect(kept.map(({ isEnded }) => isEnded)).toEqual(kept.map(() => false))
    kept[0]?.close()
    await until('another is taken', async () => {
      const connection = await open()
      await connection.write(HEALTH)
      return until('it is answered or closed', () => (connection.hasAnswer ? 'yes' : connection.isEnded && 'no')).then(
        (outcome) => outcome === 'yes',
      )
    })
  })

  const firstRequests: [what: string, sent: () => string][] = [
    ['a request', () => HEALTH],
    ['a tracked event', () => track('c')],
    ['a head and half of the body', () => track('c').slice(0, -9)],
  ]
  it.each(firstRequests)('without a request give way at the limit, oldest first, but not after %s', async (_, sent) => {
    await start({ connectionsMax: 4 })
    const used = await open()
    await used.write(sent())
    await openUsed()
    const [silent, half] = [await open(), await open()]
    await half.write('GET /healthz HTTP/1.1\r\n')
    const newer = await openUsed()
    await until('the oldest is closed', () => silent.isEnded)
    expect([used.isEnded, half.isEnded]).toEqual([false, false])
    await openUsed()
    await until('the one with half a head is closed', () => half.isEnded)
    expect([used.isEnded, newer.isEnded]).toEqual([false, false])
  })
})

it('The server listens on only one address of a host name, so that no listener lacks limits', async () => {
  const resolve = dns.lookup
  const both = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }))
  vi.spyOn(dns, 'lookup').mockImplementation(((host: string, options: dns.LookupAllOptions, done: typeof both) => {
    if (host === 'localhost' && options.all) return (done as never as (e: null, all: typeof both) => void)(null, both)
    return resolve(host, options, done as never)
  }) as never)
  const named = await startServer('sqlite', { HOST: 'localhost' })
  vi.restoreAllMocks()
  const other = named.url.replace('127.0.0.1', '127.0.0.2')
  await expect(RawConnection.open(other)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  expect((await named.call('GET', '/healthz')).status).toBe(200)
  await named.stop()
})

it('Large responses are written in small pieces, so that slow readers make visible progress', () => {
  const sizes = [1, PIECE_BYTES_MAX, 0, PIECE_BYTES_MAX + 1, 3 * MIB]
  const answer = sizes.map((size, index) => Buffer.alloc(size, index))
  const pieces = [...piecesOf(answer)]
  expect(Math.max(...pieces.map(({ byteLength }) => byteLength))).toBe(PIECE_BYTES_MAX)
  expect(Buffer.concat(pieces).equals(Buffer.concat(answer))).toBe(true)
})

it('A large response ends only after the system has taken its last piece, because Node closes ended connections', async () => {
  let takeLast = () => {}
  const system = new Writable({ write: (_piece, _encoding, taken) => void (takeLast = taken) })
  const reply = { header: () => reply } as unknown as FastifyReply
  streamOf(reply, [Buffer.alloc(PIECE_BYTES_MAX)]).pipe(system)
  await until('the last piece is written', () => system.writableLength > 0)
  for (let turn = 0; turn < 10; turn++) await nextTurn()
  expect(system.writableEnded).toBe(false)
  takeLast()
  await until('the response ends', () => system.writableEnded)
})
