// The estimate of a campaign through real HTTP, on every store.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { CUSTOMER_ID } from '../../../src/core/users/user.ts'
import { findUser } from '../../../src/store/users/users.ts'
import { CAMPAIGNS_PATH } from '../../support/calls/campaign-calls.ts'
import { couponCallsOf } from '../../support/calls/coupon-calls.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import { deliveryCallsOf, type DeliveryCalls } from '../../support/delivery/delivery-calls.ts'
import { fillRun } from '../../support/delivery/filled-run.ts'
import { addPeople, type MailingServer } from '../../support/delivery/mailing.ts'
import {
  expectRefusal,
  LIMITS_OF_TESTS,
  startServer,
  type TestServer,
  type TestWorkspace,
} from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

interface EstimateBody {
  readonly groups: Readonly<Record<string, number>>
  readonly variations: Readonly<Record<string, number>>
  readonly sendable: number
}

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

  const estimate = (id: string, as = server.workspace) =>
    calls.call<EstimateBody>('POST', `${CAMPAIGNS_PATH}/${id}/estimate`, { as })
  const inWorkspace = (workspace: TestWorkspace): MailingServer => ({
    workspace,
    call: (method, path, options) => server.call(method, path, { as: workspace, ...options }),
  })

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
      variations: { A: 2 },
      locales: {},
      checked_people: 3,
      missing_values: { first_name: 2 },
      coupons: [],
      seconds: 1,
    })
  })

  it('counts each reason, locales, and the coupons that are needed and available', async () => {
    const workspace = await server.makeWorkspace({ limits: LIMITS_OF_TESTS, frequencyCaps: [{ count: 1, days: 1 }] })
    const as = inWorkspace(workspace)
    await addPeople(as, [
      { customer_id: 'de', email: 'de@shop.example', locale: 'de-AT' },
      { customer_id: 'de2', email: 'DE@shop.example', locale: 'de' },
      { customer_id: 'en', email: 'en@shop.example' },
      { customer_id: 'out', email: 'out@shop.example', opt_in_status: 'OPTED_OUT' },
      { customer_id: 'bounced', email: 'bounced@shop.example' },
      { customer_id: 'complained', email: 'complained@shop.example' },
      { customer_id: 'capped', email: 'capped@shop.example' },
    ])
    for (const [name, reason] of [
      ['bounced', 'manual'],
      ['complained', 'complaint'],
    ]) {
      const body = { email: `${name}@shop.example`, reason }
      const answer = await as.call('POST', '/core-services/v1/suppressions', { tile: 'reports', body })
      expect(answer.status).toBeLessThan(300)
    }
    const capped = { name: CUSTOMER_ID, value: 'capped' }
    const userId = (await findUser(server.database, workspace.id, capped))?.id ?? 0
    const before = await calls.makeDelivered({ start_at: '2199-01-01T00:00:00Z' }, workspace)
    await calls.put(before, 'start', workspace)
    const sentAt = Date.now() - 60_000
    await fillRun(server.database, {
      campaign: (await calls.storedOf(before, workspace)).campaign,
      at: sentAt,
      phase: 'finished',
      messages: [{ customerId: 'capped', userId, state: 'sent', sentAt }],
    })
    const coupons = couponCallsOf(server)
    const list = await coupons.make({ label: 'Spring' }, workspace)
    const path = `/v1/coupon-list/${list}/coupons`
    const added = await coupons.call('POST', path, { as: workspace, body: { coupons: ['ONE'] } })
    expect(added.status).toBeLessThan(300)
    const details = { email_content: '<p>{{Coupons.CouponListName[Spring]}}</p>' }
    const parent = await calls.addTemplate({ locale: 'en' }, details, workspace)
    await calls.addTemplate({ group_id: parent, locale: 'de' }, details, workspace)
    const variations = [{ name: 'A', share: 100, external_template_id: parent }]
    const { body } = await estimate(await calls.makeDelivered({ variations }, workspace), workspace)
    expect(body).toMatchObject({
      audience: 7,
      removed: {
        user_removed_due_to_opt_out: 1,
        user_removed_due_to_hard_bounce: 1,
        user_removed_due_to_complaint: 1,
        user_removed_due_to_frequency_capping: 1,
        user_removed_due_to_duplicate: 1,
      },
      sendable: 2,
      variations: { A: 2 },
      locales: { de: 1, en: 1 },
      coupons: [{ label: 'Spring', needed: 2, available: 1 }],
    })
  })

  it('divides people over control groups, and those who are sent to over variations', async () => {
    const settings = { limits: LIMITS_OF_TESTS, globalControlPercent: 15 }
    const workspace = await server.makeWorkspace(settings)
    const people = Array.from({ length: 60 }, (_, index) => ({
      customer_id: `c${index}`,
      email: `c${index}@shop.example`,
    }))
    await addPeople(inWorkspace(workspace), people)
    const template = await calls.addTemplate({}, {}, workspace)
    const variations = ['A', 'B'].map((name) => ({ name, share: 50, external_template_id: template }))
    const id = await calls.makeDelivered({ variations, campaign_control_percent: 50 }, workspace)
    const { groups, sendable, ...rest } = (await estimate(id, workspace)).body
    const { A = 0, B = 0 } = rest.variations
    expect(rest).toMatchObject({ audience: 60, removed: {} })
    expect(groups['target']).toBe(sendable)
    expect(A + B).toBe(sendable)
    expect((groups['campaign_control'] ?? 0) + (groups['global_control'] ?? 0)).toBe(60 - sendable)
    expect(groups['campaign_control']).toBeGreaterThan(5)
  })

  it('refuses what names nothing', async () => {
    const id = await calls.makeDelivered({ sender_id: 'unknown', audience: { include: ['unknown'] } })
    expect((await estimate(id)).status).toBe(400)
    expectRefusal(await estimate('unknown'), 404, 'not_found')
  })
})
