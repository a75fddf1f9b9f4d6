// Segments through real HTTP, on every store: creating, reading, changing and deleting them.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { DeliveryState } from '../../../src/core/delivery/delivery.ts'
import type { SegmentCondition } from '../../../src/core/segments/condition.ts'
import { SEGMENTS_MAX, addSegment } from '../../../src/store/segments/segments.ts'
import { campaignCallsOf } from '../../support/calls/campaign-calls.ts'
import { deliveryCallsOf } from '../../support/delivery/delivery-calls.ts'
import { segmentCallsOf, type SegmentBody, type SegmentCalls } from '../../support/calls/segment-calls.ts'
import { expectRefusal, LIMITS_OF_TESTS, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const NOON = Date.parse('2026-05-20T12:00:00Z')
const PLAN = { attribute: 'plan', operator: 'is', value: 'premium' }

describeEachStore('Segments (create_segment, get_segment, list_segments, update_segment, delete_segment)', (kind) => {
  let server: TestServer
  let calls: SegmentCalls

  beforeAll(async () => {
    server = await startServer(kind, { PII_KEY: randomBytes(32).toString('base64') })
  })
  beforeEach(async () => {
    server.setClock(NOON)
    calls = segmentCallsOf(server, await server.makeWorkspace())
  })
  afterAll(() => server.stop())

  it('creating answers 201 with the whole segment, and getting returns the same', async () => {
    const created = await calls.create({ name: 'Premium', where: PLAN, created_by: 'anna@example.com' })
    expect(created.status).toBe(201)
    expect(created.body).toEqual({
      segment_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      name: 'Premium',
      where: PLAN,
      created_by: 'anna@example.com',
      created_at: '2026-05-20T12:00:00.000Z',
      updated_at: '2026-05-20T12:00:00.000Z',
    })
    expect((await calls.call('GET', `/${created.body.segment_id}`)).body).toEqual(created.body)
  })

  it('keeps every digit of the numbers in a condition', async () => {
    const where = '{"attribute":"id","operator":"is","value":12345678901234567890}'
    const body = `{"name":"Digits","where":${where},"created_by":"anna"}`
    const created = await calls.call<SegmentBody>('POST', '', { body, headers: { 'content-type': 'application/json' } })
    expect(JSON.stringify(created.body.where)).toBe(where)
  })

  it('creates once for an idempotency key', async () => {
    const body = { name: 'Once', where: PLAN, created_by: 'anna' }
    const options = { body, headers: { 'Idempotency-Key': 'k1' } }
    const first = await calls.call<SegmentBody>('POST', '', options)
    expect((await calls.call<SegmentBody>('POST', '', options)).body).toEqual(first.body)
  })

  it('refuses every fault at once, also those that only the store finds', async () => {
    const where = { all: [{ attribute: 'a', operator: 'is' }, { segment: 'none' }] }
    expectRefusal(await calls.create({ name: '', where }), 400, 'invalid_request', ['name', 'where.all[0].value'])
    const unknown = { any: [{ segment: 'none' }, { campaign: 'none', did: 'sent' }] }
    const fields = ['where.any[0].segment', 'where.any[1].campaign']
    expectRefusal(await calls.create({ where: unknown }), 400, 'invalid_request', fields)
    expectRefusal(await calls.create({ where: unknown, name: '' }), 400, 'invalid_request', ['name', ...fields])
    expectRefusal(await calls.create({ size: 1 }), 400, 'invalid_request', ['size'])
  })

  it('takes conditions on campaigns of the workspace, and of no other', async () => {
    const where = { campaign: await campaignCallsOf(server).make(), did: 'click' }
    expectRefusal(await calls.create({ where }), 400, 'invalid_request', ['where.campaign'])
    expect((await segmentCallsOf(server).create({ name: `Clicked ${where.campaign}`, where })).status).toBe(201)
  })

  it('refuses to compare encrypted addresses', async () => {
    const encrypted = segmentCallsOf(server, await server.makeWorkspace({ emailProtection: 'encrypted' }))
    const where = { attribute: 'email', operator: 'contains', value: '@' }
    expectRefusal(await encrypted.create({ where }), 400, 'invalid_request', ['where.operator'])
    expect((await calls.create({ where })).status).toBe(201)
  })

  it('segments may share a name, as campaigns do', async () => {
    const [first, second] = [await calls.create({ name: 'Shared' }), await calls.create({ name: 'Shared' })]
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body.segment_id).not.toBe(first.body.segment_id)
  })

  it('a workspace has a limited number of segments', async () => {
    const as = await server.makeWorkspace()
    await server.database.write(async (store) => {
      const fields = { workspaceId: as.id, condition: { segment: 'x' }, createdBy: 'a', createdAt: 1, updatedAt: 1 }
      for (let index = 0; index < SEGMENTS_MAX; index++) {
        await addSegment(store, { ...fields, id: `${as.id}-${index}`, name: `s${index}` })
      }
    })
    expectRefusal(await segmentCallsOf(server, as).create(), 409, 'conflict')
  })

  it('lists segments newest first, in pages', async () => {
    const ids = [await calls.make(PLAN), await calls.make(PLAN), await calls.make(PLAN)]
    const page = async (query: string) => {
      const { body } = await calls.call<{ data: SegmentBody[]; next_before: string | null }>('GET', query)
      return { ids: body.data.map(({ segment_id }) => segment_id), next: body.next_before }
    }
    expect(await page('?limit=2')).toEqual({ ids: [ids[2], ids[1]], next: ids[1] })
    expect(await page(`?limit=2&before=${ids[1]}`)).toEqual({ ids: [ids[0]], next: null })
    expectRefusal(await calls.call('GET', '?before=none'), 400, 'invalid_request', ['query.before'])
  })

  it('finds segments by a part of their names', async () => {
    for (const name of ['Returning customers', 'Trial', '100% off', 'returned']) await calls.create({ name })
    const namesOf = async (query: string) => {
      const { body } = await calls.call<{ data: SegmentBody[]; next_before: string | null }>('GET', query)
      return { names: body.data.map(({ name }) => name), next: body.next_before !== null }
    }
    expect(await namesOf('?search=RETURN')).toEqual({ names: ['returned', 'Returning customers'], next: false })
    expect(await namesOf('?search=return&limit=1')).toEqual({ names: ['returned'], next: true })
    expect(await namesOf('?search=%25')).toEqual({ names: ['100% off'], next: false })
    expect(await namesOf('?search=none')).toEqual({ names: [], next: false })
  })

  it('changing replaces what is sent, and tells when', async () => {
    const id = await calls.make(PLAN)
    server.setClock(NOON + 1_000)
    const where = { attribute: 'city', operator: 'exists' }
    const changed = await calls.patch(id, { where })
    expect(changed).toMatchObject({ status: 200, body: { where, updated_at: '2026-05-20T12:00:01.000Z' } })
    expect((await calls.call('GET', `/${id}`)).body).toEqual(changed.body)
    expectRefusal(await calls.patch(id, {}), 400, 'invalid_request', ['body'])
  })

  it('no segment leads back to itself', async () => {
    const first = await calls.make(PLAN)
    const second = await calls.make({ not: { segment: first } })
    expectRefusal(await calls.patch(first, { where: { segment: first } }), 400, 'invalid_request', ['where.segment'])
    const where = { all: [PLAN, { segment: second }] }
    expectRefusal(await calls.patch(first, { where }), 400, 'invalid_request', ['where.all[1].segment'])
  })

  /** So many different conditions, of which any must hold. */
  const manyOf = (count: number) => ({ any: Array.from({ length: count }, (_, value) => ({ ...PLAN, value })) })

  it('a segment does not outgrow segments that name it, also through others', async () => {
    const changed = await calls.make(PLAN)
    const large = await calls.make(manyOf(50))
    const naming = await calls.make({ any: Array.from({ length: 4 }, () => ({ segment: large })) })
    const { body: outer } = await calls.create({
      name: 'Outer',
      where: { all: [{ segment: naming }, { not: { segment: await calls.make({ segment: changed }) } }] },
    })
    const refused = await calls.patch(changed, { where: { any: [PLAN, { segment: large }] } })
    expectRefusal(refused, 409, 'conflict')
    expect(JSON.stringify(refused.body)).toContain('Outer')
    expect((await calls.call<SegmentBody>('GET', `/${changed}`)).body.where).toEqual(PLAN)
    expect((await calls.patch(changed, { where: { segment: large } })).status).toBe(200)
    expect((await calls.count({ segment_id: outer.segment_id })).status).toBe(200)
  })

  it('a segment does not outgrow the audience of a campaign that is started', async () => {
    const as = await server.makeWorkspace({ limits: LIMITS_OF_TESTS })
    const delivery = deliveryCallsOf(server)
    calls = segmentCallsOf(server, as)
    const [changed, large] = [await calls.make(PLAN), await calls.make(manyOf(50))]
    const audience = {
      include: [changed, manyOf(50), manyOf(50)],
      exclude: [large, large, { not: { segment: changed } }],
    }
    const id = await delivery.makeDelivered({ audience, start_at: '2026-05-21T00:00:00Z' }, as)
    expect((await calls.patch(changed, { where: manyOf(27) })).status).toBe(200)
    await calls.patch(changed, { where: PLAN })
    expect((await delivery.put(id, 'start', as)).status).toBe(204)
    const refused = await calls.patch(changed, { where: manyOf(26) })
    expectRefusal(refused, 409, 'conflict')
    expect(JSON.stringify(refused.body)).toContain(id)
    expect((await calls.patch(changed, { where: manyOf(25) })).status).toBe(200)
  })

  it('a segment that was too large before says so', async () => {
    const as = await server.makeWorkspace()
    const fields = { workspaceId: as.id, createdBy: 'a', createdAt: 1, updatedAt: 1 }
    const large = { any: Array.from({ length: 251 }, () => PLAN) } as SegmentCondition
    await server.database.write((store) =>
      addSegment(store, { ...fields, id: `${as.id}-s`, name: 's', condition: large }),
    )
    const own = segmentCallsOf(server, as)
    expectRefusal(await own.count({ segment_id: `${as.id}-s` }), 400, 'invalid_request', ['segment_id'])
  })

  it('a segment is deleted once no other segment names it', async () => {
    const named = await calls.make(PLAN)
    const naming = await calls.make({ any: [PLAN, { segment: named }] })
    expectRefusal(await calls.delete(named), 409, 'conflict')
    expect((await calls.delete(naming)).status).toBe(204)
    expect((await calls.delete(named)).status).toBe(204)
    expectRefusal(await calls.delete(named), 404, 'not_found')
  })

  const states: [state: DeliveryState, status: number][] = [
    ['draft', 409],
    ['scheduled', 409],
    ['overdue', 409],
    ['running', 409],
    ['finished', 204],
    ['cancelled', 204],
  ]
  it.each(states)('deleting a segment in the audience of a campaign that is %s answers %s', async (state, status) => {
    const as = await server.makeWorkspace()
    const own = segmentCallsOf(server, as)
    const id = await own.make(PLAN)
    const settings = JSON.stringify({ audience: { include: [id], exclude: [] } })
    const max = await server.database.query
      .selectFrom('deliveries')
      .select(({ fn }) => fn.max<number | null>('campaign').as('campaign'))
      .executeTakeFirstOrThrow()
    const row = { workspace_id: as.id, sender: 1, settings, seed: 's', state, start_at: null, paused: null }
    const delivery = { ...row, campaign: (max.campaign ?? 1_000) + 1 }
    await server.database.write(async ({ query }) => {
      await query.insertInto('deliveries').values(delivery).execute()
    })
    expect((await own.delete(id)).status).toBe(status)
  })

  it('a segment of another workspace looks like an unknown one', async () => {
    const id = await segmentCallsOf(server).make(PLAN)
    expectRefusal(await calls.call('GET', `/${id}`), 404, 'not_found')
    expectRefusal(await calls.patch(id, { name: 'x' }), 404, 'not_found')
    expectRefusal(await calls.delete(id), 404, 'not_found')
    expectRefusal(await calls.count({ segment_id: id }), 404, 'not_found')
    expectRefusal(await calls.create({ where: { segment: id } }), 400, 'invalid_request', ['where.segment'])
  })
})
