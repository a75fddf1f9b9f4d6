// The estimate of a campaign through real HTTP, on every store.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { CAMPAIGNS_PATH } from '../../support/calls/campaign-calls.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import { deliveryCallsOf, type DeliveryCalls } from '../../support/delivery/delivery-calls.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

describeEachStore('Estimate campaign (estimate_campaign)', (kind) => {
  let server: TestServer
  let calls: DeliveryCalls

  beforeAll(async () => {
    server = await startServer(kind, {}, { withDelivery: false })
    calls = deliveryCallsOf(server)
    const people = [
      { customer_id: 'a', attributes: { email: 'a@shop.example', first_name: 'Ada' } },
      { customer_id: 'b', attributes: { email: 'b@shop.example' } },
      { customer_id: 'c', attributes: { email: 'B@shop.example' } },
      { customer_id: 'd', attributes: {} },
    ]
    await trackingOf(server).apply(...people.map((person) => ({ type: 'customer', ...person })))
  })
  afterAll(() => server.stop())

  const estimate = (id: string) => calls.call('POST', `${CAMPAIGNS_PATH}/${id}/estimate`)

  it('counts the funnel, duplicates, missing values and the time', async () => {
    const template = await calls.addTemplate({}, { email_content: '<p>{{ first_name }}</p>' })
    const variations = [{ name: 'A', share: 100, external_template_id: template }]
    const { body } = await estimate(await calls.makeDelivered({ variations, consent: 'not_opted_out' }))
    expect(body).toEqual({
      audience: 3,
      without_address: 1,
      groups: { target: 3, campaign_control: 0, global_control: 0 },
      removed: { user_removed_due_to_duplicate: 1 },
      sendable: 2,
      variations: { A: 3 },
      locales: {},
      checked_people: 3,
      missing_values: { first_name: 2 },
      coupons: [],
      seconds: 1,
    })
  })

  it('refuses what names nothing', async () => {
    const id = await calls.makeDelivered({ sender_id: 'unknown', audience: { include: ['unknown'] } })
    expect((await estimate(id)).status).toBe(400)
    expectRefusal(await estimate('unknown'), 404, 'not_found')
  })
})
