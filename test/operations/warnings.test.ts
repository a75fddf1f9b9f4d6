// Warnings through real HTTP, on every store: what may be a mistake is told in the response, or in the status of the request if
// only the pipeline can know it, and counted in a metric.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { StoredCampaign } from '../../src/store/campaigns/campaigns.ts'
import { startServer, until, type TestServer } from '../support/server.ts'
import { describeEachStore } from '../support/stores.ts'
import { preferenceCalls, type PreferenceCalls } from '../support/calls/preference-calls.ts'
import { AUDIENCE, MESSAGE_EVENTS, reportCallsOf, reportOf, type ReportCalls } from '../support/calls/report-calls.ts'
import { trackingOf, type Tracking } from '../support/calls/tracking.ts'

/** The members of warnings and of the status of a request that these tests look at. */
interface Warned {
  readonly warnings?: readonly { readonly field: string; readonly problem: string }[]
  readonly created_customers?: number
}

const fieldsOf = (body: unknown) => (body as Warned).warnings?.map(({ field }) => field)

describeEachStore('Warnings', (kind) => {
  let server: TestServer
  let tracking: Tracking
  let reports: ReportCalls
  let preferences: PreferenceCalls
  let campaign: StoredCampaign

  beforeAll(async () => {
    server = await startServer(kind)
    tracking = trackingOf(server)
    reports = reportCallsOf(server)
    preferences = preferenceCalls(server)
    campaign = await reports.makeCampaign()
  })
  afterAll(async () => {
    await reports.close()
    await server.stop()
  })

  const metric = async (name: string) => {
    const { body } = await server.call<string>('GET', '/metrics')
    return Number(
      body
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')
        .at(-1) ?? 0,
    )
  }

  it('are absent from the answer, and from the status of the request, if there are none', async () => {
    const answer = await tracking.user({
      type: 'customer',
      customer_id: 'plain',
      attributes: { email: 'p@example.com' },
    })
    expect(Object.keys(answer.body)).toEqual(['status', 'message', 'request_id'])
    expect(await tracking.fateOf(answer)).not.toHaveProperty('warnings')
    const report = await reports.send(AUDIENCE, campaign.id, reportOf(AUDIENCE, { customer_id: 'plain' }))
    expect(Object.keys(report.body)).toEqual(['status', 'message', 'request_id'])
    const fate = await tracking.fateOf(report)
    expect(fate).not.toHaveProperty('warnings')
    expect(fate).not.toHaveProperty('created_customers')
  })

  it('come last in an answer, after the members of the document', async () => {
    const { body } = await tracking.user({
      type: 'customer',
      customer_id: 'plain',
      attributes: { Email: 'p@example.com' },
    })
    expect(Object.keys(body)).toEqual(['status', 'message', 'request_id', 'warnings'])
  })

  it('are the same in the answer to a repeated request', async () => {
    const body = { type: 'customer', customer_id: 'plain', attributes: { Email: 'p@example.com' } }
    const headers = { 'idempotency-key': 'once' }
    const [first, second] = [await tracking.user(body, headers), await tracking.user(body, headers)]
    expect(fieldsOf(first.body)).toEqual(['attributes.Email'])
    expect(second.body).toEqual(first.body)
  })

  it.each([
    ['track_user', { type: 'customer', customer_id: 'c1' }],
    ['track_events', { type: 'event', customer_id: 'c1', actions: [{ action: 'A' }] }],
  ])('name user_identifiers that %s ignores, because identity resolution is off', async (_operation, body) => {
    const send = (sent: object) => ('actions' in sent ? tracking.events(sent) : tracking.user(sent))
    expect(fieldsOf((await send({ ...body, user_identifiers: { card: 'x' } })).body)).toEqual(['user_identifiers'])
    expect(fieldsOf((await send({ ...body, user_identifiers: null })).body)).toBeUndefined()
  })

  it.each([
    ['Email', ['attributes.Email', 'attributes.Time Zone']],
    ['email', ['attributes.Time Zone']],
  ])('name misspelt attributes of a user with %s', async (name, fields) => {
    const attributes = { [name]: 'anna@example.com', 'Time Zone': 'Europe/Berlin', plan: 'free' }
    const { status, body } = await tracking.user({ type: 'customer', customer_id: 'c1', attributes })
    expect({ status, fields: fieldsOf(body) }).toEqual({ status: 200, fields })
  })

  it.each([[AUDIENCE], [MESSAGE_EVENTS]])(
    'name platforms of a report that its campaign does not have (%o)',
    async (report) => {
      const sent = reportOf(report, {}, { platform: 'E-MAIL' }, { platform: 'WEB' })
      const answer = await reports.send(report, campaign.id, sent)
      const { status, body } = answer
      const fields = [`${report.list}[1].platform`, `${report.list}[2].platform`]
      expect({ status, fields: fieldsOf(body) }).toEqual({ status: 200, fields })
      const { warnings = [] } = body as Warned
      expect(warnings[0]?.problem).toContain('did you mean EMAIL?')
      // The status of the request has the same, before those of the pipeline.
      expect(((await tracking.fateOf(answer)) as Warned).warnings?.slice(0, 2)).toEqual(warnings)
    },
  )

  it('are at most a hundred in one answer', async () => {
    const items = Array.from({ length: 101 }, (_, index) => ({ platform: `platform ${index}` }))
    const { body } = await reports.send(AUDIENCE, campaign.id, reportOf(AUDIENCE, ...items))
    expect(fieldsOf(body)).toHaveLength(100)
  })

  it('name platforms of a new or changed campaign that look misspelt', async () => {
    const sent = { name: 'Sale', platforms: ['WEB', 'E-Mail'], conversion_goals: [], created_by: 'anna' }
    const path = '/core-services/v1/campaigns'
    const created = await server.call<{ campaign_id: string }>('POST', path, { tile: 'reports', body: sent })
    expect({ status: created.status, fields: fieldsOf(created.body) }).toEqual({
      status: 201,
      fields: ['platforms[1]'],
    })
    const change = (body: object) => {
      return server.call('PATCH', `${path}/${created.body.campaign_id}`, { tile: 'reports', body })
    }
    expect(fieldsOf((await change({ platforms: ['I-OS'] })).body)).toEqual(['platforms[0]'])
    expect(fieldsOf((await change({ name: 'Other' })).body)).toBeUndefined()
  })

  it.each([[AUDIENCE], [MESSAGE_EVENTS]])(
    'count and quote the customers that a report created (%o)',
    async (report) => {
      const ids = Array.from({ length: 7 }, (_, index) => `${report.path}-ghost-${index}`)
      await tracking.apply({ type: 'customer', customer_id: 'known' })
      const items = ['known', ...ids, ids[0]].map((customer_id) => ({ customer_id }))
      const fate = await tracking.fateOf(await reports.send(report, campaign.id, reportOf(report, ...items)))
      const quoted = ids.slice(0, 5).map((id) => `"${id}"`)
      const problem = `was unknown, and a user was created for it. Created: ${quoted.join(', ')}, 2 more`
      expect(fate).toMatchObject({
        created_customers: 7,
        warnings: [{ field: `${report.list}[1].customer_id`, problem }],
      })
      const again = await tracking.fateOf(await reports.send(report, campaign.id, reportOf(report, ...items)))
      expect(again).not.toHaveProperty('created_customers')
      expect(again).not.toHaveProperty('warnings')
    },
  )

  it('tell that an identifier was not followed, because it would have joined too many customer ids', async () => {
    const settings = { identityResolution: ['crm'], joinedCustomerIdsMax: 1 }
    const calls = trackingOf(server, await server.makeWorkspace(settings))
    const name = 'tidings_identities_not_followed_total'
    const before = await metric(name)
    const track = (customer_id: string) => {
      const actions = [{ action: 'A' }]
      return calls.events({ type: 'event', customer_id, user_identifiers: { crm: 'everybody' }, actions })
    }
    expect(await calls.fateOf(await track('anna'))).not.toHaveProperty('warnings')
    const problem =
      'was not followed: it would have joined more than 1 customer ids; only the other ids of the request identified the user'
    const fate = await calls.fateOf(await track('ben'))
    expect(fate).toMatchObject({ warnings: [{ field: 'user_identifiers.crm', problem }] })
    await until('it is counted', async () => (await metric(name)) === before + 1)
    expect((await calls.getUser({ customer_id: 'ben' })).body).toMatchObject({
      customer_id: 'ben',
      user_identifiers: {},
    })
    const found = await calls.getUser({ identifier_name: 'crm', identifier_value: 'everybody' })
    expect(found.body).toMatchObject({ customer_id: 'anna' })
  })

  it('name the requested campaigns of a page that the workspace does not have', async () => {
    const theirs = await reports.makeCampaign(await server.makeWorkspace())
    const stats = async (campaign_ids: readonly string[], page: object = {}) => {
      const range = { start_date: '2026-05-01', end_date: '2026-05-02' }
      const types = { attribution_type: 'VIEW_THROUGH', metric_type: 'TOTAL' }
      const body = { request_id: 'r1', ...range, ...types, campaign_ids, ...page }
      const answer = await server.call('POST', '/core-services/v1/campaign-stats', { tile: 'reports', body })
      expect(answer.status).toBe(200)
      return answer.body as Warned & { total_campaigns: number }
    }
    const warned = await stats(['unknown', campaign.id, theirs.id])
    expect(warned).toMatchObject({ total_campaigns: 3, data: {} })
    expect(fieldsOf(warned)).toEqual(['campaign_ids[0]', 'campaign_ids[2]'])
    expect(fieldsOf(await stats(['unknown', campaign.id, theirs.id], { offset: 1, limit: 2 }))).toEqual([
      'campaign_ids[2]',
    ])
    expect(await stats([campaign.id])).not.toHaveProperty('warnings')
  })

  it('tell that several users have the address by which a user was found', async () => {
    await preferences.makeUsers(['alone'], 'alone@example.com')
    await preferences.makeUsers(['older', 'younger'], 'shared@example.com')
    const shared = await tracking.getUser({ email: 'Shared@example.com' })
    expect(shared.body).toMatchObject({ customer_id: 'older', warnings: [{ field: 'query.email' }] })
    expect((shared.body as Warned).warnings?.[0]?.problem).toContain('the address of 2 users')
    for (const query of [{ email: 'alone@example.com' }, { customer_id: 'older' }]) {
      expect((await tracking.getUser(query)).body).not.toHaveProperty('warnings')
    }
  })

  it('tell that a customer_id beside email_id names another user, or none', async () => {
    await preferences.makeUsers(['anna', 'ben'], 'anna-and-ben@example.com')
    await preferences.makeUsers(['clara'], 'clara@example.com')
    const update = async (customer_id: string) => {
      const sent = { customer_id, email_id: 'anna-and-ben@example.com', opt_in_status: 'OPTED_OUT' }
      return fieldsOf((await preferences.update(sent)).body)
    }
    expect(await update('ben')).toBeUndefined()
    expect(await update('clara')).toEqual(['user_preferences.customer_id'])
    expect(await update('nobody')).toEqual(['user_preferences.customer_id'])
  })

  it('tell that email_id is ignored where emails are tokenized', async () => {
    const workspace = await server.makeWorkspace({ emailProtection: 'tokenized' })
    const calls = preferenceCalls(server, workspace)
    await calls.makeUsers(['anna'])
    const sent = { customer_id: 'anna', email_id: 'anna@example.com', opt_in_status: 'OPTED_OUT' }
    expect(fieldsOf((await calls.update(sent)).body)).toEqual(['user_preferences.email_id'])
  })

  it('are counted by operation and kind, whether a response or a receipt has them', async () => {
    const misspelt = 'tidings_warnings_total{operation="track_user",kind="misspelt_attribute"}'
    const created = 'tidings_warnings_total{operation="report_audience",kind="created_customers"}'
    const before = [await metric(misspelt), await metric(created)] as const
    await tracking.user({ type: 'customer', customer_id: 'c1', attributes: { Email: 'x', Locale: 'de' } })
    const report = await reports.send(AUDIENCE, campaign.id, reportOf(AUDIENCE, { customer_id: 'counted' }))
    expect((await tracking.fateOf(report)) as Warned).toMatchObject({ created_customers: 1 })
    expect(await metric(misspelt)).toBe(before[0] + 2)
    // The thread of the pipeline reports a batch after its commit.
    await until('the warning is counted', async () => (await metric(created)) === before[1] + 1)
  })
})
