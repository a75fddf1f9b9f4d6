// Who is in a segment, through real HTTP on every store: counting its users, and explaining it for one.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { StoredCampaign } from '../../../src/store/campaigns/campaigns.ts'
import { preferenceCalls } from '../../support/calls/preference-calls.ts'
import { MESSAGE_EVENTS, reportCallsOf, type ReportCalls } from '../../support/calls/report-calls.ts'
import { segmentCallsOf, type SegmentCalls } from '../../support/calls/segment-calls.ts'
import { trackingOf, type Tracking } from '../../support/calls/tracking.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const CUSTOMER = { attribute: 'kind', operator: 'is', value: 'customer' }
const ORDERED = { event: 'Order Placed', did: true, within_days: 7 }

describeEachStore('People of segments (count_segment, explain_segment)', (kind) => {
  let server: TestServer
  let calls: SegmentCalls
  let tracking: Tracking
  let reports: ReportCalls
  let campaign: StoredCampaign

  beforeAll(async () => {
    server = await startServer(kind)
    const as = await server.makeWorkspace({ identityResolution: ['crm'] })
    calls = segmentCallsOf(server, as)
    tracking = trackingOf(server, as)
    const user = (customer_id: string, attributes: object, crm?: string) => {
      return { type: 'customer', customer_id, attributes, ...(crm !== undefined && { user_identifiers: { crm } }) }
    }
    const order = { action: 'Order Placed', attributes: { amount: 20 } }
    const preferences = preferenceCalls(server, as)
    await tracking.apply(
      user('anna', { kind: 'customer', email: 'anna@example.com' }),
      user('ben', { kind: 'customer', email: 'ben@example.com' }),
      user('cleo', { kind: 'customer' }),
      user('eve', { kind: 'customer', email: 'eve@example.com' }),
      user('dora', { kind: 'lead', email: 'dora@example.com' }),
      { type: 'event', customer_id: 'anna', actions: [order] },
      { type: 'event', customer_id: 'app-1', actions: [order] },
      // Cleo and the user of the app turn out to be one person.
      user('cleo', {}, 'c-1'),
      user('app-1', {}, 'c-1'),
    )
    for (const customer_id of ['anna', 'eve']) await preferences.set({ customer_id, opt_in_status: 'OPTED_IN' })
    reports = reportCallsOf(server)
    campaign = await reports.makeCampaign(as)
    const clicked = { ...MESSAGE_EVENTS.item, customer_id: 'ben', kind: 'click', time: new Date().toISOString() }
    await tracking.fateOf(await reports.send(MESSAGE_EVENTS, campaign.id, { events: [clicked] }, { as }))
    const suppression = {
      workspace_id: as.id,
      email_key: 'eve@example.com',
      email: 'eve@example.com',
      reason: 'manual',
    }
    await server.database.write(async ({ query }) => {
      await query
        .insertInto('suppressions')
        .values({ ...suppression, since: 1, evidence: null })
        .execute()
    })
  })
  afterAll(async () => {
    await reports.close()
    await server.stop()
  })

  it('counting tells how many there are, have an address, and can be sent a mail', async () => {
    const { body } = await calls.count({ where: CUSTOMER })
    // Eve's address is suppressed, and Ben never opted in.
    expect(body).toEqual({ users: 4, with_address: 3, sendable: 1, sample: ['anna', 'ben', 'cleo', 'eve'] })
  })

  it('counts nobody without a customer id as sendable, as the freeze of a campaign', async () => {
    const nameless = { kind: 'nameless', email: 'nameless@example.com', crm: 'c-9' }
    await tracking.apply({ type: 'customer', user_identifiers: { crm: 'c-9' }, attributes: nameless })
    const where = { attribute: 'kind', operator: 'is', value: 'nameless' }
    expect((await calls.count({ where })).body).toEqual({ users: 1, with_address: 0, sendable: 0, sample: [] })
  })

  const counts: [who: string, where: object, sample: string[]][] = [
    ['those with an event, also under a merged user', ORDERED, ['anna', 'cleo']],
    ['those with two events', { ...ORDERED, times: { at_least: 2 } }, []],
    ['those without an event', { all: [CUSTOMER, { event: 'Order Placed', did: false }] }, ['ben', 'eve']],
    [
      'those with a larger order',
      { ...ORDERED, where: [{ attribute: 'amount', operator: 'greater_than', value: 30 }] },
      [],
    ],
    ['those of a status', { preference: { opt_in_status: ['OPTED_IN'] } }, ['anna', 'eve']],
    [
      'those who were never asked',
      { all: [CUSTOMER, { preference: { opt_in_status: ['OPT_IN_PENDING'] } }] },
      ['ben', 'cleo'],
    ],
    ['those who were created', { all: [CUSTOMER, { created: { before: { days_ago: 1 } } }] }, []],
  ]
  it.each(counts)('counting finds %s', async (_who, where, sample) => {
    expect((await calls.count({ where })).body).toMatchObject({ users: sample.length, sample })
  })

  it('counting finds those who clicked, and what a segment names', async () => {
    const clicked = await calls.make({ campaign: campaign.id, did: 'click', within_days: 1 })
    expect((await calls.count({ segment_id: clicked })).body).toMatchObject({ users: 1, sample: ['ben'] })
    const others = { all: [CUSTOMER, { not: { segment: clicked } }] }
    expect((await calls.count({ where: others })).body).toMatchObject({ sample: ['anna', 'cleo', 'eve'] })
  })

  it('explaining tells the verdict of each condition', async () => {
    const clicked = { segment: await calls.make({ campaign: campaign.id, did: 'click' }) }
    const where = { all: [CUSTOMER, { any: [ORDERED, clicked] }] }
    const verdicts = async (customer_id: string) => {
      const { body } = await calls.explain({ customer_id, where })
      return { ...body, conditions: body.conditions.map(({ path, holds }) => `${path} ${String(holds)}`) }
    }
    expect(await verdicts('app-1')).toEqual({
      customer_id: 'app-1',
      in: true,
      conditions: ['where.all[0] true', 'where.all[1].any[0] true', 'where.all[1].any[1] false'],
    })
    expect(await verdicts('ben')).toMatchObject({
      in: true,
      conditions: ['where.all[0] true', 'where.all[1].any[0] false', 'where.all[1].any[1] true'],
    })
    expect(await verdicts('dora')).toMatchObject({ in: false })
    const { body } = await calls.explain({ customer_id: 'anna', where })
    expect(body.conditions.map(({ condition }) => condition)).toEqual([CUSTOMER, ORDERED, clicked])
  })

  it('explaining agrees with counting', async () => {
    const segment_id = await calls.make({ all: [CUSTOMER, { not: ORDERED }] })
    const { sample } = (await calls.count({ segment_id })).body
    for (const customer_id of ['anna', 'ben', 'cleo', 'dora', 'eve']) {
      expect((await calls.explain({ customer_id, segment_id })).body.in).toBe(sample.includes(customer_id))
    }
  })

  it('explaining finds a person who was just sent', async () => {
    await tracking.user({ type: 'customer', customer_id: 'new', attributes: { kind: 'customer' } })
    expect((await calls.explain({ customer_id: 'new', where: CUSTOMER })).body.in).toBe(true)
    expectRefusal(await calls.explain({ customer_id: 'nobody', where: CUSTOMER }), 404, 'not_found')
  })

  it('a request names either a condition or a segment', async () => {
    expectRefusal(await calls.count({}), 400, 'invalid_request', ['where'])
    expectRefusal(await calls.count({ where: CUSTOMER, segment_id: 's' }), 400, 'invalid_request', ['where'])
    expectRefusal(await calls.explain({ where: {} }), 400, 'invalid_request', ['customer_id', 'where'])
  })

  it('a stored segment whose campaign was deleted holds for nobody', async () => {
    const unreported = await reports.makeCampaign({ ...server.workspace, id: campaign.workspaceId })
    const segment_id = await calls.make({ campaign: unreported.id, did: 'sent' })
    await server.database.write(async ({ query }) => {
      await query.deleteFrom('campaigns').where('id', '=', unreported.id).execute()
    })
    expect((await calls.count({ segment_id })).body.users).toBe(0)
  })
})
