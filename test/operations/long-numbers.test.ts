// Numbers that 64-bit floating point would round, and nested attributes in conditions, through real HTTP on every store.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NUMBER_LENGTH_MAX, toJsonNumber } from '../../src/core/json/exact-number.ts'
import type { CampaignStatsBody } from '../../src/operations/statistics/campaign-stats-body.ts'
import { verifyStatistics } from '../../src/statistics/verify-statistics.ts'
import { campaignCallsOf } from '../support/calls/campaign-calls.ts'
import { MESSAGE_EVENTS, reportOf } from '../support/calls/report-calls.ts'
import { trackingOf, type AcceptedBody, type Tracking } from '../support/calls/tracking.ts'
import { expectRefusal, startServer, type TestServer } from '../support/server.ts'
import { describeEachStore } from '../support/stores.ts'

const [ID, NEXT_ID] = [toJsonNumber('1610521604143693812'), toJsonNumber('1610521604143693813')]
const TOO_LONG = toJsonNumber('9'.repeat(NUMBER_LENGTH_MAX + 1))
const NUMBERS = `{"order_id":${String(ID)},"list":[0.12345678901234567,{"huge":1e400,"tiny":-1e-400}],"amount":49.9}`

const event = (customer_id: string, attributes: object, fields: object = {}) => {
  return { type: 'event', customer_id, actions: [{ action: 'Order Placed', attributes, ...fields }] }
}

describeEachStore('Long numbers (track_events, track_user, get_user, list_user_events)', (kind) => {
  let server: TestServer
  let tracking: Tracking

  beforeAll(async () => {
    server = await startServer(kind, { PII_KEY: randomBytes(32).toString('base64') })
    tracking = trackingOf(server, await server.makeWorkspace({ identityResolution: ['crm'] }))
  })
  afterAll(() => server.stop())

  const attributesOfEvents = async (customer_id: string) => {
    const { body } = await tracking.listEvents({ customer_id })
    return body.data.map(({ attributes }) => JSON.stringify(attributes))
  }
  const attributesOfUser = async (customer_id: string, calls = tracking) => {
    return JSON.stringify((await calls.getUser({ customer_id })).body.attributes)
  }

  it('keep every digit in the attributes of events', async () => {
    const body = `{"type":"event","customer_id":"e1","actions":[{"action":"A","attributes":${NUMBERS}}]}`
    await tracking.fateOf(await tracking.events(body))
    expect(await attributesOfEvents('e1')).toEqual([NUMBERS])
  })

  it('keep every digit in the attributes of users, also when other requests and merges follow', async () => {
    const user = (customer_id: string, members: string) => {
      return `{"type":"customer","customer_id":"${customer_id}",${members}}`
    }
    await tracking.fateOf(await tracking.user(user('u1', `"attributes":${NUMBERS}`)))
    expect(await attributesOfUser('u1')).toBe(NUMBERS)
    await tracking.apply({ type: 'customer', customer_id: 'u1', attributes: { amount: 50 } })
    await tracking.fateOf(await tracking.user(user('u2', `"attributes":{"second":${String(NEXT_ID)}}`)))
    for (const id of ['u1', 'u2']) {
      await tracking.apply({ type: 'customer', customer_id: id, user_identifiers: { crm: 'one person' } })
    }
    const merged = `${NUMBERS.replace('49.9', '50').slice(0, -1)},"second":${String(NEXT_ID)}}`
    expect(await attributesOfUser('u2')).toBe(merged)
  })

  it.each(['tokenized', 'encrypted'] as const)('keep every digit if emails are %s', async (emailProtection) => {
    const calls = trackingOf(server, await server.makeWorkspace({ emailProtection }))
    await calls.fateOf(await calls.user(`{"type":"customer","customer_id":"u1","attributes":${NUMBERS}}`))
    expect(await attributesOfUser('u1', calls)).toBe(NUMBERS)
  })

  it('are identifiers with all their digits', async () => {
    for (const [customer_id, crm] of Object.entries({ i1: ID, i2: NEXT_ID })) {
      await tracking.apply({ ...event(customer_id, {}), user_identifiers: { crm } })
    }
    const found = async (identifier_value: string) => {
      return (await tracking.getUser({ identifier_name: 'crm', identifier_value })).body
    }
    expect(await found(String(ID))).toMatchObject({ customer_id: 'i1', user_identifiers: { crm: String(ID) } })
    expect(await found(String(NEXT_ID))).toMatchObject({ customer_id: 'i2' })
  })

  it('are times with all their milliseconds', async () => {
    const answer = await tracking.events(event('t1', {}, { user_time: toJsonNumber('1777888800.251234567') }))
    await tracking.fateOf(answer)
    const { body } = await tracking.listEvents({ customer_id: 't1' })
    expect(body.data.map(({ time }) => time)).toEqual(['2026-05-04T10:00:00.251Z'])
  })

  it('are refused if they have more than 400 characters', async () => {
    const refused = await tracking.events(event('r1', { a: 1, order: { id: TOO_LONG } }))
    expectRefusal(refused, 400, 'invalid_request', ['actions[0].attributes.order'])
    const user = { type: 'customer', customer_id: 'r1', attributes: { a: [TOO_LONG] } }
    expectRefusal(await tracking.user(user), 400, 'invalid_request', ['attributes.a'])
    const named = { ...event('r1', {}), user_identifiers: { crm: TOO_LONG } }
    expectRefusal(await tracking.events(named), 400, 'invalid_request', ['user_identifiers.crm'])
  })
})

describeEachStore('A condition of a goal (create_campaign, update_campaign, fetch_campaign_stats)', (kind) => {
  let server: TestServer

  beforeAll(async () => void (server = await startServer(kind)))
  afterAll(() => server.stop())

  it('compares all digits of a number, and reaches nested attributes, in every count', async () => {
    const workspace = await server.makeWorkspace()
    const tracking = trackingOf(server, workspace)
    const goal = (name: string, operator: string, value: unknown) => {
      return { name, event: 'Order Placed', where: [{ attribute: 'order.id', operator, value }] }
    }
    const conversion_goals = [goal('This', 'is', ID), goal('Later', 'greater_than', ID), goal('Other', 'is_not', ID)]
    const campaign = await campaignCallsOf(server).make({ conversion_goals }, workspace)
    const path = `/core-services/v1/campaigns/${campaign}/message-events`
    const click = reportOf(MESSAGE_EVENTS, { kind: 'click' })
    await tracking.fateOf(
      await server.call<AcceptedBody>('POST', path, { tile: 'reports', as: workspace, body: click }),
    )
    const attributes = [{ order: { id: ID } }, { order: { id: NEXT_ID } }, { 'order.id': ID }, { order: [{ id: ID }] }]
    const user_time = '2026-05-04T10:00:00Z'
    for (const each of attributes) await tracking.apply(event('c1', each, { user_time }))

    const conversions = async () => {
      const range = { start_date: '2026-05-04', end_date: '2026-05-04' }
      const body = { request_id: 'r', ...range, attribution_type: 'CLICK_THROUGH', metric_type: 'TOTAL' }
      const stats = '/core-services/v1/campaign-stats'
      const answer = await server.call<StatsBody>('POST', stats, { tile: 'reports', as: workspace, body })
      const found = answer.body.data[campaign]?.[0].platforms['all_platforms']?.locales['all_locales']
      const numbers = Object.entries(found?.variations['all_variations']?.conversion_goal_stats ?? {})
      return Object.fromEntries(numbers.map(([name, goalStats]) => [name, goalStats.conversions]))
    }
    expect(await conversions()).toEqual({ This: 2, Later: 1, Other: 2 })
    expect(await verifyStatistics(server.database, workspace.id, () => {})).toMatchObject({ differingCells: 0 })
  })
})

interface StatsBody {
  readonly data: Readonly<Record<string, [CampaignStatsBody]>>
}
