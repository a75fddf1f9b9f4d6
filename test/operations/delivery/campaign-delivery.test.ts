// The member `delivery` of campaigns through real HTTP, on every store.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { CAMPAIGNS_PATH } from '../../support/calls/campaign-calls.ts'
import { MESSAGE_EVENTS, reportCallsOf, reportOf, type ReportCalls } from '../../support/calls/report-calls.ts'
import { deliveryCallsOf, EVERYBODY, type DeliveryCalls } from '../../support/delivery/delivery-calls.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const NOON = Date.parse('2026-05-10T12:00:00Z')
const VARIATION = { name: 'A', share: 100, external_template_id: 'unknown' }
const SMALLEST = { sender_id: 'unknown', audience: { include: ['some-segment'] }, variations: [VARIATION] }
const DEFAULTS = {
  audience: { include: ['some-segment'], exclude: [] },
  consent: 'opted_in',
  category: null,
  campaign_control_percent: 0,
  global_control: true,
  start_at: null,
  give_up_after_hours: 24,
  grace_hours: 6,
  capped: true,
  coupons_when_empty: 'skip',
  tracking: { opens: true, clicks: true },
}

describeEachStore(
  'Campaigns with delivery (create_campaign, update_campaign, get_campaign, list_campaigns)',
  (kind) => {
    let server: TestServer
    let calls: DeliveryCalls
    let reports: ReportCalls

    beforeAll(async () => {
      server = await startServer(kind, {}, { withPipeline: false, withDelivery: false })
      calls = deliveryCallsOf(server)
      reports = reportCallsOf(server)
    })
    beforeEach(() => server.setClock(NOON))
    afterAll(async () => {
      await reports.close()
      await server.stop()
    })

    const create = (delivery: unknown, fields = {}) => calls.create({ delivery, ...fields })
    const segments = (count: number) => Array.from({ length: count }, (_, index) => `segment-${index}`)
    const variations = (...shares: number[]) =>
      shares.map((share, index) => ({ ...VARIATION, name: `V${index}`, share }))

    it('creating answers 201 with the whole campaign, which has the defaults of what was not sent', async () => {
      const { status, body } = await create(SMALLEST)
      expect(status).toBe(201)
      const { campaign_id } = body
      const whole = await calls.fetch(campaign_id)
      expect(body).toEqual(whole)
      expect(whole).toMatchObject({ state: 'draft', starts_at: null, delivery: { ...SMALLEST, ...DEFAULTS } })
      expect(whole.seed).toMatch(/^[0-9a-f]{32}$/)
      expect(whole).not.toHaveProperty('paused')
      expect((await calls.list('?limit=1')).body.data[0]).toEqual(whole)
    })

    it('a campaign without delivery has none of its members', async () => {
      const id = await calls.make()
      const body = await calls.fetch(id)
      expect(Object.keys(body).filter((name) => /delivery|state|seed|starts_at|paused|waiting/.test(name))).toEqual([])
    })

    it('what Get campaign answers as delivery can be sent back', async () => {
      const sent = { ...SMALLEST, category: 'News', start_at: '2026-06-01T10:00', tracking: { clicks: false } }
      const { campaign_id } = (await create(sent)).body
      const { delivery } = await calls.fetch(campaign_id)
      expect(delivery).toMatchObject({ ...sent, tracking: { opens: true, clicks: false } })
      expect((await calls.patch(campaign_id, { delivery })).body.delivery).toEqual(delivery)
    })

    it('PATCH replaces the delivery of a draft whole, and keeps its seed', async () => {
      const { campaign_id } = (await create({ ...SMALLEST, capped: false, category: 'News' })).body
      const { seed } = await calls.fetch(campaign_id)
      const changed = { ...SMALLEST, grace_hours: 2 }
      const { body } = await calls.patch(campaign_id, { delivery: changed })
      expect(body).toMatchObject({ seed, delivery: { ...DEFAULTS, ...changed, audience: DEFAULTS.audience } })
    })

    it('PATCH can add a delivery until something was reported for the campaign', async () => {
      const id = await calls.make()
      expect((await calls.patch(id, { delivery: SMALLEST })).body.state).toBe('draft')
      const reported = await calls.make()
      await reports.send(MESSAGE_EVENTS, reported, reportOf(MESSAGE_EVENTS, {}))
      expectRefusal(await calls.patch(reported, { delivery: SMALLEST }), 409, 'conflict', ['delivery'])
    })

    it('the platforms of a campaign with delivery are EMAIL alone', async () => {
      expectRefusal(await create(SMALLEST, { platforms: ['EMAIL', 'IOS'] }), 400, 'invalid_request', ['platforms'])
      const { campaign_id } = (await create(SMALLEST, { platforms: ['email'] })).body
      expectRefusal(await calls.patch(campaign_id, { platforms: ['IOS'] }), 400, 'invalid_request', ['platforms'])
      const other = await calls.make({ platforms: ['IOS'] })
      expectRefusal(await calls.patch(other, { delivery: SMALLEST }), 400, 'invalid_request', ['platforms'])
      const both = { delivery: { ...SMALLEST, capped: 1 } }
      expectRefusal(await calls.patch(other, both), 400, 'invalid_request', ['delivery.capped', 'platforms'])
      expect((await calls.patch(other, { delivery: SMALLEST, platforms: ['EMAIL'] })).status).toBe(200)
    })

    const accepted: [what: string, fields: object][] = [
      ['20 parts of an audience', { audience: { include: segments(20), exclude: segments(20) } }],
      ['a condition in the audience', { audience: { include: [EVERYBODY] } }],
      ['shares with decimals that add up to 100', { variations: variations(33.33, 33.33, 33.34) }],
      ['five variations', { variations: variations(20, 20, 20, 20, 20) }],
      ['half of the people as a control group', { campaign_control_percent: 50 }],
      ['nulls for what is not set', { category: null, start_at: null }],
      ['a start in the past, because the start checks it', { start_at: '2020-01-01T00:00:00Z' }],
    ]
    it.each(accepted)('accepts %s', async (_what, fields) => {
      expect((await create({ ...SMALLEST, ...fields })).status).toBe(201)
    })

    const refused: [what: string, fields: object, field: string][] = [
      ['an unknown member', { speed: 1 }, 'delivery.speed'],
      ['no part of an audience', { audience: { include: [] } }, 'delivery.audience.include'],
      ['21 parts of an audience', { audience: { include: segments(21) } }, 'delivery.audience.include'],
      ['a part that is neither', { audience: { include: ['a', 1] } }, 'delivery.audience.include[1]'],
      ['an empty id of a segment', { audience: { include: ['a'], exclude: [''] } }, 'delivery.audience.exclude[0]'],
      ['six variations', { variations: variations(50, 10, 10, 10, 10, 10) }, 'delivery.variations'],
      ['shares that do not add up', { variations: variations(50, 49.99) }, 'delivery.variations'],
      ['a share of nothing', { variations: variations(100, 0) }, 'delivery.variations[1].share'],
      ['a share with three decimals', { variations: variations(99.999, 0.001) }, 'delivery.variations[1].share'],
      ['two variations of one name', { variations: [VARIATION, VARIATION] }, 'delivery.variations[1].name'],
      ['a reserved name', { variations: [{ ...VARIATION, name: 'all_a' }] }, 'delivery.variations[0].name'],
      ['version 0', { variations: [{ ...VARIATION, version: 0 }] }, 'delivery.variations[0].version'],
      ['an unknown consent', { consent: 'everybody' }, 'delivery.consent'],
      ['more than half as a control group', { campaign_control_percent: 50.01 }, 'delivery.campaign_control_percent'],
      ['a thousandth percent', { campaign_control_percent: 0.001 }, 'delivery.campaign_control_percent'],
      ['a start that is no time', { start_at: 'tomorrow' }, 'delivery.start_at'],
      ['a start in epoch seconds', { start_at: '1777888800' }, 'delivery.start_at'],
      ['a start on no day', { start_at: '2026-02-30T10:00' }, 'delivery.start_at'],
      ['more than 72 hours', { give_up_after_hours: 73 }, 'delivery.give_up_after_hours'],
      ['no hour of grace', { grace_hours: 0 }, 'delivery.grace_hours'],
    ]
    it.each(refused)('refuses %s', async (what, fields, field) => {
      const expected = what === 'a share with three decimals' ? ['delivery.variations[0].share', field] : [field]
      expectRefusal(await create({ ...SMALLEST, ...fields }), 400, 'invalid_request', expected)
    })

    it('names all faults of a delivery and of the campaign at once', async () => {
      const delivery = { ...SMALLEST, audience: { include: [1] }, variations: variations(50, 20), start_at: 'now' }
      const answer = await create(delivery, { platforms: ['WEB'], name: '' })
      const fields = ['delivery.audience.include[0]', 'delivery.start_at', 'delivery.variations', 'name', 'platforms']
      expectRefusal(answer, 400, 'invalid_request', fields)
    })

    const starts: [what: string, start_at: string, starts_at: string][] = [
      ['an instant as it is', '2026-06-01T10:00:00+02:00', '2026-06-01T08:00:00.000Z'],
      ['a local time in the zone of the workspace', '2026-06-01T10:00', '2026-06-01T08:00:00.000Z'],
      ['a local time that does not exist as the next that does', '2026-03-29T02:30', '2026-03-29T01:00:00.000Z'],
      ['a local time that exists twice as the first', '2026-10-25T02:30', '2026-10-25T00:30:00.000Z'],
    ]
    it.each(starts)('reads %s', async (_what, start_at, starts_at) => {
      const berlin = await server.makeWorkspace({ timezone: 'Europe/Berlin' })
      const { body } = await calls.create({ delivery: { ...SMALLEST, start_at } }, berlin)
      expect(await calls.fetch(body.campaign_id, berlin)).toMatchObject({ starts_at, delivery: { start_at } })
    })

    it('a repeat with the same Idempotency-Key creates nothing and gets the same answer', async () => {
      const body = { name: 'x', platforms: ['EMAIL'], conversion_goals: [], created_by: 'anna', delivery: SMALLEST }
      const headers = { 'idempotency-key': 'one delivery' }
      const first = await calls.call('POST', CAMPAIGNS_PATH, { body, headers })
      expect(await calls.call('POST', CAMPAIGNS_PATH, { body, headers })).toMatchObject({
        status: 201,
        body: first.body,
      })
    })

    it('deleting a draft deletes its delivery', async () => {
      const template = await calls.addTemplate()
      const variations = [{ ...VARIATION, external_template_id: template }]
      const { campaign_id } = (await create({ ...SMALLEST, variations })).body
      const remove = () => server.call('DELETE', `/v1.0/custom-templates/email/${template}`)
      expectRefusal(await remove(), 409, 'conflict')
      expect((await calls.delete(campaign_id)).status).toBe(204)
      expect((await remove()).status).toBe(204)
    })
  },
)
