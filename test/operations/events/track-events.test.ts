// Track Events through real HTTP, on every store: what is accepted, what is refused, and what is stored.
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { trackingOf, type EventItem, type Tracking } from '../../support/calls/tracking.ts'

const BODY_BYTES_MAX = 128 * 1024
const EMOJI = '😀'

const action = { action: 'Order Placed', attributes: { amount: 49.9 } }
const event = { type: 'event', customer_id: 'c1', actions: [action] }
const withAction = (fields: object) => ({ ...event, actions: [action, { ...action, ...fields }] })
const withAttributes = (attributes: unknown) => withAction({ attributes })

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, index]))
const nested = (levels: number): object => (levels === 1 ? { leaf: 1 } : { in: nested(levels - 1) })

describeEachStore('Track Events (track_events)', (kind) => {
  let server: TestServer
  let tracking: Tracking
  let users = 0

  beforeAll(async () => {
    server = await startServer(kind)
    tracking = trackingOf(server)
  })
  afterAll(() => server.stop())

  /** Sends a body for a separate user, and reads the events back in the order in which they were sent. */
  async function readBack(body: object, headers?: Record<string, string>): Promise<EventItem[]> {
    const customer_id = (body as { customer_id?: string }).customer_id ?? `user-${++users}`
    const fate = await tracking.fateOf(await tracking.events({ type: 'event', customer_id, ...body }, headers))
    expect(fate).toMatchObject({ status: 'processed', duplicates: 0 })
    const { data } = (await tracking.listEvents({ customer_id, limit: 500 })).body
    return data.toReversed()
  }

  it('answers 200 with status, message and request id', async () => {
    const answer = await tracking.events(event)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      status: 'success',
      message: expect.stringContaining('accepted and will be processed soon') as string,
      request_id: answer.headers.get('x-request-id'),
    })
  })

  const refusals: [rule: string, body: unknown, fields: string[]][] = [
    ['a type other than event', { ...event, type: 'customer' }, ['type']],
    ['a type in another case', { ...event, type: 'Event' }, ['type']],
    ['a missing type', { customer_id: 'c1', actions: [action] }, ['type']],
    ['a missing customer_id', { type: 'event', actions: [action] }, ['customer_id']],
    ['an empty customer_id', { ...event, customer_id: '' }, ['customer_id']],
    ['a customer_id that is null', { ...event, customer_id: null }, ['customer_id']],
    ['a customer_id that is a number', { ...event, customer_id: 5 }, ['customer_id']],
    ['a customer_id of 257 characters', { ...event, customer_id: 'x'.repeat(257) }, ['customer_id']],
    ['missing actions', { type: 'event', customer_id: 'c1' }, ['actions']],
    ['no actions', { ...event, actions: [] }, ['actions']],
    ['actions that are null', { ...event, actions: null }, ['actions']],
    ['an action name that is null', withAction({ action: null }), ['actions[1].action']],
    ['an action that is null', { ...event, actions: [action, null] }, ['actions[1]']],
    ['actions that are one object', { ...event, actions: action }, ['actions']],
    ['an action that is a string', { ...event, actions: [action, 'Order Placed'] }, ['actions[1]']],
    ['an action without a name', { ...event, actions: [{ attributes: {} }] }, ['actions[0].action']],
    ['an empty action name', withAction({ action: '' }), ['actions[1].action']],
    ['an action name that is a number', withAction({ action: 1 }), ['actions[1].action']],
    ['an action name of 257 characters', withAction({ action: 'x'.repeat(257) }), ['actions[1].action']],
    ['an action name of 257 code points', withAction({ action: EMOJI.repeat(257) }), ['actions[1].action']],
    ['an action name with the reserved prefix', withAction({ action: 'svc_x' }), ['actions[1].action']],
    ['an attribute with the reserved prefix', withAttributes({ a: 1, svc_x: 1 }), ['actions[1].attributes.svc_x']],
    ['attributes that are a list', withAttributes([1]), ['actions[1].attributes']],
    ['attributes that are a string', withAttributes('a'), ['actions[1].attributes']],
    ['an empty attribute name', withAttributes({ '': 1 }), ['actions[1].attributes[""]']],
    [
      'an attribute name of 257 characters',
      withAttributes({ ['n'.repeat(257)]: 1 }),
      [`actions[1].attributes.${'n'.repeat(257)}`],
    ],
    ['501 attributes', withAttributes(many(501)), ['actions[1].attributes']],
    ['attributes nested 11 levels', withAttributes({ deep: nested(10) }), ['actions[1].attributes.deep']],
    ['a platform that is a number', withAction({ platform: 1 }), ['actions[1].platform']],
    ['an app_version that is a number', withAction({ app_version: 1.2 }), ['actions[1].app_version']],
    ['a device_id of 257 characters', { ...event, device_id: 'x'.repeat(257) }, ['device_id']],
    ['an empty device_id', { ...event, device_id: '' }, ['device_id']],
    ['an empty event_id', withAction({ event_id: '' }), ['actions[1].event_id']],
    ['an event_id of 129 characters', withAction({ event_id: 'x'.repeat(129) }), ['actions[1].event_id']],
    ['a body that is a list', [event], ['body']],
    ['a body that is null', null, ['body']],
    [
      'every fault at once',
      { type: 'x', device_id: 1, actions: [{ attributes: { svc_a: 1 }, user_time: 'soon' }, { action: 'svc_b' }] },
      [
        'actions[0].action',
        'actions[0].attributes.svc_a',
        'actions[0].user_time',
        'actions[1].action',
        'customer_id',
        'device_id',
        'type',
      ],
    ],
  ]
  it.each(refusals)('refuses %s', async (_rule, body, fields) => {
    expectRefusal(await tracking.events(body), 400, 'invalid_request', fields)
  })

  const accepted: [rule: string, fields: object, shown: Partial<EventItem>][] = [
    ['an action name of 256 characters', { action: 'x'.repeat(256) }, { action: 'x'.repeat(256) }],
    ['an action name of 256 code points', { action: EMOJI.repeat(256) }, { action: EMOJI.repeat(256) }],
    ['the reserved prefix in another case', { action: 'SVC_x' }, { action: 'SVC_x' }],
    ['500 attributes', { attributes: many(500) }, { attributes: many(500) }],
    ['attributes nested 10 levels', { attributes: { deep: nested(9) } }, { attributes: { deep: nested(9) } }],
    ['the reserved prefix in nested names', { attributes: { a: { svc_b: 1 } } }, { attributes: { a: { svc_b: 1 } } }],
    ['missing attributes as empty', { attributes: undefined }, { attributes: {} }],
    ['attributes that are null as empty', { attributes: null }, { attributes: {} }],
    [
      'a platform and an app_version that are null',
      { platform: null, app_version: null },
      { platform: null, app_version: null },
    ],
    ['an empty platform and app_version', { platform: '', app_version: '' }, { platform: '', app_version: '' }],
    ['an event_id of 128 characters', { event_id: 'x'.repeat(128) }, { event_id: 'x'.repeat(128) }],
    ['android in any case', { platform: 'Android' }, { platform: 'ANDROID' }],
    ['ios in any case', { platform: 'iOS' }, { platform: 'IOS' }],
    ['a platform that only looks like ios', { platform: 'ıoſ' }, { platform: 'ıoſ' }],
    ['web in any case', { platform: 'web' }, { platform: 'WEB' }],
    ['tv in any case', { platform: 'tV' }, { platform: 'TV' }],
    ['any other platform as sent', { platform: 'Smart Fridge' }, { platform: 'Smart Fridge' }],
    ['a missing platform', { platform: undefined }, { platform: null }],
  ]
  it.each(accepted)('stores %s', async (_rule, fields, shown) => {
    const [kept] = await readBack({ actions: [{ ...action, ...fields }] })
    expect(kept).toMatchObject({ ...(Object.hasOwn(fields, 'action') ? {} : { action: action.action }), ...shown })
  })

  it('stores any JSON value of an attribute', async () => {
    const attributes = {
      nothing: null,
      empty: '',
      no: false,
      zero: 0,
      negative: -0.25,
      large: 1e300,
      text: `a\u0000b\ud800${EMOJI}`,
      list: [1, [null, {}], 'x'],
      object: { constructor: { name: 1 }, toString: [] },
      ['\u0000']: 1,
    }
    const [kept] = await readBack({ actions: [{ action: 'A', attributes }] })
    expect(kept?.attributes).toEqual(attributes)
  })

  it('stores a customer_id and a device_id of 256 code points', async () => {
    const [kept] = await readBack({
      customer_id: EMOJI.repeat(256),
      device_id: `d${EMOJI.repeat(255)}`,
      actions: [action],
    })
    expect(kept?.device_id).toBe(`d${EMOJI.repeat(255)}`)
  })

  it('uses customer_id as device_id if none is sent', async () => {
    const [kept] = await readBack({ customer_id: 'device-default', actions: [action] })
    expect(kept?.device_id).toBe('device-default')
  })

  it('ignores a device_id, user_identifiers and event_id that are null', async () => {
    const [first, second] = await readBack({
      customer_id: 'nulls',
      device_id: null,
      user_identifiers: null,
      event_id: null,
      actions: [
        { ...action, event_id: null },
        { ...action, event_id: null },
      ],
    })
    expect([first?.device_id, second?.device_id]).toEqual(['nulls', 'nulls'])
    expect(first?.event_id).toMatch(/^\d+-0$/)
  })

  it('ignores unknown fields with any values', async () => {
    const extras = { sdk: { version: 1 }, customer: null, svc_key: 'x', user_identifiers: { no: 1 }, event_id: 5 }
    const body = { actions: [{ ...action, vendor: true, svc_x: {}, id: null }], ...extras }
    const [kept] = await readBack(body)
    expect(kept).toMatchObject({ action: action.action, attributes: action.attributes })
  })

  it('ignores unknown query fields', async () => {
    expect((await tracking.events(event, {}, '?app=1&project_code=any')).status).toBe(200)
  })

  it('stores nothing of a request with one invalid action, so that a corrected retry adds no duplicates', async () => {
    const actions = [{ action: 'a' }, { action: 'b' }, { action: 'c' }]
    const broken = { ...event, customer_id: 'all', actions: [...actions, { action: 'svc_d' }] }
    expectRefusal(await tracking.events(broken), 400, 'invalid_request', ['actions[3].action'])
    const kept = await readBack({ customer_id: 'all', actions })
    expect(kept.map((item) => item.action)).toEqual(['a', 'b', 'c'])
  })

  it('stores two equal events without event_id as two events', async () => {
    await tracking.apply({ ...event, customer_id: 'equal', actions: [action, action] })
    const kept = await readBack({ customer_id: 'equal', actions: [action] })
    expect(kept).toHaveLength(3)
  })

  const addresses: [header: string, ip: string | null][] = [
    ['203.0.113.9', '203.0.113.9'],
    ['203.0.113.9, 198.51.100.1', '203.0.113.9'],
    ['  203.0.113.9  ,198.51.100.1', '203.0.113.9'],
    ['unknown, 198.51.100.1', '198.51.100.1'],
    ['203.0.113.9:8080, 198.51.100.1', '203.0.113.9'],
    ['"203.0.113.9:8080"', '203.0.113.9'],
    ['"203.0.113.9"', '203.0.113.9'],
    ['203.0.113.9:port, 198.51.100.1', '198.51.100.1'],
    ['203.0.113.9:, 198.51.100.1', '198.51.100.1'],
    ['203.0.113.9:123456, 198.51.100.1', '198.51.100.1'],
    ['256.1.1.1, 1.2.3, 198.51.100.1', '198.51.100.1'],
    ['2001:db8::1', '2001:db8::1'],
    ['[2001:db8::1], 2001:db8::2', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['"[2001:db8::1]:443"', '2001:db8::1'],
    ['"2001:db8::1"', '2001:db8::1'],
    ['[2001:db8::1]x, 198.51.100.1', '198.51.100.1'],
    ['[203.0.113.9]:443, 198.51.100.1', '198.51.100.1'],
    ['2001:db8:0:0:0:0:0:1:443, 198.51.100.1', '198.51.100.1'],
    ['[fe80::1%eth0]:443, 198.51.100.1', '198.51.100.1'],
    ['"203.0.113.9, 198.51.100.1', '198.51.100.1'],
    ['"", [], 198.51.100.1', '198.51.100.1'],
    [',,', null],
    ['unknown', null],
    ['<script>', null],
    ['fe80::1%eth0, 198.51.100.1', '198.51.100.1'],
    ['fe80::1%eth0', null],
  ]
  it.each(addresses)('stores from X-Forwarded-For %j the first valid address', async (header, ip) => {
    const [kept] = await readBack({ actions: [action] }, { 'x-forwarded-for': header })
    expect(kept?.ip).toBe(ip)
  })

  it('stores no address without X-Forwarded-For', async () => {
    const [kept] = await readBack({ actions: [action] })
    expect(kept?.ip).toBeNull()
  })

  it('accepts as many actions as fit into 128 KiB, and refuses one byte more', async () => {
    const count = Math.floor((BODY_BYTES_MAX - 100) / '{"action":"a"},'.length)
    const body = { ...event, customer_id: 'full', actions: Array.from({ length: count }, () => ({ action: 'a' })) }
    const full = JSON.stringify(body).padEnd(BODY_BYTES_MAX)
    expect(await tracking.fateOf(await tracking.events(full))).toMatchObject({ status: 'processed', events: count })
    expectRefusal(await tracking.events(`${full} `), 413, 'payload_too_large')
  })

  it('accepts gzip, and limits the decompressed bytes', async () => {
    const gzip = { 'content-encoding': 'gzip' }
    expect((await tracking.events(gzipSync(JSON.stringify(event)), gzip)).status).toBe(200)
    const large = gzipSync(JSON.stringify(event).padEnd(BODY_BYTES_MAX + 1))
    expectRefusal(await tracking.events(large, gzip), 413, 'payload_too_large')
  })

  it('requires the key of the tile data', async () => {
    const answer = await server.call('POST', '/v1/event/main', { tile: 'reports', body: event })
    expectRefusal(answer, 403, 'forbidden')
  })

  it('refuses the path of another workspace', async () => {
    const other = await server.makeWorkspace()
    const answer = await server.call('POST', `/v1/event/${other.id}`, { body: event })
    expectRefusal(answer, 403, 'forbidden', ['path.Workspace_ID'])
  })
})
