// The server answers hostile input with a reason and keeps working: it never answers 5xx, parks nothing that it accepted, and
// always answers in our format. A failure names the seed and the input.
import { randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LIMIT_DEFAULTS, type Limits } from '../../src/core/workspace.ts'
import type { ErrorBody } from '../../src/http/answers/error-answer.ts'
import type { Operation } from '../../src/operations/operation.ts'
import { OPERATIONS } from '../../src/operations/operations.ts'
import { countParkedEntries, listParkedEntries } from '../../src/store/entries/parked-entries.ts'
import { anyHostileBody, anyHostileText } from './hostile-bodies.ts'
import { callerFor } from '../support/calls/caller-for.ts'
import { propertyRuns } from '../support/random/property-runs.ts'
import { startServer, until, type Answer, type TestServer, type TestWorkspace } from '../support/server.ts'
import { describeEachStore, type StoreKind } from '../support/stores.ts'
import { trackingOf, type AcceptedBody } from '../support/calls/tracking.ts'

const SEED = Number(process.env['HOSTILE_SEED'] ?? Date.now() % 2 ** 31)
/** How many mutated bodies are sent: to Track Events and Track User, and to every other operation. */
const BODIES: Readonly<Record<StoreKind, { main: number; other: number }>> = {
  sqlite: { main: propertyRuns(1_000), other: propertyRuns(40) },
  postgres: { main: propertyRuns(600), other: propertyRuns(20) },
}
const TEXTS = propertyRuns(20)
const AT_ONCE = 25
const UNLIMITED = Object.fromEntries(
  Object.keys(LIMIT_DEFAULTS).map((name) => [name, 1_000_000_000]),
) as unknown as Limits

const EVENTS = {
  type: 'event',
  customer_id: 'c1',
  device_id: 'd1',
  user_identifiers: { crm: 'x', svc_mobile: '1' },
  actions: [
    { action: 'A', attributes: { text: 'x', number: 1, list: [{ deep: {} }] }, platform: 'WEB', app_version: '1' },
    { action: 'B', user_time: '2026-01-01', current_time: 1_777_888_800, user_timezone_offset: 3600, event_id: 'e' },
  ],
}
const USER = {
  type: 'customer',
  customer_id: 'c1',
  user_identifiers: { crm: 'x' },
  attributes: { email: 'a@b.example', mobile: '1', locale: 'de', timezone: 'Europe/Berlin', plan: { tier: [1] } },
}

/** Without the fast path, only those that have one: requests to all others are read by Node in any case. */
const READ_OPERATIONS = OPERATIONS.filter(({ isFrequent }) => process.env['TEST_FAST_PATH'] !== 'off' || isFrequent)
const BODY_OPERATIONS = READ_OPERATIONS.filter(({ body, example }) => body !== null && example !== undefined)

describeEachStore(`Hostile input (HOSTILE_SEED=${SEED})`, (kind) => {
  let server: TestServer
  let workspace: TestWorkspace

  beforeAll(async () => {
    server = await startServer(kind, { PII_KEY: randomBytes(32).toString('base64') })
    workspace = await server.makeWorkspace({ limits: UNLIMITED, identityResolution: ['crm', 'svc_mobile'] })
  })
  afterAll(() => server.stop())

  const pathOf = ({ url }: Operation, as = workspace) => {
    return url.replace(':Workspace_ID', as.id).replaceAll(/:\w+/g, 'unknown')
  }

  const send = async (operation: Operation, body: unknown, as = workspace) => {
    const { method, requires } = operation
    const caller = await callerFor(server, requires)
    return server.call<AcceptedBody>(method, pathOf(operation, as), { as, body, ...caller })
  }

  /** Sends bodies, a few at once; returns the answers in order. Fails if one is neither a success nor a proper refusal. */
  async function expectProperAnswers(operation: Operation, bodies: readonly Uint8Array[], as = workspace) {
    const answers: Answer<AcceptedBody>[] = []
    for (let start = 0; start < bodies.length; start += AT_ONCE) {
      const some = bodies.slice(start, start + AT_ONCE)
      answers.push(...(await Promise.all(some.map((body) => send(operation, body, as)))))
    }
    const wrong = answers.flatMap((answer, index) => {
      if (isProper(answer)) return []
      const body = Buffer.from(bodies[index] as Uint8Array)
        .toString('latin1')
        .slice(0, 2_000)
      return [{ seed: SEED, operation: operation.name, status: answer.status, answer: answer.body, body }]
    })
    expect(wrong.slice(0, 3)).toEqual([])
    return answers
  }

  const operationNamed = (name: string) => OPERATIONS.find((operation) => operation.name === name) as Operation

  /** Waits until the whole log is applied. */
  async function settle(): Promise<void> {
    const tracking = trackingOf(server, workspace)
    const last = await tracking.events({ type: 'event', customer_id: 'last', actions: [{ action: 'last' }] })
    expect(await tracking.fateOf(last)).toMatchObject({ status: 'processed' })
  }

  it.each(named())('gets a proper answer from Track Events and Track User: %s', async (_what, text, isRefused) => {
    const bodies = [toBytes(text)]
    const answers = [
      ...(await expectProperAnswers(operationNamed('track_events'), bodies)),
      ...(await expectProperAnswers(operationNamed('track_user'), bodies)),
    ]
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(isRefused ? 0 : 1)
  })

  it('never prevents an accepted mutated body of Track Events from being applied', async () => {
    const bodies = fc.sample(anyHostileBody([EVENTS]), { numRuns: BODIES[kind].main, seed: SEED })
    const answers = await expectProperAnswers(operationNamed('track_events'), bodies)
    const accepted = answers.filter(({ status }) => status === 200).map(({ body }) => body.request_id)
    // The test needs both accepted and refused bodies.
    expect(accepted.length).toBeGreaterThan(bodies.length / 20)
    expect(accepted.length).toBeLessThan(bodies.length)
    await settle()
    expect(await listParkedEntries(server.database, 0, 10)).toEqual([])
    await expectProcessed(server, accepted)
  }, 120_000)

  it.each(['none', 'tokenized', 'encrypted'] as const)(
    'never prevents an accepted mutated body of Track User from being applied, with emails %s',
    async (emailProtection) => {
      const settings = { limits: UNLIMITED, identityResolution: ['crm'], emailProtection }
      const as = await server.makeWorkspace(settings)
      const bodies = fc.sample(anyHostileBody([USER]), { numRuns: Math.ceil(BODIES[kind].main / 3), seed: SEED })
      const answers = await expectProperAnswers(operationNamed('track_user'), bodies, as)
      const accepted = answers.filter(({ status }) => status === 200).map(({ body }) => body.request_id)
      expect(accepted.length).toBeGreaterThan(bodies.length / 20)
      await settle()
      expect(await countParkedEntries(server.database)).toBe(0)
      await expectProcessed(server, accepted)
      // The resulting user can be shown.
      const shown = await trackingOf(server, as).getUser({ customer_id: 'c1' })
      expect(shown.status).toBe(200)
    },
    120_000,
  )

  it.each(BODY_OPERATIONS.map((operation) => [operation.name, operation] as const))(
    'in bodies of %s never makes it fail',
    async (_name, operation) => {
      const bodies = fc.sample(anyHostileBody([operation.example]), { numRuns: BODIES[kind].other, seed: SEED })
      await expectProperAnswers(operation, bodies)
    },
    60_000,
  )

  it.each(READ_OPERATIONS.map((operation) => [operation.name, operation] as const))(
    'in paths and queries of %s never makes it fail',
    async (_name, operation) => {
      const texts = fc.sample(anyHostileText, { numRuns: TEXTS, seed: SEED })
      const fields = Object.keys(operation.query.properties)
      const wrong: unknown[] = []
      for (const [index, text] of texts.entries()) {
        const encoded = encodeURIComponent(text.toWellFormed())
        const path = operation.url.replace(':Workspace_ID', workspace.id).replaceAll(/:\w+/g, encoded)
        const query = [...fields.slice(index % 2), 'x'].map((field) => `${field}=${encoded}`).join('&')
        const { method, requires, example, body } = operation
        const options = {
          as: workspace,
          ...(await callerFor(server, requires)),
          ...(body && { body: example }),
        } as const
        const answer = await server.call(method, `${path}?${query}`, options)
        if (!isProper(answer)) wrong.push({ seed: SEED, path, query, status: answer.status, answer: answer.body })
      }
      expect(wrong.slice(0, 3)).toEqual([])
    },
    60_000,
  )

  it('leaves the server working and all prototypes unchanged', async () => {
    const tracking = trackingOf(server, await server.makeWorkspace())
    await tracking.apply(
      { type: 'event', customer_id: 'after', actions: [{ action: 'A', attributes: { a: 1 } }] },
      { type: 'customer', customer_id: 'after', attributes: { plan: 'free' } },
    )
    expect((await tracking.listEvents({ customer_id: 'after' })).body.data).toMatchObject([{ attributes: { a: 1 } }])
    expect((await tracking.getUser({ customer_id: 'after' })).body.attributes).toEqual({ plan: 'free' })
    expect(Object.keys(Object.prototype)).toEqual([])
    expect(({} as { isAdmin?: unknown }).isAdmin).toBeUndefined()
  })
})

/** Bodies for both operations; Track User refuses them for their type at least. */
function named(): [what: string, text: string | Uint8Array, isRefused: boolean][] {
  const event = (rest: string) => `{"type":"event","customer_id":"c1","actions":[{"action":"A"${rest}}]}`
  const depth = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
  return [
    ['no bytes', '', true],
    ['only spaces', ' \n\t ', true],
    ['a byte order mark', `\ufeff${event('')}`, true],
    ['half a body', event('').slice(0, 30), true],
    ['two bodies', event('') + event(''), true],
    ['a comment', `/* */${event('')}`, true],
    ['an extra comma', event(','), true],
    ['single quotes', event('').replaceAll('"', `'`), true],
    ['NaN', event(',"attributes":{"a":NaN}'), true],
    ['raw NUL in a string', event(',"attributes":{"a":"\u0000"}'), true],
    ['a raw line break in a string', event(',"attributes":{"a":"\n"}'), true],
    ['bytes that are not UTF-8 in a string', Buffer.from(event(',"attributes":{"a":"\u00ff"}'), 'latin1'), true],
    ['bytes that are not UTF-8 in a name', Buffer.from(event(',"attributes":{"\u00c3":1}'), 'latin1'), true],
    ['an overlong encoding', Buffer.from(event(',"attributes":{"a":"\u00c0\u0080"}'), 'latin1'), true],
    ['an encoded surrogate', Buffer.from(event(',"attributes":{"a":"\u00ed\u00a0\u0080"}'), 'latin1'), true],
    ['UTF-16', Buffer.from(event(''), 'utf16le'), true],
    ['a repeated name', event(',"action":"B"'), true],
    ['a repeated name, once escaped', event(',"\\u0061ction":"B"'), true],
    ['a repeated attribute', event(',"attributes":{"a":1,"a":1}'), true],
    ['__proto__ as a name', event(',"attributes":{"__proto__":{"isAdmin":true}}'), true],
    ['__proto__ escaped', event(',"attributes":{"\\u005f_proto__":{"isAdmin":true}}'), true],
    ['__proto__ in an unknown member', event(',"x":[{"y":{"__proto__":null}}]'), true],
    ['constructor.prototype', event(',"attributes":{"constructor":{"prototype":{"isAdmin":true}}}'), true],
    ['constructor alone', event(',"attributes":{"constructor":{"name":1},"prototype":1}'), false],
    ['a number beyond all doubles', event(',"attributes":{"a":1e400}'), false],
    ['a number with an exponent that no memory could write out', event(',"attributes":{"a":1e999999999}'), true],
    ['a number of 1,000 digits', event(`,"attributes":{"a":${'9'.repeat(1_000)}}`), true],
    ['a number that underflows to zero', event(',"attributes":{"a":1e-400}'), false],
    ['half a surrogate pair in an attribute', event(',"attributes":{"\\ud800":"\\udfff"}'), false],
    ['half a surrogate pair in the action', event('').replace('"A"', '"\\ud800"'), true],
    ['the NUL character in an attribute', event(',"attributes":{"\\u0000":"\\u0000"}'), false],
    ['the NUL character in the action', event('').replace('"A"', '"A\\u0000"'), true],
    ['the NUL character in customer_id', event('').replace('"c1"', '"c1\\u0000"'), true],
    ['attributes of 10 levels', event(`,"attributes":${depth(10)}`), false],
    ['attributes of 11 levels', event(`,"attributes":${depth(11)}`), true],
    ['a body of 64 levels', event(`,"x":${depth(61)}`), false],
    ['a body of 65 levels', event(`,"x":${depth(62)}`), true],
    ['10,000 levels of lists', '['.repeat(10_000) + ']'.repeat(10_000), true],
    ['60,000 levels of lists that never end', '['.repeat(60_000), true],
    ['20,000 levels of objects', '{"a":'.repeat(20_000), true],
    ['a string of 100,000 characters', event(`,"attributes":{"a":"${'x'.repeat(100_000)}"}`), false],
    [
      '8,000 unknown members',
      event(`,"x":{${Array.from({ length: 8_000 }, (_, index) => `"${index}":1`).join(',')}}`),
      false,
    ],
  ]
}

function toBytes(text: string | Uint8Array): Uint8Array {
  return typeof text === 'string' ? new Uint8Array(Buffer.from(text)) : text
}

/** Whether the answer is a success, or a refusal in the common format. */
function isProper({ status, headers, body }: Answer<unknown>): boolean {
  if (status >= 200 && status < 300) return true
  const { error } = body as Partial<ErrorBody>
  return status >= 400 && status < 500 && error?.request_id === headers.get('x-request-id')
}

/** Expects that every request has a receipt as processed. */
async function expectProcessed(server: TestServer, requestIds: readonly string[]): Promise<void> {
  const processed = await until('every accepted request is processed', async () => {
    const receipts = server.database.query.selectFrom('request_receipts').select('request_id')
    const rows = await receipts.where('status', '=', 'processed').execute()
    const found = new Set(rows.map(({ request_id }) => request_id))
    return requestIds.every((id) => found.has(id)) && found
  })
  expect(processed.size).toBeGreaterThanOrEqual(requestIds.length)
}
