// Repeated requests to every operation that creates or appends, through real HTTP and on every store ("Retries"): they take effect
// once and get the answer of the first request.
import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { OPERATIONS } from '../../src/operations/operations.ts'
import { DAY_MS } from '../../src/core/time-zone.ts'
import { signInAs, type SignedInPerson } from '../support/accounts/sign-in-as.ts'
import { campaignCallsOf, CAMPAIGNS_PATH } from '../support/calls/campaign-calls.ts'
import { codesOf, couponCallsOf, couponsPath, LISTS_PATH, toCsv } from '../support/calls/coupon-calls.ts'
import { newTemplate, TEMPLATES } from '../support/calls/template-calls.ts'
import { basic } from '../support/program.ts'
import { expectRefusal, startServer, type Answer, type TestServer } from '../support/server.ts'
import { describeEachStore } from '../support/stores.ts'

const CSV = 'text/csv'

interface Call {
  readonly method: string
  readonly path: string
  readonly tile: 'data' | 'reports'
  /** Sends it where no key may. */
  readonly person?: SignedInPerson
  readonly body: unknown
  /** A valid body of another request. */
  readonly other: unknown
  readonly mediaType?: string
}

type Sending = 'segments' | 'senders' | 'suppressions'
type Table = 'templates' | 'template_versions' | 'coupon_lists' | 'coupons' | 'campaigns' | 'category_labels' | Sending

interface Case {
  readonly operation: string
  /** The table that gets `rows` rows by one request; undefined if the request goes through the log. */
  readonly table?: Table
  readonly rows?: number
  readonly isCsv?: true
  readonly make: (server: TestServer) => Promise<Call>
}

const campaign = (name: string) => ({ name, platforms: ['EMAIL'], conversion_goals: [], created_by: 'anna' })
const event = (action: string) => ({ type: 'event', customer_id: 'c1', actions: [{ action }] })
const user = (plan: string) => ({ type: 'customer', customer_id: 'c1', attributes: { plan } })
const member = (customer_id: string) => ({
  members: [{ customer_id, platform: 'EMAIL', evaluated_at: '2026-05-04T10:00:00Z' }],
})
const message = (customer_id: string) => ({
  events: [{ customer_id, platform: 'EMAIL', kind: 'sent', time: '2026-05-04T10:00:00Z' }],
})
let made = 0
const newList = () => {
  const name = `Repeated ${++made}`
  return { name, label: `repeated-${made}`, expires_at: '2199-12-31', created_by: 'anna' }
}
const newSegment = () => ({
  name: `Repeated ${++made}`,
  where: { attribute: 'email', operator: 'exists' },
  created_by: 'anna',
})
const newSender = () => ({
  name: `Repeated ${++made}`,
  from_email: 'news@shop.example',
  from_name: 'The shop',
  smtp: { host: '127.0.0.1', port: 2525, security: 'none' },
})
const newCategory = () => ({ name: `Repeated ${++made}`, labels: { de: 'Wiederholt' } })
const newSuppression = () => ({ email: `repeated-${++made}@example.com` })

/** A repeat of an import goes on where the first request was cut off (`import-people.test.ts`). */
const OTHER_RULES = ['import_people']

/** An upload of so many codes that they are stored in several transactions. */
const LARGE = codesOf('LARGE', 60_000)

const CASES: readonly Case[] = [
  {
    operation: 'create_template',
    table: 'templates',
    rows: 1,
    make: async () => ({
      method: 'POST',
      path: TEMPLATES,
      tile: 'data',
      body: newTemplate(),
      other: newTemplate(),
    }),
  },
  {
    operation: 'update_template',
    table: 'template_versions',
    rows: 1,
    async make(server) {
      const created = await server.call<{ external_template_id: string }>('POST', TEMPLATES, { body: newTemplate() })
      const { external_template_id } = created.body
      const change = (subject: string) => ({ external_template_id, updated_by: 'ben', basic_details: { subject } })
      return { method: 'PUT', path: TEMPLATES, tile: 'data', body: change('One'), other: change('Two') }
    },
  },
  {
    operation: 'create_coupon_list',
    table: 'coupon_lists',
    rows: 1,
    make: async () => ({ method: 'POST', path: LISTS_PATH, tile: 'reports', body: newList(), other: newList() }),
  },
  {
    operation: 'add_coupons',
    table: 'coupons',
    rows: 2,
    async make(server) {
      const path = couponsPath(await couponCallsOf(server).make(newList()))
      return { method: 'POST', path, tile: 'reports', body: { coupons: ['A', 'B'] }, other: { coupons: ['C'] } }
    },
  },
  {
    operation: 'add_coupons',
    table: 'coupons',
    rows: 2,
    isCsv: true,
    async make(server) {
      const path = couponsPath(await couponCallsOf(server).make(newList()))
      return { method: 'POST', path, tile: 'reports', body: 'code\nA\nB', other: 'code\nC', mediaType: CSV }
    },
  },
  {
    operation: 'create_campaign',
    table: 'campaigns',
    rows: 1,
    make: async () => ({
      method: 'POST',
      path: CAMPAIGNS_PATH,
      tile: 'reports',
      body: campaign('One'),
      other: campaign('Two'),
    }),
  },
  caseOf('create_segment', 'segments', newSegment),
  caseOf('create_sender', 'senders', newSender),
  caseOf('add_suppression', 'suppressions', newSuppression),
  {
    operation: 'add_category',
    table: 'category_labels',
    rows: 1,
    make: async (server) => ({
      method: 'POST',
      path: '/v1/workspaces/main/categories',
      tile: 'data',
      person: await signInAs(server, 'marketer'),
      body: newCategory(),
      other: newCategory(),
    }),
  },
  {
    operation: 'track_events',
    make: async () => ({
      method: 'POST',
      path: '/v1/event/main',
      tile: 'data',
      body: event('One'),
      other: event('Two'),
    }),
  },
  {
    operation: 'track_user',
    make: async () => ({
      method: 'POST',
      path: '/v1/customer/main',
      tile: 'data',
      body: user('one'),
      other: user('two'),
    }),
  },
  {
    operation: 'report_audience',
    async make(server) {
      const path = `${CAMPAIGNS_PATH}/${await campaignCallsOf(server).make()}/audience`
      return { method: 'POST', path, tile: 'reports', body: member('c1'), other: member('c2') }
    },
  },
  {
    operation: 'report_message_events',
    async make(server) {
      const path = `${CAMPAIGNS_PATH}/${await campaignCallsOf(server).make()}/message-events`
      return { method: 'POST', path, tile: 'reports', body: message('c1'), other: message('c2') }
    },
  },
]

/** An operation that makes one row of a table that campaigns are sent with. */
function caseOf(operation: string, table: Sending, makeBody: () => object): Case {
  const path = `/core-services/v1/${table}`
  const make = async () => ({ method: 'POST', path, tile: 'reports', body: makeBody(), other: makeBody() }) as const
  return { operation, table, rows: 1, make }
}

const TITLED = CASES.map((one) => ({
  ...one,
  title: one.operation + (one.isCsv ? ' as CSV' : ''),
}))

describeEachStore('Repeated requests with an Idempotency-Key', (kind) => {
  let server: TestServer
  let keys = 0

  beforeAll(async () => void (server = await startServer(kind)))
  afterAll(() => server.stop())

  const newKey = () => `key-${++keys}`
  const send = (call: Call, key: string, body: unknown = call.body): Promise<Answer<unknown>> => {
    const { method, path, tile, person, mediaType } = call
    const type = mediaType === undefined ? {} : { 'content-type': mediaType }
    return server.call(method, path, { tile, person, body, headers: { 'idempotency-key': key, ...type } })
  }
  /** Node's own client sends a header several times. */
  const sendKeys = (call: Call, values: readonly string[]): Promise<number | undefined> => {
    const { workspace } = server
    const key = call.tile === 'data' ? workspace.dataKey : workspace.reportsKey
    const text = typeof call.body === 'string' ? call.body : JSON.stringify(call.body)
    const headers = {
      ...(call.person ? { cookie: call.person.cookie } : { authorization: basic(workspace.id, key) }),
      'svc-appkey': workspace.id,
      'content-type': call.mediaType ?? 'application/json',
      'idempotency-key': [...values],
    }
    return new Promise((resolve, reject) => {
      const options = { method: call.method, headers }
      const sent = request(server.url + call.path, options, (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode))
      })
      sent.on('error', reject).end(text)
    })
  }
  const countRows = async (table: Case['table']): Promise<number> => {
    if (table === undefined) return 0
    const rows = server.database.query.selectFrom(table).select((select) => select.fn.countAll<number>().as('count'))
    return (await rows.executeTakeFirstOrThrow()).count
  }

  it('are known to every operation that creates or appends, and these tests cover all of them', () => {
    const known = OPERATIONS.filter(({ takesIdempotencyKey }) => takesIdempotencyKey).map(({ name }) => name)
    expect([...new Set([...CASES.map(({ operation }) => operation), ...OTHER_RULES])].toSorted()).toEqual(
      known.toSorted(),
    )
  })

  it.each(TITLED)('get the same answer and take effect once: $title', async ({ make, table, rows = 0 }) => {
    const call = await make(server)
    const [key, before] = [newKey(), await countRows(table)]
    const first = await send(call, key)
    expect([200, 201]).toContain(first.status)
    for (let times = 0; times < 2; times++) {
      const repeat = await send(call, key)
      expect([repeat.status, repeat.body]).toEqual([first.status, first.body])
      expect(repeat.headers.get('x-request-id')).toBe(first.headers.get('x-request-id'))
    }
    expect(await countRows(table)).toBe(before + rows)
  })

  it.each(TITLED)('at the same moment take effect once: $title', async ({ make, table, rows = 0 }) => {
    const call = await make(server)
    const [key, before] = [newKey(), await countRows(table)]
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(call, key)))
    expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1)
    expect(await countRows(table)).toBe(before + rows)
  })

  it.each(TITLED)('with another body are refused with 409, and change nothing: $title', async ({ make, table }) => {
    const call = await make(server)
    const key = newKey()
    const first = await send(call, key)
    const before = await countRows(table)
    expectRefusal(await send(call, key, call.other), 409, 'conflict', ['header.Idempotency-Key'])
    expect((await send(call, key)).body).toEqual(first.body)
    expect(await countRows(table)).toBe(before)
  })

  it.each(TITLED)('whose key is unusable are refused with 400: $title', async ({ make, table }) => {
    const call = await make(server)
    const before = await countRows(table)
    for (const key of ['', 'x'.repeat(129), 'tab\there', 'ümlaut']) {
      expectRefusal(await send(call, key), 400, 'invalid_request', ['header.Idempotency-Key'])
    }
    expect(await sendKeys(call, ['one', 'two'])).toBe(400)
    expect(await countRows(table)).toBe(before)
    const key = newKey()
    expect([200, 201]).toContain(await sendKeys(call, [key, key]))
    expect([200, 201]).toContain((await send(call, key)).status)
  })

  // A name or a code can be taken once.
  const repeatable = TITLED.filter(({ operation }) => ['update_template', 'create_campaign'].includes(operation))

  it.each(repeatable)(
    'with another key, or without one, take effect again: $title',
    async ({ make, table, rows = 0 }) => {
      const call = await make(server)
      const before = await countRows(table)
      for (const key of [newKey(), newKey()]) expect((await send(call, key)).status).toBeLessThan(300)
      await server.call(call.method, call.path, { tile: call.tile, body: call.body })
      expect(await countRows(table)).toBe(before + 3 * rows)
    },
  )

  const inTables = TITLED.filter(({ table }) => table !== undefined)

  it.each(inTables)('are recognised for 24 hours: $title', async ({ make }) => {
    const call = await make(server)
    const [key, start] = [newKey(), Date.now()]
    server.setClock(start)
    const first = await send(call, key)
    // A session ends after 12 hours without a request.
    for (const afterMs of [DAY_MS / 3, (DAY_MS * 2) / 3, DAY_MS - 1]) {
      server.setClock(start + afterMs)
      expect((await send(call, key)).body).toEqual(first.body)
    }
    server.setClock(start + DAY_MS)
    expect((await send(call, key, call.other)).status).toBe(first.status)
    server.setClock(undefined)
  })

  it('with the key of another operation or path are refused with 409', async () => {
    const key = newKey()
    const lists = [
      couponsPath(await couponCallsOf(server).make(newList())),
      couponsPath(await couponCallsOf(server).make(newList())),
    ]
    const options = (body: unknown) => ({ tile: 'reports', body, headers: { 'idempotency-key': key } }) as const
    expect((await server.call('POST', lists[0] as string, options({ coupons: ['A'] }))).status).toBe(200)
    const [other, created] = await Promise.all([
      server.call('POST', lists[1] as string, options({ coupons: ['A'] })),
      server.call('POST', CAMPAIGNS_PATH, options(campaign('Other'))),
    ])
    for (const refused of [other, created]) expectRefusal(refused, 409, 'conflict', ['header.Idempotency-Key'])
  })

  it('to two operations at the same moment are accepted by one of them', async () => {
    for (let times = 0; times < 5; times++) {
      const key = newKey()
      const options = (body: unknown) => ({ tile: 'reports', body, headers: { 'idempotency-key': key } }) as const
      const answers = await Promise.all([
        server.call('POST', LISTS_PATH, options(newList())),
        server.call('POST', CAMPAIGNS_PATH, options(campaign('Race'))),
      ])
      expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(['201', '409'])
    }
  })

  it('are recognised only in their workspace', async () => {
    const key = newKey()
    const as = await server.makeWorkspace()
    const send = (workspace: typeof as) =>
      server.call('POST', CAMPAIGNS_PATH, {
        as: workspace,
        tile: 'reports',
        body: campaign('Own'),
        headers: { 'idempotency-key': key },
      })
    const answers = [await send(server.workspace), await send(as)]
    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    expect(answers[0]?.body).not.toEqual(answers[1]?.body)
  })

  it('of a refused request are new requests', async () => {
    const [key, list] = [newKey(), newList()]
    const calls = couponCallsOf(server)
    const options = { body: list, headers: { 'idempotency-key': key } }
    const id = await calls.make({ name: list.name })
    expectRefusal(await calls.call('POST', LISTS_PATH, options), 409, 'conflict', ['name'])
    await calls.call('PATCH', `${LISTS_PATH}/${id}`, { body: { name: `${list.name} before` } })
    expect((await calls.call('POST', LISTS_PATH, options)).status).toBe(201)
  })

  it('of a large upload get the first answer, compressed or not, even if the list is archived by then', async () => {
    const calls = couponCallsOf(server)
    const id = await calls.make(newList())
    const headers = { 'idempotency-key': newKey() }
    const first = await calls.addCsv(id, `Code\n${toCsv(LARGE)}`, headers)
    expect(first.body).toMatchObject({ added: LARGE.length, duplicates: 0, header: 'Code' })
    await calls.call('PUT', `${LISTS_PATH}/${id}/archive`)
    expect((await calls.addCsv(id, `Code\n${toCsv(LARGE)}`, headers)).body).toEqual(first.body)
    const gzip = { ...headers, 'content-encoding': 'gzip' }
    expect((await calls.addCsv(id, gzipSync(`Code\n${toCsv(LARGE)}`), gzip)).body).toEqual(first.body)
    const other = await calls.addCsv(id, `Code\n${toCsv(LARGE)}X`, headers)
    expectRefusal(other, 409, 'conflict', ['header.Idempotency-Key'])
    await calls.expectCodes(id, LARGE)
  })
})
