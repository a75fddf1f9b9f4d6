// The field `if_updated_at` of all updates that take it, through real HTTP, on every store.
import { randomUUID as uuid } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ErrorBody } from '../../src/http/answers/error-answer.ts'
import { CAMPAIGNS_PATH, campaignCallsOf } from '../support/calls/campaign-calls.ts'
import { couponCallsOf, LISTS_PATH } from '../support/calls/coupon-calls.ts'
import { SEGMENTS_PATH, segmentCallsOf } from '../support/calls/segment-calls.ts'
import { SENDER, senderCallsOf, SENDERS_PATH } from '../support/calls/sender-calls.ts'
import { expectRefusal, startServer, type TestServer } from '../support/server.ts'
import { describeEachStore } from '../support/stores.ts'

const NOON = Date.parse('2026-05-20T12:00:00Z')
const AT_ONCE = 20

interface Resource {
  readonly name: string
  readonly updated_at: string
}

/** What can be updated: makes one and returns its path. */
type Kind = [what: string, make: (server: TestServer) => Promise<string>]
const KINDS: Kind[] = [
  ['campaign', async (server) => `${CAMPAIGNS_PATH}/${await campaignCallsOf(server).make({ name: 'First' })}`],
  [
    'segment',
    async (server) =>
      `${SEGMENTS_PATH}/${await segmentCallsOf(server).make({ attribute: 'plan', operator: 'exists' })}`,
  ],
  ['sender', async (server) => `${SENDERS_PATH}/${(await senderCallsOf(server).create(SENDER)).body.sender_id}`],
  [
    'coupon list',
    async (server) => `${LISTS_PATH}/${await couponCallsOf(server).make({ name: uuid(), label: uuid() })}`,
  ],
]

describeEachStore('if_updated_at (update_campaign, update_segment, update_sender, update_coupon_list)', (kind) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer(kind, { ALLOW_PLAIN_SMTP: '1' })
    server.setClock(NOON)
  })
  afterAll(() => server.stop())

  const get = async (path: string) => (await server.call<Resource>('GET', path, { tile: 'reports' })).body
  const patch = (path: string, body: unknown) => server.call<Resource>('PATCH', path, { tile: 'reports', body })

  it.each(KINDS)(
    'the %s changes if nobody else has changed it, and the answer allows the next change',
    async (_, make) => {
      const path = await make(server)
      const { updated_at } = await get(path)
      const changed = await patch(path, { name: `A ${path}`, if_updated_at: updated_at })
      expect(changed).toMatchObject({ status: 200, body: { name: `A ${path}` } })
      const again = await patch(path, { name: `B ${path}`, if_updated_at: changed.body.updated_at })
      expect(again).toMatchObject({ status: 200, body: { name: `B ${path}` } })
    },
  )

  it.each(KINDS)('the %s stays as it is if it has changed, and the 409 has the current time', async (_, make) => {
    const path = await make(server)
    const { updated_at: seen } = await get(path)
    // Within the same millisecond.
    const { body: current } = await patch(path, { name: `C ${path}` })
    const refused = await patch(path, { name: `D ${path}`, if_updated_at: seen })
    expectRefusal(refused, 409, 'conflict', ['if_updated_at'])
    expect((refused.body as unknown as ErrorBody).error.details[0]?.problem).toContain(current.updated_at)
    expect(await get(path)).toMatchObject({ name: `C ${path}`, updated_at: current.updated_at })
    const future = await patch(path, { name: `D ${path}`, if_updated_at: '2199-01-01T00:00:00.000Z' })
    expectRefusal(future, 409, 'conflict', ['if_updated_at'])
  })

  it.each(KINDS)('of many changes of the %s at the same time, exactly one succeeds', async (_, make) => {
    const path = await make(server)
    const { updated_at: seen } = await get(path)
    const changes = Array.from({ length: AT_ONCE }, (__, index) => {
      return patch(path, { name: `E ${index} ${path}`, if_updated_at: seen })
    })
    const statuses = (await Promise.all(changes)).map(({ status }) => status)
    const [succeeded, refused] = [200, 409].map((status) => statuses.filter((one) => one === status).length)
    expect({ succeeded, refused }).toEqual({ succeeded: 1, refused: AT_ONCE - 1 })
  })

  it.each(KINDS)('the %s needs another field besides it, and it must be a time', async (_, make) => {
    const path = await make(server)
    const { updated_at } = await get(path)
    expectRefusal(await patch(path, { if_updated_at: updated_at }), 400, 'invalid_request', ['body'])
    for (const wrong of ['yesterday', '2026-05-20T12:00:00', '', 7]) {
      const refused = await patch(path, { name: 'F', if_updated_at: wrong })
      expectRefusal(refused, 400, 'invalid_request', ['if_updated_at'])
    }
  })

  it('a coupon list counts added and deleted codes as changes', async () => {
    const coupons = couponCallsOf(server)
    const id = await coupons.make({ name: 'Codes', label: 'codes' })
    const times = [(await coupons.fetch(id)).updated_at]
    await coupons.addJson(id, ['A'])
    times.push((await coupons.fetch(id)).updated_at)
    await coupons.call('DELETE', `${LISTS_PATH}/${id}/coupons`, { body: { coupons: ['A'] } })
    times.push((await coupons.fetch(id)).updated_at)
    expect(times).toEqual([...new Set(times)].toSorted())
  })
})
