// The lifecycle of requests: the order of refusals, their common format, and which input never reaches an operation.
import { request as openRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LIMIT_DEFAULTS } from '../../src/core/workspace.ts'
import type { ErrorBody } from '../../src/http/answers/error-answer.ts'
import { OPERATOR_METHODS, OPERATOR_PATHS } from '../../src/http/operator/operator-routes.ts'
import { pathsOf } from '../../src/http/server.ts'
import { OPERATIONS } from '../../src/operations/operations.ts'
import { callerFor } from '../support/calls/caller-for.ts'
import { RawConnection } from '../support/raw-http.ts'
import { expectRefusal, startServer, type Answer, type TestServer, type TestWorkspace } from '../support/server.ts'

const preference = { user_preferences: { customer_id: 'c1', opt_in_status: 'OPTED_IN' } }
const event = { type: 'event', customer_id: 'c1', actions: [{ action: 'Order Placed' }] }

let server: TestServer
beforeAll(async () => {
  server = await startServer('sqlite')
})
afterAll(() => server.stop())

/** A request to an operation, and what is wrong with it. */
interface Draft {
  method: string
  path: string
  /** If undefined, that of the draft's operation. */
  tile: 'data' | 'reports'
  isSuspended: boolean
  isExhausted: boolean
  key: string | undefined
  headers: Record<string, string>
  body: string
}

interface Defect {
  readonly what: string
  readonly spoil: (draft: Draft) => void
  readonly status: number
  readonly code: string
  readonly message: RegExp
}

/** In the order in which they are refused ("Order of refusals"). */
const DEFECTS: readonly Defect[] = [
  {
    what: 'an unknown path',
    spoil: (draft) => (draft.path = '/nowhere'),
    status: 404,
    code: 'not_found',
    message: /nothing at this path/,
  },
  {
    what: 'another method',
    spoil: (draft) => (draft.method = 'DELETE'),
    status: 405,
    code: 'method_not_allowed',
    message: /takes/,
  },
  {
    what: 'a wrong key',
    spoil: (draft) => (draft.key = 'td_data_wrong'),
    status: 401,
    code: 'unauthorized',
    message: /Authorization/,
  },
  {
    what: 'a suspended workspace',
    spoil: (draft) => (draft.isSuspended = true),
    status: 403,
    code: 'forbidden',
    message: /suspended/,
  },
  {
    what: 'a key of the other tile',
    spoil: (draft) => (draft.tile = 'reports'),
    status: 403,
    code: 'forbidden',
    message: /tile "data"/,
  },
  {
    what: 'another workspace',
    spoil: (draft) => {
      draft.headers['svc-appkey'] = 'other'
      draft.path = draft.path.replace(/\/v1\/event\/.*/, '/v1/event/other')
    },
    status: 403,
    code: 'forbidden',
    message: /different workspace/,
  },
  {
    what: 'a limit that is used up',
    spoil: (draft) => (draft.isExhausted = true),
    status: 429,
    code: 'rate_limited',
    message: /limit/,
  },
  {
    what: 'another media type',
    spoil: (draft) => (draft.headers['content-type'] = 'text/plain'),
    status: 415,
    code: 'unsupported_media_type',
    message: /Content-Type/,
  },
  {
    what: 'too large a body',
    spoil: (draft) => (draft.body += ' '.repeat(1024 * 1024)),
    status: 413,
    code: 'payload_too_large',
    message: /bytes/,
  },
  {
    what: 'broken JSON',
    spoil: (draft) => (draft.body = draft.body.replace('{', '')),
    status: 400,
    code: 'invalid_request',
    message: /valid JSON/,
  },
  {
    what: 'a wrong field',
    spoil: (draft) => (draft.body = draft.body.replace('"c1"', '7')),
    status: 400,
    code: 'invalid_request',
    message: /customer_id/,
  },
]

describe('The order of refusals', () => {
  /** One workspace of each kind, created when it is first needed. */
  const workspaces = new Map<string, Promise<TestWorkspace>>()

  async function makeWorkspace({ isSuspended, isExhausted }: Draft): Promise<TestWorkspace> {
    const workspace = await server.makeWorkspace()
    const limits = { ...LIMIT_DEFAULTS, update_preferences_per_minute: 1, track_events_per_minute: 1 }
    if (!isExhausted) {
      if (isSuspended) await server.changeSettings(workspace, { suspended: true })
      return workspace
    }
    await server.changeSettings(workspace, { limits })
    await send(draftOf('PUT', '/v1.0/opt-in-management/user-preferences', preference), workspace)
    await send(draftOf('POST', '/v1/event/', event), workspace)
    if (isSuspended) await server.changeSettings(workspace, { limits, suspended: true })
    return workspace
  }

  function workspaceOf(draft: Draft): Promise<TestWorkspace> {
    const kind = `${draft.isSuspended} ${draft.isExhausted}`
    const workspace = workspaces.get(kind) ?? makeWorkspace(draft)
    workspaces.set(kind, workspace)
    return workspace
  }

  function draftOf(method: string, path: string, body: unknown): Draft {
    const headers = { 'content-type': 'application/json' }
    const flags = { tile: 'data' as const, isSuspended: false, isExhausted: false, key: undefined }
    return { method, path, headers, body: JSON.stringify(body), ...flags }
  }

  function send(draft: Draft, workspace: TestWorkspace): Promise<Answer<ErrorBody>> {
    const { method, path, tile, key, headers, body } = draft
    const as = key === undefined ? workspace : { ...workspace, dataKey: key, reportsKey: key }
    // A URL that ends in the path of Track Events continues with the workspace.
    const address = path.endsWith('/v1/event/') ? path + workspace.id : path
    return server.call<ErrorBody>(method, address, { as, tile, headers, body })
  }

  const operations: [name: string, method: string, path: string, body: unknown][] = [
    ['Update User Email Opt-in Preferences', 'PUT', '/v1.0/opt-in-management/user-preferences', preference],
    ['Track Events', 'POST', '/v1/event/', event],
  ]
  const pairs = DEFECTS.flatMap((first, index) => DEFECTS.slice(index).map((second) => ({ first, second })))

  describe.each(operations)('of %s', (_name, method, path, body) => {
    // The same minute for all, or an exhausted limit would be reset in between.
    beforeAll(() => server.setClock(Date.parse('2026-03-01T12:00:00Z')))
    afterAll(() => server.setClock(undefined))

    it.each(pairs)('puts $first.what before $second.what', async ({ first, second }) => {
      const draft = draftOf(method, path, body)
      // Spoils the later one first: the earlier one may change the same part, such as the path.
      second.spoil(draft)
      first.spoil(draft)
      const answer = await send(draft, await workspaceOf(draft))
      expect([answer.status, answer.body.error.code]).toEqual([first.status, first.code])
      expect(answer.body.error.message).toMatch(first.message)
    })
  })
})

describe('An unknown path', () => {
  const paths = [
    '/nowhere',
    '/v1/event',
    '/v1/EVENT/main',
    '/V1/event/main',
    '/v1/event/main/code/more',
    '/v1/event/main/code//more/',
    '/v1//event',
    '/core-services/v1/campaign-stats/x',
    '/metrics/x',
  ]
  it.each(paths)('%s is 404, with and without authentication, for any method and body', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const body = method === 'GET' ? undefined : 'x'
      for (const type of ['application/json', 'text/plain', 'none']) {
        const headers = { 'content-type': type }
        expectRefusal(await server.call(method, path, { body, headers }), 404, 'not_found')
        expectRefusal(await server.call(method, path, { as: null, body, headers }), 404, 'not_found')
      }
    }
  })

  it('is 404 if a part of it is longer than any name', async () => {
    expectRefusal(await server.call('POST', `/v1/event/${'x'.repeat(2_000)}`, { body: event }), 404, 'not_found')
  })
})

describe('An extra slash', () => {
  const spoilt: [what: string, spoil: (path: string) => string][] = [
    ['at the end', (path) => `${path}/`],
    ['at the beginning', (path) => `/${path}`],
    ['everywhere', (path) => `${path.replaceAll('/', '//')}//`],
  ]
  const slashes = spoilt.flatMap(([what, spoil]) => OPERATIONS.map((operation) => ({ ...operation, what, spoil })))

  it.each(slashes)('$what reaches $name like the path without it', async ({ method, url, requires, spoil }) => {
    const path = url.replaceAll(':Workspace_ID', 'main').replaceAll(/:\w+/g, 'x')
    const caller = await callerFor(server, requires)
    const send = (address: string) =>
      server.call<ErrorBody>(method, `${address}?x=1`, {
        ...caller,
        ...(method !== 'GET' && { body: {} }),
      })
    const [plain, more] = [await send(path), await send(spoil(path))]
    expect([more.status, more.body.error.code, more.body.error.details]).toEqual([
      plain.status,
      plain.body.error.code,
      plain.body.error.details,
    ])
    expect(more.headers.get('x-ratelimit-limit')).toBe(plain.headers.get('x-ratelimit-limit'))
    expect(more.headers.has('x-ratelimit-limit')).toBe(true)
  })

  it('leaves the query as it was sent', async () => {
    const id = 'a//b/'
    await server.call('POST', '/v1/customer/main', { body: { type: 'customer', customer_id: id } })
    const answer = await server.call<ErrorBody>('GET', `//v1/customer/main/?customer_id=${id}x`)
    expectRefusal(answer, 404, 'not_found')
    expect(answer.body.error.message).toContain('user')
  })

  const empty: [method: string, path: string, status: number, allow: string | null][] = [
    ['POST', '/v1/customer/', 404, null],
    ['GET', '/v1/customer/', 404, null],
    ['PUT', '/v1/customer/', 405, 'POST, GET, DELETE'],
    ['POST', '/v1/event/', 404, null],
    ['PATCH', '/v1/coupon-list/', 405, 'POST, GET'],
    ['PUT', '/v1/coupon-list//archive', 405, 'GET, PATCH'],
    ['POST', '/v1/coupon-list//coupons', 405, 'GET, PATCH'],
    ['GET', '/v1/event/main/requests/', 405, 'POST'],
    ['GET', '/v1/event//requests/x', 405, 'POST'],
    ['POST', '/core-services/v1/campaigns//audience', 405, 'GET, PATCH, DELETE'],
    ['DELETE', '/v1/event/main//', 405, 'POST, GET'],
  ]
  it.each(empty)('is not read as an empty name: %s %s is %i', async (method, path, status, allow) => {
    const answer = await server.call(method, path, { tile: 'data', ...(method !== 'GET' && { body: event }) })
    expect([answer.status, answer.headers.get('allow')]).toEqual([status, allow])
  })
})

describe('A wrong method', () => {
  const operatorPaths = OPERATOR_PATHS.map((path): [string, readonly string[]] => [path, OPERATOR_METHODS])
  const all: [path: string, allowed: readonly string[]][] = [...pathsOf(OPERATIONS), ...operatorPaths]
  const isAt = (path: string, address: string) => new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]*')}$`).test(address)
  /** Each path with the methods of all paths that an address may mean. */
  const paths = all.map(([path]): [path: string, allowed: readonly string[]] => {
    const meant = all.filter(([other]) => isAt(other, path.replaceAll(/:\w+/g, 'x')))
    return [path, meant.flatMap(([, allowed]) => allowed)]
  })
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'QUERY']

  it.each(paths)('at %s is 405 with Allow: %s', async (path, allowed) => {
    const address = path.replaceAll(/:\w+/g, 'x')
    for (const method of methods.filter((name) => !methodsAt(address).includes(name))) {
      const { status, allow, body } = await call(method, address, { 'content-type': 'none' })
      const isTold = body.includes('"method_not_allowed"')
      expect([method, status, allow, isTold]).toEqual([method, 405, allowed.join(', '), method !== 'HEAD'])
    }
  })

  it.each(paths)('at %s with empty parts in the path is 405 with Allow: %s', async (path, allowed) => {
    const { status, allow } = await call('OPTIONS', path.replaceAll(/:\w+/g, ''))
    expect([status, allow]).toEqual([405, allowed.join(', ')])
  })

  it('is 405 at every path, unlike the methods that the path allows', async () => {
    for (const [path, allowed] of paths) {
      for (const method of allowed) {
        const { status } = await call(method, path.replaceAll(/:\w+/g, 'x'))
        expect([method, path, status === 405 || status === 404]).toEqual([method, path, false])
      }
    }
  })

  /** Of every path that the address matches: `…/email/search` also matches `…/email/:external_template_id`. */
  function methodsAt(address: string): string[] {
    return paths.flatMap(([path, allowed]) => {
      return new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`).test(address) ? allowed : []
    })
  }

  /** Sent by Node's own client: `fetch` changes some methods. */
  function call(method: string, path: string, headers: Record<string, string> = {}) {
    return new Promise<{ status: number | undefined; allow: string | undefined; body: string }>((resolve, reject) => {
      const sent = openRequest(new URL(path, server.url), { method, headers }, (answer) => {
        let body = ''
        answer.setEncoding('utf8').on('data', (text: string) => (body += text))
        answer.on('end', () => resolve({ status: answer.statusCode, allow: answer.headers.allow, body }))
      })
      sent.on('error', reject).end()
    })
  }
})

describe('The request id', () => {
  it('is generated by the server, a new one for each response', async () => {
    const answers = await Promise.all([
      server.call('POST', '/v1/event/main', { body: event }),
      server.call('POST', '/v1/event/main', { body: {} }),
      server.call('POST', '/v1/event/main', { body: event, as: null }),
      server.call('DELETE', '/v1/event/main'),
      server.call('GET', '/nowhere'),
      server.call('GET', '/v1/event/%zz'),
      server.call('GET', '/healthz'),
      server.call('GET', '/docs'),
    ])
    const ids = answers.map(({ headers }) => headers.get('x-request-id'))
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 401, 405, 404, 404, 200, 200])
    expect(ids.every((id) => /^[0-9a-f-]{36}$/.test(id ?? ''))).toBe(true)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('is never the id that a client sends', async () => {
    const headers = { 'x-request-id': 'mine', 'request-id': 'mine' }
    const accepted = await server.call<{ request_id: string }>('POST', '/v1/event/main', { body: event, headers })
    expect(accepted.headers.get('x-request-id')).not.toBe('mine')
    expect(accepted.body.request_id).toBe(accepted.headers.get('x-request-id'))
    expectRefusal(await server.call('GET', '/nowhere', { headers }), 404, 'not_found')
  })
})

describe('SVC-APPKEY', () => {
  const update = (headers: Record<string, string | undefined>) =>
    server.call('PUT', '/v1.0/opt-in-management/user-preferences', { body: preference, headers })

  it.each([[undefined], ['']])('is required: %j is 400', async (value) => {
    expectRefusal(await update({ 'svc-appkey': value }), 400, 'invalid_request', ['header.SVC-APPKEY'])
  })

  it.each(['other', 'MAIN', 'main, main', 'main,other'])('must be the Basic user name: %s is 403', async (value) => {
    expectRefusal(await update({ 'svc-appkey': value }), 403, 'forbidden', ['header.SVC-APPKEY'])
  })

  it('is ignored if it is not required', async () => {
    for (const value of [undefined, 'other']) {
      const answer = await server.call('POST', '/v1/event/main', { body: event, headers: { 'svc-appkey': value } })
      expect(answer.status).toBe(200)
    }
  })

  it('is named with every other fault if it is missing', async () => {
    const path = '/v1.0/opt-in-management/user-preferences?x=1'
    const answer = await server.call('PUT', path, { body: {}, headers: { 'svc-appkey': undefined } })
    expectRefusal(answer, 400, 'invalid_request', ['header.SVC-APPKEY', 'query.x', 'user_preferences'])
  })

  it.each([
    { what: 'is broken', body: '{"user_preferences":', field: 'body' },
    { what: 'is empty', body: '', field: 'body' },
    { what: 'has a key twice', body: '{"user_preferences":[],"user_preferences":[]}', field: 'user_preferences' },
  ])('is named as missing together with a body that $what', async ({ body, field }) => {
    const path = '/v1.0/opt-in-management/user-preferences?x=1'
    const headers = { 'svc-appkey': undefined, 'content-type': 'application/json' }
    const answer = await server.call('PUT', path, { body, headers })
    expectRefusal(answer, 400, 'invalid_request', ['header.SVC-APPKEY', 'query.x', field])
  })
})

describe('A workspace', () => {
  it.each(['other', 'MAIN', '%6Dain%20', 'main%00', 'x'])(
    'in the path must equal the user name, otherwise 403: %s',
    async (id) => {
      const answer = await server.call('POST', `/v1/event/${id}`, { body: event })
      expectRefusal(answer, 403, 'forbidden', ['path.Workspace_ID'])
    },
  )

  it('in the path may be percent-encoded', async () => {
    expect((await server.call('POST', '/v1/event/%6dain', { body: event })).status).toBe(200)
  })

  it('cannot be accessed with the key of another', async () => {
    const other = await server.makeWorkspace()
    const as = { ...server.workspace, dataKey: other.dataKey }
    expectRefusal(await server.call('POST', '/v1/event/main', { as, body: event }), 401, 'unauthorized')
  })

  it('that is suspended gets 403 from every operation for every key, until it is resumed', async () => {
    const as = await server.makeWorkspace()
    const send = () => server.call('POST', `/v1/event/${as.id}`, { as, body: event })
    await server.changeSettings(as, { suspended: true })
    expectRefusal(await send(), 403, 'forbidden')
    await server.changeSettings(as, { suspended: false })
    expect((await send()).status).toBe(200)
  })
})

describe('Unknown fields', () => {
  it('are ignored by Track Events', async () => {
    const body = { ...event, app_id: 'x', actions: [{ ...event.actions[0], sdk: { version: 1 } }] }
    expect((await server.call('POST', '/v1/event/main?app_id=x', { body })).status).toBe(200)
  })

  const strict = OPERATIONS.filter(({ body, name }) => body && name !== 'track_events' && name !== 'track_user')
  it.each(strict)('are refused by $summary', async ({ method, url, requires }) => {
    const path = `${url.replaceAll(':Workspace_ID', 'main').replaceAll(/:\w+/g, 'x')}?mistyped=1`
    const answer = await server.call<ErrorBody>(method, path, {
      ...(await callerFor(server, requires)),
      body: { mistyped: 1 },
    })
    const fields = answer.body.error.details.map(({ field }) => field)
    expect(fields).toEqual(expect.arrayContaining(['mistyped', 'query.mistyped']))
  })
})

describe('Malformed input', () => {
  const junk = [
    '/v1/event/%',
    '/v1/event/%zz',
    '/v1/event/%ff',
    '/v1/event/%c0%af',
    '/v1/event/%00',
    '/v1/event/main%2f..%2fother',
    '/v1/event/../metrics%00',
    '/v1/event/main?%',
    '/v1/event/main?%zz=%zz',
    '/v1/event/main?project_code=%ff',
    '/v1/event/main?project_code=%00',
    '/v1/event/main?project_code=a&project_code=b',
    '/v1/event/main?project_code[]=a&project_code[b]=c',
    '/v1/event/main?__proto__=x&constructor=y',
    '/v1/event/main?__proto__[x]=y',
    `/v1/event/main?${'a=1&'.repeat(2_000)}`,
    '/v1/event/main?&&==&=',
    '/v1/event/main;x=1',
    '/v1/event/__proto__',
    '/v1/event/main/__proto__',
    '/v1/event/main/requests/%ff',
    '/v1/event/main/requests/%00',
    '/v1/customer/main?customer_id=%00',
    '/v1/customer/main?customer_id=a&customer_id=b',
    '/v1/customer/main?__proto__=x',
    '/v1/coupon-list/%00',
    '/v1/coupon-list/%E0%A4%A',
    '/v1/coupon-list/?status=%zz',
    '/docs/%00',
    '/docs/..%2f..%2fpackage.json',
    '/?x=%ff',
  ]
  it.each(junk)('never causes a 5xx: %s', async (path) => {
    for (const [method, body] of [['GET'], ['POST', event], ['PUT', {}], ['PATCH', {}]] as const) {
      for (const tile of ['data', 'reports'] as const) {
        const answer = await server.call<Partial<ErrorBody>>(method, path, { tile, body })
        expect(answer.status).toBeLessThan(500)
        if (answer.status < 400) continue
        expect(answer.body.error?.request_id).toBe(answer.headers.get('x-request-id'))
      }
    }
  })

  // Ajv accepts the first three as integers within all bounds, which would read everything or never end.
  it.each(['Infinity', '-Infinity', '1e400', '+5', '0x10', ''])('is refused as a limit: %j', async (limit) => {
    const path = `/core-services/v1/campaigns?limit=${encodeURIComponent(limit)}`
    expectRefusal(await server.call('GET', path, { tile: 'reports' }), 400, 'invalid_request', ['query.limit'])
  })

  it.each(['%FC', 'M%FCller', '%', '100%', '%ZZ', '%ED%A0%80', '%C0%80'])(
    'is refused in an undecodable query parameter: %s',
    async (sent) => {
      const customer_id = sent
      await server.call('POST', '/v1/customer/main', { body: { type: 'customer', customer_id } })
      const answer = await server.call<ErrorBody>('GET', `/v1/customer/main?x%79z=%C3%A9&customer%5Fid=${sent}`)
      expectRefusal(answer, 400, 'invalid_request', ['query.customer_id', 'query.xyz'])
      expect(answer.body.error.details).toContainEqual({
        field: 'query.customer_id',
        problem: 'must be percent-encoded UTF-8',
      })
    },
  )

  it('is ignored in an undecodable query parameter that no operation reads', async () => {
    const body = { type: 'event', customer_id: 'a', actions: [{ action: 'A' }] }
    expect((await server.call('POST', '/v1/event/main?utm=%FC', { body })).status).toBe(200)
  })

  it.each([
    ['/v1/customer/main?customer_id=a&customer_id=b', 'customer_id'],
    ['/v1/event/main?customer_id=a&limit=1&limit=1', 'limit'],
  ])('is refused in a query parameter that is given twice: %s', async (path, name) => {
    const answer = await server.call<{ error: { details: object[] } }>('GET', path)
    expectRefusal(answer, 400, 'invalid_request', [`query.${name}`])
    expect(answer.body.error.details).toEqual([{ field: `query.${name}`, problem: 'must be given only once' }])
  })
})

describe('Input that is not HTTP', () => {
  const broken: [what: string, text: string][] = [
    ['no HTTP at all', 'hello\r\n\r\n'],
    ['TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003'],
    ['an unknown method', 'FETCH / HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['an unknown version', 'GET / HTTP/3.7\r\nhost: x\r\n\r\n'],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n'],
    ['two Hosts', 'GET /healthz HTTP/1.1\r\nhost: x\r\nHost: y\r\n\r\n'],
    ['the same Host twice', 'GET /healthz HTTP/1.0\r\nhost: x\r\nhost: x\r\n\r\n'],
    ['a header without a name', 'GET / HTTP/1.1\r\nhost: x\r\n: y\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
    [
      'a length beside chunks',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a URL of a hundred thousand characters', `GET /${'x'.repeat(100_000)} HTTP/1.1\r\nhost: x\r\n\r\n`],
    ['a header of a hundred thousand characters', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(100_000)}\r\n\r\n`],
    ['ten thousand headers', `GET / HTTP/1.1\r\nhost: x\r\n${'x: y\r\n'.repeat(10_000)}\r\n`],
  ]
  it.each(broken)('gets the usual error body: %s', async (_what, text) => {
    await expectBroken(text)
  })

  it('gets the usual error body: a chunk without a size', async () => {
    const { id, dataKey } = server.workspace
    const head = [
      'host: x',
      `authorization: Basic ${Buffer.from(`${id}:${dataKey}`).toString('base64')}`,
      'content-type: application/json',
      'transfer-encoding: chunked',
    ]
    await expectBroken(`POST /v1/event/main HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\nzz\r\nab\r\n`)
  })

  async function expectBroken(text: string): Promise<void> {
    const connection = await RawConnection.open(server.url)
    await connection.write(Buffer.from(text, 'latin1'))
    const answer = await connection.nextAnswer()
    const body = JSON.parse(answer.body) as ErrorBody
    expect([answer.status, body.status, body.error.code]).toEqual([400, 'fail', 'invalid_request'])
    expect(body.error.request_id).toBe(answer.headers.get('x-request-id'))
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    connection.close()
  }

  const unusual: [what: string, text: string, status: number][] = [
    ['HTTP/1.0 without a Host', 'GET /healthz HTTP/1.0\r\n\r\n', 200],
    ['an unknown expectation', 'GET /healthz HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\n\r\n', 200],
    ['an upgrade request', 'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n', 200],
    ['a tunnel request', 'CONNECT x:80 HTTP/1.1\r\nhost: x:80\r\n\r\n', 404],
    ['an absolute URL', `GET http://x/healthz HTTP/1.1\r\nhost: x\r\n\r\n`, 200],
    ['a body with GET', 'GET /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nab', 200],
  ]
  it.each(unusual)('is distinguished from %s', async (_what, text, status) => {
    const connection = await RawConnection.open(server.url)
    await connection.write(text)
    const answer = await connection.nextAnswer()
    expect([answer.status, answer.headers.has('x-request-id')]).toEqual([status, true])
    connection.close()
  })
})
