// The diagnostics that operators read: they identify a request, but never contain what a client sent, even after errors.
import { Writable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import Fastify from 'fastify'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { newDiagnostics } from '../../src/commands/diagnostics.ts'
import type { ErrorBody } from '../../src/http/answers/error-answer.ts'
import { loggerOptions } from '../../src/http/requests/request-diagnostics.ts'
import { describeError } from '../../src/store/describe-error.ts'
import { TablesAreNewer } from '../../src/store/migrations.ts'
import { StoreError, Unreachable } from '../../src/store/store.ts'
import { RawConnection } from '../support/raw-http.ts'
import { newTemplate, SEARCH, TEMPLATES } from '../support/calls/template-calls.ts'
import { trackingOf, type AcceptedBody } from '../support/calls/tracking.ts'
import { describeEachStore, describeOnPostgres, type StoreKind } from '../support/stores.ts'
import { expectRefusal, startServer, until, type Answer, type CallOptions, type TestServer } from '../support/server.ts'

interface Line {
  readonly level: number
  readonly msg?: string
  readonly request_id?: string
  readonly client_request_id?: string
  readonly operation?: string
  readonly status?: number
  readonly duration_ms?: number
  readonly reason?: string
  readonly code?: string
  readonly path?: string
  readonly err?: { readonly type: string; readonly message?: string; readonly stack?: readonly string[] }
}

const [WARN, ERROR] = [40, 50]
/** Appears in every part of the requests. */
const SECRET = 'secret'
const headers = {
  'x-request-id': 'client-id-1',
  'x-forwarded-for': '203.0.113.77',
  'idempotency-key': `${SECRET}-idempotency`,
  'user-agent': `${SECRET}-agent`,
  cookie: `${SECRET}-cookie`,
}

class Diagnostics {
  readonly #texts: string[] = []
  readonly logger

  constructor(level: string) {
    const stream = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.#texts.push(chunk.toString('utf8'))
        done()
      },
    })
    this.logger = newDiagnostics(level, stream)
  }

  get text(): string {
    return this.#texts.join('')
  }

  get lines(): Line[] {
    return this.#texts.map((text) => JSON.parse(text) as Line)
  }

  of(requestId: string | null): Line[] {
    return this.lines.filter((line) => line.request_id === requestId)
  }
}

async function withServer(
  kind: StoreKind,
  level: string,
  work: (server: TestServer, diagnostics: Diagnostics) => Promise<void>,
): Promise<Diagnostics> {
  const diagnostics = new Diagnostics(level)
  const server = await startServer(kind, {}, { diagnostics: diagnostics.logger })
  try {
    await work(server, diagnostics)
  } finally {
    await server.stop()
  }
  return diagnostics
}

/**
 * Sends the secret in every part of a request; the server refuses or accepts the requests as usual. `untilApplied`: waits for the event
 * that was accepted, because a question about users that the pipeline does not finish in time is refused, with a warning.
 */
async function sendSecrets(
  server: TestServer,
  untilApplied?: (sent: Answer<AcceptedBody>) => Promise<unknown>,
): Promise<void> {
  const attributes = { [`${SECRET}_name`]: `${SECRET}-value`, email: `${SECRET}@example.com` }
  const event = { type: 'event', customer_id: `${SECRET}-user`, actions: [{ action: `${SECRET}-action`, attributes }] }
  const user = { type: 'customer', customer_id: `${SECRET}-user`, attributes }
  const call = (method: string, path: string, body?: unknown, more: Record<string, string> = {}) =>
    server.call(method, path, { body, headers: { ...headers, ...more } })
  const sent = await call('POST', '/v1/event/main', event)
  await untilApplied?.(sent as Answer<AcceptedBody>)
  await call('POST', '/v1/event/main', { ...event, actions: [] })
  await call('POST', '/v1/event/main', { ...event, type: SECRET, [SECRET]: SECRET })
  await call('POST', '/v1/event/main', `{"${SECRET}": ${SECRET}`)
  await call('POST', '/v1/event/main', gzipSync(SECRET), { 'content-encoding': 'gzip' })
  await call('POST', '/v1/event/main', SECRET, { 'content-encoding': 'gzip' })
  await call('POST', '/v1/event/main', SECRET, { 'content-type': SECRET })
  await call('POST', '/v1/event/main', SECRET.repeat(100_000))
  await call('POST', `/v1/event/${SECRET}`, event)
  await call('POST', '/v1/customer/main', user)
  await call('GET', `/v1/customer/main?email=${SECRET}@example.com`)
  await call('GET', `/v1/customer/main?customer_id=${SECRET}-user&${SECRET}=1`)
  await call('GET', `/v1.0/opt-in-management/user-preferences?email_id=${SECRET}@example.com`)
  await call('GET', `/v1.0/opt-in-management/user-preferences`, undefined, { 'svc-appkey': SECRET })
  await call('PUT', '/v1.0/opt-in-management/user-preferences', { user_preferences: { email_id: SECRET } })
  await call('GET', `/${SECRET}/%ff?${SECRET}`)
  await call('DELETE', `/v1/event/${SECRET}`, SECRET)
  const wrongKey = { id: 'main', dataKey: `${SECRET}-key`, reportsKey: SECRET }
  await server.call('POST', '/v1/event/main', { as: wrongKey, body: event, headers })
  await server.call('POST', '/v1/event/main', { as: null, headers: { ...headers, authorization: SECRET } })
}

async function sendBroken(server: TestServer): Promise<void> {
  for (const text of [`${SECRET}\r\n\r\n`, `GET / HTTP/1.1\r\n${SECRET}: ${SECRET}\r\n\r\n`]) {
    const connection = await RawConnection.open(server.url)
    await connection.write(text)
    expect((await connection.nextAnswer()).status).toBe(400)
    connection.close()
  }
}

/** A client that disconnects in the middle of its body. */
async function sendHalf({ url, workspace }: TestServer): Promise<void> {
  const connection = await RawConnection.open(url)
  const credentials = Buffer.from(`${workspace.id}:${workspace.dataKey}`).toString('base64')
  const head = `POST /v1/event/main HTTP/1.1\r\nhost: x\r\nauthorization: Basic ${credentials}\r\n`
  await connection.write(`${head}content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"${SECRET}`)
  connection.close()
}

function expectNothingSent(diagnostics: Diagnostics, { workspace }: TestServer): void {
  const basic = Buffer.from(`${workspace.id}:${workspace.dataKey}`).toString('base64')
  for (const word of [SECRET, '203.0.113', '127.0.0.1:', workspace.dataKey, workspace.reportsKey, basic]) {
    const found = diagnostics.text.split('\n').filter((line) => line.includes(word) && !line.includes('listening'))
    expect([word, found]).toEqual([word, []])
  }
}

describeEachStore('Diagnostics', (kind) => {
  it('contain nothing that clients sent, even at the finest level, and no warning if nothing failed', async () => {
    const diagnostics = await withServer(kind, 'trace', async (server, lines) => {
      await sendSecrets(server, (sent) => trackingOf(server).fateOf(sent))
      await sendBroken(server)
      for (let index = 0; index < 20; index++) await sendHalf(server)
      expect((await server.call('GET', '/healthz')).status).toBe(200)
      expectNothingSent(lines, server)
    })
    expect(diagnostics.lines.filter(({ level }) => level >= WARN)).toEqual([])
    expect(diagnostics.lines.filter(({ msg }) => msg === 'request').length).toBeGreaterThan(15)
  })

  it('contain nothing that clients sent while the store is broken, and one line for every failure', async () => {
    await withServer(kind, 'info', async (server, diagnostics) => {
      await server.database.write(async ({ query }) => {
        await query.schema.dropTable('user_identities').execute()
      })
      await sendSecrets(server)
      const answer = await server.call('GET', `/v1/customer/main?customer_id=${SECRET}`, { headers })
      expectRefusal(answer, 500, 'internal')
      expect(JSON.stringify(answer.body)).not.toContain('user_identities')
      const lines = diagnostics.of(answer.headers.get('x-request-id'))
      expect(lines).toMatchObject([
        { level: ERROR, operation: 'get_user', client_request_id: 'client-id-1', workspace_id: 'main' },
      ])
      expect(lines[0]?.err?.message).toContain('user_identities')
      expect(lines[0]?.err?.stack?.length).toBeGreaterThan(0)
      const isOfPipeline = ({ msg }: Line) => msg?.includes('cannot be applied')
      const failed = await until('the pipeline has failed too', () => diagnostics.lines.find(isOfPipeline))
      expect([lines[0]?.err?.type, failed.err?.type]).toEqual(['StoreError', 'StoreError'])
      expectNothingSent(diagnostics, server)
    })
  })

  it('contain a line for every request at level debug: operation, status, duration, id of the client', async () => {
    const ids: (string | null)[] = []
    const diagnostics = await withServer(kind, 'debug', async (server) => {
      const body = { type: 'event', customer_id: 'c1', actions: [{ action: 'Opened' }] }
      const long = { 'x-request-id': 'x'.repeat(1_000) }
      const answers = [
        await server.call('POST', '/v1/event/main', { body, headers }),
        await server.call('POST', '/v1/event/main', { body: {}, headers: long }),
        await server.call('GET', '/nowhere'),
      ]
      ids.push(...answers.map((answer) => answer.headers.get('x-request-id')))
    })
    const duration_ms = expect.any(Number) as number
    const common = { level: 20, msg: 'request', duration_ms }
    expect(ids.map((id) => diagnostics.of(id))).toMatchObject([
      [{ ...common, operation: 'track_events', method: 'POST', status: 200, client_request_id: 'client-id-1' }],
      [{ ...common, operation: 'track_events', method: 'POST', status: 400, client_request_id: 'x'.repeat(128) }],
      [{ ...common, operation: 'none', method: 'GET', status: 404 }],
    ])
    expect(diagnostics.of(ids[0] as string)[0]?.duration_ms).toBeGreaterThan(0)
  })

  it('contain path, code and reason of every refusal at level debug, without what clients sent', async () => {
    const ids: (string | null)[] = []
    const diagnostics = await withServer(kind, 'debug', async (server) => {
      const call = async (method: string, path: string, options: CallOptions = {}) => {
        ids.push((await server.call(method, path, options)).headers.get('x-request-id'))
      }
      await call('POST', '/v1/event/main', { body: { type: 'event', [SECRET]: SECRET } })
      const action = { action: 'Opened', attributes: { [SECRET.repeat(100)]: 1 } }
      await call('POST', '/v1/event/main', { body: { type: 'event', customer_id: 'c1', actions: [action] } })
      await call('POST', '/v1/event/main', { body: `{"${SECRET}": ` })
      await call('GET', `/v1/customer/main?customer_id=${SECRET}`)
      await call('POST', '/v1/event/main', { as: null, body: {} })
      await call('GET', `/${SECRET}`)
      await call('DELETE', '/v1/event/main')
    })
    const path = '/v1/event/:Workspace_ID'
    expect(ids.map((id) => diagnostics.of(id)[0])).toMatchObject([
      {
        path,
        code: 'invalid_request',
        reason: 'actions is required; customer_id is required',
      },
      { path, code: 'invalid_request', reason: expect.stringMatching(/^a field /) as string },
      { path, code: 'invalid_request', reason: expect.stringContaining('must be valid JSON') as string },
      { path: '/v1/customer/:Workspace_ID', code: 'not_found', reason: expect.any(String) as string },
      { path, code: 'unauthorized', reason: expect.any(String) as string },
      { code: 'not_found', reason: 'There is nothing at this path.' },
      { code: 'method_not_allowed', reason: 'This path takes only POST, GET.' },
    ])
    expect(diagnostics.text).not.toContain(SECRET)
  })

  it('contain the reason for a 503', async () => {
    let id: string | null = null
    const diagnostics = await withServer(kind, 'info', async (server) => {
      // The server has no key to encrypt with.
      const as = await server.makeWorkspace({ emailProtection: 'encrypted' })
      const body = { type: 'customer', customer_id: 'c1', attributes: { email: 'a@example.com' } }
      const answer = await server.call('POST', `/v1/customer/${as.id}`, { as, body })
      expectRefusal(answer, 503, 'unavailable')
      id = answer.headers.get('x-request-id')
    })
    const reason = expect.stringContaining('PII_KEY') as string
    expect(diagnostics.of(id)).toMatchObject([{ level: WARN, operation: 'track_user', reason }])
  })

  it('contain a line at level debug even for an unreadable path and for input that is not HTTP', async () => {
    const ids: string[] = []
    const diagnostics = await withServer(kind, 'debug', async ({ url }) => {
      for (const sent of [`GET /%zz${SECRET} HTTP/1.1\r\nhost: x\r\n\r\n`, `${SECRET}\r\n\r\n`]) {
        const connection = await RawConnection.open(url)
        await connection.write(sent)
        ids.push((await connection.nextAnswer()).headers.get('x-request-id') as string)
        connection.close()
      }
    })
    const common = { level: 20, msg: 'request', operation: 'none', code: expect.any(String) as string }
    const duration_ms = expect.any(Number) as number
    expect(ids.map((id) => diagnostics.of(id))).toMatchObject([
      [{ ...common, method: 'GET', status: 404, duration_ms }],
      [{ ...common, status: 400 }],
    ])
    expect(diagnostics.text).not.toContain(SECRET)
  })

  it('contain no line at level info for a refusal that is not the fault of the server', async () => {
    const diagnostics = await withServer(kind, 'info', async (server) => {
      await server.call('POST', '/v1/event/main', { body: {} })
      await server.call('GET', '/nowhere')
    })
    expect(diagnostics.lines.filter(({ request_id }) => request_id !== undefined)).toEqual([])
  })

  it('contain no error for a client that disconnects before its large answer', async () => {
    const diagnostics = await withServer(kind, 'info', async (server) => {
      const made = await server.call('POST', TEMPLATES, { body: newTemplate({}, LARGE) })
      expect(made.status).toBe(200)
      const body = JSON.stringify({ page: 1, entries: 15 })
      const head = `POST ${SEARCH} HTTP/1.1\r\nhost: x\r\nauthorization: ${basicOf(server)}\r\n`
      for (let count = 0; count < 20; count++) {
        const connection = await RawConnection.open(server.url)
        await connection.write(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
        connection.close()
      }
      // This one is answered after all of them.
      expect((await server.call('POST', SEARCH, { body: { page: 1, entries: 15 } })).status).toBe(200)
    })
    expect(diagnostics.lines.filter(({ level }) => level >= ERROR)).toEqual([])
  })
})

const LARGE = { email_content: 'x'.repeat(600 * 1024) }

function basicOf({ workspace: { id, dataKey } }: TestServer): string {
  return `Basic ${btoa(`${id}:${dataKey}`)}`
}

describeOnPostgres('Diagnostics while neither store nor log can be written', () => {
  it('contain in detail why store and log cannot be written, while answers name neither products nor codes', async () => {
    const ids: (string | null)[] = []
    const answers: ErrorBody[] = []
    const diagnostics = await withServer('postgres', 'info', async (server) => {
      await server.database.write(async ({ query }) => {
        await sql`drop table log_keys`.execute(query)
        await sql`alter table workspace_revisions rename to gone`.execute(query)
      })
      const event = { type: 'event', customer_id: 'c1', actions: [{ action: 'A' }] }
      // Over the fast path, over the server of Node, and to an operator.
      for (const sent of [
        await server.call<ErrorBody>('POST', '/v1/event/main', { body: event }),
        await server.call<ErrorBody>('POST', '/v1/event/main?x=1', { body: event }),
        await server.call<ErrorBody>('GET', '/readyz'),
      ]) {
        expectRefusal(sent, 503, 'unavailable')
        ids.push(sent.headers.get('x-request-id'))
        answers.push(sent.body)
      }
    })
    expect(answers.map(({ error }) => error.message)).toEqual([
      'The log is unavailable. Retry after 1 second.',
      'The log is unavailable. Retry after 1 second.',
      'Not ready: the store cannot be written; the log cannot be written.',
    ])
    const reason = expect.stringMatching(/^The log cannot be written.*42P01/) as string
    const causes = [{ code: '42P01' }, { message: reason }]
    expect(ids.map((id) => diagnostics.of(id))).toMatchObject([[{ reason }], [{ reason }], [{ causes }]])
  })
})

describe('The description of an error', () => {
  const errors: [what: string, error: unknown, description: object][] = [
    ['its own message', new TypeError('x is not a function'), { type: 'TypeError', message: 'x is not a function' }],
    [
      "the database's message and code",
      new StoreError('other', '42P01', 'relation "x" does not exist'),
      { type: 'StoreError', code: '42P01', message: 'relation "x" does not exist' },
    ],
    [
      'no message that quotes data',
      new StoreError('other', '22P02', `invalid input syntax: "${SECRET}"`),
      { type: 'StoreError', code: '22P02' },
    ],
    ['no message that quotes JSON', new SyntaxError(`Unexpected token in "${SECRET}"`), { type: 'SyntaxError' }],
    ['only the type of a thrown value that is not an error', SECRET, { type: 'string' }],
    [
      'why the database cannot be reached',
      new Unreachable('connect ECONNREFUSED'),
      {
        type: 'AppError',
        message: 'The database is unreachable. Retry after 1 second.',
        reason: 'connect ECONNREFUSED',
      },
    ],
  ]
  it.each(errors)('contains %s', (_what, error, description) => {
    const { stack, ...described } = describeError(error)
    expect(described).toEqual(description)
    expect(JSON.stringify(stack) ?? '').not.toContain(SECRET)
  })

  it('contains a stack trace only for an unexpected error', () => {
    expect(describeError(new TypeError('x')).stack?.length).toBeGreaterThan(0)
    expect(describeError(new TablesAreNewer('9999-later'))).toEqual({
      type: 'AppError',
      message: 'the database was migrated by a newer version of Tidings: it has the migration 9999-later',
    })
  })
})

it('Fastify describes errors in its own lines like the server does', async () => {
  const diagnostics = new Diagnostics('info')
  const app = Fastify(loggerOptions(diagnostics.logger))
  app.log.error({ err: new SyntaxError(SECRET) }, 'of a request')
  diagnostics.logger.error({ err: new SyntaxError(SECRET) }, 'of the server')
  expect(diagnostics.lines.map(({ msg, err }) => [msg, err?.type])).toEqual([
    ['of a request', 'SyntaxError'],
    ['of the server', 'SyntaxError'],
  ])
  expect(diagnostics.text).not.toContain(SECRET)
})

it('Fastify writes neither headers nor bodies of requests and replies', async () => {
  const diagnostics = new Diagnostics('info')
  const app = Fastify(loggerOptions(diagnostics.logger))
  app.post('/', (request, reply) => {
    expect(request.log).toBe(app.log)
    return reply.header('x-secret', SECRET).send({ answer: SECRET })
  })
  await app.inject({ method: 'POST', url: '/', headers, payload: { body: SECRET } })
  expect(diagnostics.lines.map(({ msg }) => msg)).toEqual(['incoming request', 'request completed'])
  expect(diagnostics.text).not.toContain(SECRET)
})
