// Track User through real HTTP, on every store: what is refused, what is stored, and which value wins.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { trackingOf, type Tracking } from '../../support/calls/tracking.ts'

const user = (attributes: object, customer_id = 'c1') => ({ type: 'customer', customer_id, attributes })
const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, index]))
const nested = (levels: number): object => (levels === 1 ? { leaf: 1 } : { in: nested(levels - 1) })

describeEachStore('Track User (track_user)', (kind) => {
  let server: TestServer
  let tracking: Tracking

  beforeAll(async () => {
    server = await startServer(kind)
    tracking = trackingOf(server)
  })
  afterAll(() => server.stop())

  it('answers 200 with status, message and request id', async () => {
    const answer = await tracking.user(user({ plan: 'free' }))
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      status: 'success',
      message: expect.stringContaining('accepted and will be processed soon') as string,
      request_id: answer.headers.get('x-request-id'),
    })
  })

  const refusals: [rule: string, body: unknown, fields: string[]][] = [
    ['a type other than customer', { ...user({}), type: 'event' }, ['type']],
    ['a type in another case', { ...user({}), type: 'Customer' }, ['type']],
    ['a missing type', { customer_id: 'c1' }, ['type']],
    ['a missing customer_id', { type: 'customer', attributes: {} }, ['customer_id']],
    ['an empty customer_id', user({}, ''), ['customer_id']],
    ['a customer_id of 257 characters', user({}, 'x'.repeat(257)), ['customer_id']],
    ['a customer_id that is a number', { type: 'customer', customer_id: 5 }, ['customer_id']],
    ['attributes that are a list', { type: 'customer', customer_id: 'c1', attributes: [] }, ['attributes']],
    ['a customer_id that is null', { type: 'customer', customer_id: null, attributes: {} }, ['customer_id']],
    ['an email that is a number', user({ email: 5 }), ['attributes.email']],
    ['an email without @', user({ email: 'anna' }), ['attributes.email']],
    ['an email of only spaces', user({ email: ' ' }), ['attributes.email']],
    ['an email with a space in it', user({ email: 'an na@example.com' }), ['attributes.email']],
    ['a mobile that is a fraction', user({ mobile: 49.17 }), ['attributes.mobile']],
    ['a mobile that is negative', user({ mobile: -49170 }), ['attributes.mobile']],
    ['a mobile that would be rounded', user({ mobile: 2 ** 53 }), ['attributes.mobile']],
    ['a mobile that is true', user({ mobile: true }), ['attributes.mobile']],
    ['a mobile of 257 characters', user({ mobile: '1'.repeat(257) }), ['attributes.mobile']],
    ['a locale that is a list', user({ locale: ['de'] }), ['attributes.locale']],
    ['a timezone that is a number', user({ timezone: 2 }), ['attributes.timezone']],
    ['an unknown timezone', user({ timezone: 'Europe/Atlantis' }), ['attributes.timezone']],
    ['an offset as timezone', user({ timezone: '+02:00' }), ['attributes.timezone']],
    ['a timezone of only spaces', user({ timezone: ' ' }), ['attributes.timezone']],
    ['a name with the reserved prefix', user({ svc_plan: 1 }), ['attributes.svc_plan']],
    ['an empty name', user({ '': 1 }), ['attributes[""]']],
    ['a name of 257 characters', user({ ['n'.repeat(257)]: 1 }), [`attributes.${'n'.repeat(257)}`]],
    ['501 attributes', user(names(501)), ['attributes']],
    ['attributes nested 11 levels', user({ deep: nested(10) }), ['attributes.deep']],
    [
      'every fault at once',
      { type: 'user', customer_id: '', attributes: { email: 'x', mobile: 1.5, timezone: 'x', svc_a: 1 } },
      ['attributes.email', 'attributes.mobile', 'attributes.svc_a', 'attributes.timezone', 'customer_id', 'type'],
    ],
  ]
  it.each(refusals)('refuses %s', async (_rule, body, fields) => {
    expectRefusal(await tracking.user(body), 400, 'invalid_request', fields)
  })

  const accepted: [rule: string, customerId: string, attributes: Record<string, unknown>][] = [
    [
      'every standard attribute',
      'k1',
      { email: 'A@b.example', mobile: '+49 1', locale: 'de', timezone: 'Europe/Berlin' },
    ],
    ['standard attributes that are null', 'k2', { email: null, mobile: null, locale: null, timezone: null }],
    ['an email with outer spaces, shown as sent', 'k3', { email: ' Anna@Example.com ' }],
    ['any JSON value of a free attribute', 'k4', { a: null, b: '', c: [1, [{}]], d: { e: true }, f: -0.5 }],
    ['500 attributes', 'k5', names(500)],
    ['a name of 256 characters beyond the basic plane', 'k6', { ['😀'.repeat(256)]: 1 }],
    ['attributes nested 10 levels', 'k7', { deep: nested(9) }],
    ['the reserved prefix in nested names', 'k8', { plan: { svc_name: 1 } }],
    ['names that every JavaScript object has', 'k9', { constructor: 'c', toString: 't', hasOwnProperty: 1 }],
    [
      'strings that no database column accepts, in free attributes',
      'k10',
      { nul: 'a\u0000b', half: '\ud800', '\u0000': 1 },
    ],
  ]
  it.each(accepted)('stores %s', async (_rule, customerId, attributes) => {
    await tracking.apply(user(attributes, customerId))
    const { status, body } = await tracking.getUser({ customer_id: customerId })
    expect({ status, attributes: body.attributes }).toEqual({ status: 200, attributes })
  })

  it('creates a user without any attributes', async () => {
    await tracking.apply({ type: 'customer', customer_id: 'bare' })
    const { body } = await tracking.getUser({ customer_id: 'bare' })
    expect(body).toMatchObject({ customer_id: 'bare', attributes: {}, user_identifiers: {}, last_event_at: null })
  })

  it('creates a user with attributes and user_identifiers that are null', async () => {
    await tracking.apply({ type: 'customer', customer_id: 'nulls', attributes: null, user_identifiers: null })
    expect((await tracking.getUser({ customer_id: 'nulls' })).body).toMatchObject({
      attributes: {},
      user_identifiers: {},
    })
  })

  it('ignores an empty email and timezone, and clears them with null', async () => {
    const existing = { email: 'stays@example.com', timezone: 'Europe/Berlin', locale: 'de', mobile: '+49 1' }
    await tracking.apply(user(existing, 'empty'), user({ email: '', timezone: '', locale: '', mobile: '' }, 'empty'))
    const { body } = await tracking.getUser({ email: 'stays@example.com' })
    expect(body).toMatchObject({ customer_id: 'empty', attributes: { ...existing, locale: '', mobile: '' } })
    await tracking.apply(user({ email: null, timezone: null }, 'empty'))
    const cleared = await tracking.getUser({ customer_id: 'empty' })
    expect(cleared.body.attributes).toMatchObject({ email: null, timezone: null })
  })

  it.each([0, 4_917_012_345_678, Number.MAX_SAFE_INTEGER])(
    'stores a whole number as mobile as a string: %d',
    async (mobile) => {
      await tracking.apply(user({ mobile, score: mobile }, `mobile-${mobile}`))
      const { body } = await tracking.getUser({ customer_id: `mobile-${mobile}` })
      expect(body.attributes).toEqual({ mobile: String(mobile), score: mobile })
    },
  )

  it('ignores unknown top-level fields', async () => {
    const answer = await tracking.user({ ...user({ plan: 'free' }, 'extras'), sdk: 'x', svc_key: 1, actions: [] })
    expect(await tracking.fateOf(answer)).toMatchObject({ status: 'processed', events: 0, duplicates: 0 })
  })

  it('keeps attributes that are not sent, and of each the value received last', async () => {
    await tracking.apply(user({ plan: 'free', city: 'Bonn' }, 'newest'), user({ plan: 'premium' }, 'newest'))
    const { body } = await tracking.getUser({ customer_id: 'newest' })
    expect(body.attributes).toEqual({ plan: 'premium', city: 'Bonn' })
  })

  it('keeps users of different workspaces apart', async () => {
    const other = trackingOf(server, await server.makeWorkspace())
    await tracking.apply(user({ in: 'main' }, 'both'))
    await other.apply(user({ in: 'other' }, 'both'))
    expect((await tracking.getUser({ customer_id: 'both' })).body.attributes).toEqual({ in: 'main' })
    expect((await other.getUser({ customer_id: 'both' })).body.attributes).toEqual({ in: 'other' })
  })

  it('stores names written with escapes, regardless of names that others sent', async () => {
    const sent = (attributes: string) => `{"type":"customer","customer_id":"escaped","attributes":${attributes}}`
    const other = trackingOf(server, await server.makeWorkspace())
    await other.fateOf(await other.user(sent(String.raw`{"id":1,"gr\\u0":2,"\\":3}`)))
    await tracking.fateOf(await tracking.user(sent(String.raw`{"id":1,"gr\u00f6\u00dfe":2,"\"":3}`)))
    expect((await tracking.getUser({ customer_id: 'escaped' })).body.attributes).toEqual({ id: 1, größe: 2, '"': 3 })
    expect((await other.getUser({ customer_id: 'escaped' })).body.attributes).toEqual({ id: 1, 'gr\\u0': 2, '\\': 3 })
  })

  it('answers a repeat with the same Idempotency-Key like the first, and stores it once', async () => {
    const first = await tracking.user(user({ plan: 'one' }, 'retry'), { 'idempotency-key': 'u1' })
    const repeat = await tracking.user(user({ plan: 'one' }, 'retry'), { 'idempotency-key': 'u1' })
    expect(repeat.body).toEqual(first.body)
    expect(repeat.headers.get('x-request-id')).toBe(first.body.request_id)
    const changed = await tracking.user(user({ plan: 'two' }, 'retry'), { 'idempotency-key': 'u1' })
    expectRefusal(changed, 409, 'conflict', ['header.Idempotency-Key'])
    await tracking.fateOf(first)
    expect((await tracking.getUser({ customer_id: 'retry' })).body.attributes).toEqual({ plan: 'one' })
  })

  it('accepts a body of 1 MiB and refuses one byte more', async () => {
    const sized = (bytes: number) => {
      const empty = JSON.stringify(user({ text: '' }, 'large')).length
      return JSON.stringify(user({ text: 'x'.repeat(bytes - empty) }, 'large'))
    }
    expect((await tracking.user(sized(1024 * 1024))).status).toBe(200)
    expectRefusal(await tracking.user(sized(1024 * 1024 + 1)), 413, 'payload_too_large')
  })

  it('requires the key of the tile data', async () => {
    const answer = await server.call('POST', '/v1/customer/main', { tile: 'reports', body: user({}) })
    expectRefusal(answer, 403, 'forbidden')
  })
})
