// Which heads the fast path recognises. It never reads a head differently than Node does.
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { RequestHeads } from '../../../src/http/fast-path/request-head.ts'
import { eventOf, EVENTS, requestOf, type Head } from './simple-requests.ts'

const manyHeaders = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, '']))

const heads = new RequestHeads([
  { method: 'POST', path: '/v1/event/:Workspace_ID', bodyBytesMax: 1_000, target: 'events' },
  { method: 'POST', path: '/v1/event/:Workspace_ID/:project_code', bodyBytesMax: 1_000, target: 'events' },
])

describe('A head', () => {
  const simple: [what: string, head: Head, params: object][] = [
    ['with the fewest headers', {}, { Workspace_ID: 'main' }],
    [
      'of a path with two parameters',
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
  it.each(simple)('%s is recognised', (_what, head, params) => {
    const request = requestOf(head)
    const start = heads.read(Buffer.from(request))
    expect(start?.head).toMatchObject({ target: 'events', method: 'POST', params })
    expect(request.slice(start?.bodyStart, start?.end)).toBe(head.body ?? JSON.stringify(eventOf('c')))
  })

  it('that equals the last one is not parsed again, regardless of its length', () => {
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
    ['with an absolute URL', requestOf({ line: `POST http://tidings.test${EVENTS} HTTP/1.1` })],
    ['with a very long name in its path', requestOf({ line: `POST /v1/event/${'m'.repeat(1_025)} HTTP/1.1` })],
    ['of HTTP/1.0', requestOf({ line: `POST ${EVENTS} HTTP/1.0` })],
    ['with two spaces', requestOf({ line: `POST  ${EVENTS} HTTP/1.1` })],
    ['after an empty line', `\r\n${requestOf({})}`],
    ['without a host', requestOf({ headers: { host: undefined } })],
    ['without a media type', requestOf({ headers: { 'content-type': undefined } })],
    ['of another media type', requestOf({ headers: { 'content-type': 'application/jsonp' } })],
    ['of another charset', requestOf({ headers: { 'content-type': 'application/json; charset=latin1' } })],
    ['without a length', requestOf({ headers: { 'content-length': undefined } })],
    ['with a signed length', requestOf({ headers: { 'content-length': '+2' } })],
    ['with two lengths in one header', requestOf({ headers: { 'content-length': '2, 2' } })],
    ['with two length headers', requestOf({ headers: { 'Content-Length': '2' } })],
    ['with a body that is too large', requestOf({ body: ' '.repeat(1_001) })],
    ['with a header twice', requestOf({ headers: { 'x-a': '1', 'X-A': '2' } })],
    ['with a header name that every object has', requestOf({ headers: { constructor: '1' } })],
    ['with a chunked body', requestOf({ headers: { 'transfer-encoding': 'chunked' } })],
    ['with a compressed body', requestOf({ headers: { 'content-encoding': 'gzip' } })],
    ['that asks before it sends the body', requestOf({ headers: { expect: '100-continue' } })],
    ['that asks for another protocol', requestOf({ headers: { upgrade: 'websocket' } })],
    ['that closes the connection', requestOf({ headers: { connection: 'close' } })],
    ['that names headers of the connection', requestOf({ headers: { connection: 'keep-alive, x-a' } })],
    ['that closes the connection of a proxy', requestOf({ headers: { 'proxy-connection': 'close' } })],
    ['that may be of a session', requestOf({ headers: { Cookie: '__Host-tidings=x' } })],
    ['with a space before a colon', requestOf({ headers: { 'x-a ': '1' } })],
    ['with a header continued on the next line', requestOf({ headers: { 'x-a': '1\r\n 2' } })],
    ['with a bare line feed', requestOf({ headers: { 'x-a': '1\nx-b: 2' } })],
    ['with a bare carriage return', requestOf({ headers: { 'x-a': '1\rx-b: 2' } })],
    ['with a NUL', requestOf({ headers: { 'x-a': '\0' } })],
    ['with a character beyond ASCII', requestOf({ headers: { 'x-a': 'é' } })],
    ['that is very large', requestOf({ headers: { 'x-a': 'a'.repeat(4_096) } })],
    ['with more than fifty headers', requestOf({ headers: manyHeaders(48) })],
    ['that is incomplete', requestOf({}).slice(0, 60)],
  ]
  it.each(others)('%s is not recognised', (_what, request) => {
    expect(heads.read(Buffer.from(request))).toBeUndefined()
  })
})

/** Mostly bytes with a meaning in HTTP. */
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

it('the fast path takes a mutated head only if Node reads it equally, regardless of the head before', async () => {
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
      // Identifies a failure.
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
  // Otherwise the test compared too little.
  expect(taken).toBeGreaterThan(200)
})

/** Replaces, removes or inserts one to three characters of a text. */
function mutate(text: string, random: (below: number) => number): string {
  let changed = text
  for (let times = 1 + random(3); times > 0; times--) {
    const index = random(changed.length)
    const sign = SIGNS[random(SIGNS.length)] as string
    changed = changed.slice(0, index) + (random(4) === 0 ? '' : sign) + changed.slice(index + random(2))
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

/** A request as Node reads it, with the length of its body apart from the other headers. */
interface ReadByNode {
  readonly method?: string
  readonly url?: string
  readonly headers?: IncomingMessage['headers']
  readonly body?: string
  readonly length?: number
  readonly refusal?: string
}

/** Node's own server, which answers with the request as it read it. */
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
