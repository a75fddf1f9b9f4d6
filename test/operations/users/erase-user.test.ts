// Erase User and List erasures, through real HTTP on both stores: nothing of the person stays but the proofs of consent, and the
// statistics keep their numbers.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rebuildStatistics } from '../../../src/statistics/rebuild-statistics.ts'
import { verifyStatistics } from '../../../src/statistics/verify-statistics.ts'
import { parkEntries } from '../../../src/store/entries/parked-entries.ts'
import { findGoalBackfill } from '../../../src/store/campaigns/goal-backfills.ts'
import { campaignCallsOf } from '../../support/calls/campaign-calls.ts'
import { NO_LIMITS, PREFERENCES_PATH } from '../../support/calls/preference-calls.ts'
import { AUDIENCE, MESSAGE_EVENTS, reportCallsOf, reportOf } from '../../support/calls/report-calls.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import { expectRefusal, startServer, until, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

interface Receipt {
  readonly erasure_id: string
  readonly status: string
  readonly events: number
  readonly proofs: number
}

/** Tables that must not mention an erased person, and those that may keep what its requests counted. */
const TABLES_OF_PERSONS = ['users', 'user_identities', 'events', 'preferences', 'preference_changes', 'erasures']

describeEachStore('Erase User (erase_user, list_erasures)', (kind) => {
  let server: TestServer
  let as: TestWorkspace
  let made = 0
  beforeAll(async () => {
    server = await startServer(kind)
  })
  afterAll(() => server.stop())

  const makeWorkspace = async (settings = {}) => {
    as = await server.makeWorkspace({ limits: { ...NO_LIMITS, management_per_minute: 1_000_000 }, ...settings })
    return trackingOf(server, as)
  }
  /** On a machine so busy that the pipeline is two seconds behind, the answer is 503: the client asks again. */
  const erase = (query: string) =>
    until('an answer but 503', async () => {
      const answer = await server.call<Receipt>('DELETE', `/v1/customer/${as.id}?${query}`, { as })
      return answer.status !== 503 && answer
    })
  const listErasures = async (customerId: string) => {
    const path = `/v1/customer/${as.id}/erasures?customer_id=${customerId}`
    return (await server.call<{ data: Record<string, unknown>[] }>('GET', path, { as })).body.data
  }
  const optIn = (customer_id: string, opt_in_status: string) =>
    server.call('PUT', PREFERENCES_PATH, { as, body: { user_preferences: { customer_id, opt_in_status } } })

  /** A campaign with a goal, two persons who were sent something and converted, and its numbers. */
  const makeCampaign = async () => {
    const goal = { name: 'Order', event: 'Order Placed', window_hours: 36 }
    const calls = campaignCallsOf(server)
    const id = await calls.make({ conversion_goals: [goal], name: `campaign ${++made}` }, as)
    const reports = reportCallsOf(server)
    const at = '2026-05-04T09:00:00Z'
    const members = ['ann', 'bob'].map((customer_id) => ({ customer_id, evaluated_at: at }))
    const sent = ['ann', 'bob'].flatMap((customer_id) =>
      ['sent', 'impression', 'click'].map((eventKind) => ({ customer_id, kind: eventKind, time: at })),
    )
    const tracking = trackingOf(server, as)
    for (const [report, items] of [
      [AUDIENCE, members],
      [MESSAGE_EVENTS, sent],
    ] as const) {
      await tracking.fateOf(await reports.send(report, id, reportOf(report, ...items), { as }))
    }
    const order = { action: 'Order Placed', attributes: { amount: 1 }, user_time: '2026-05-04T10:00:00Z' }
    await tracking.apply(
      { type: 'event', customer_id: 'ann', actions: [order] },
      { type: 'event', customer_id: 'bob', actions: [order] },
    )
    await reports.close()
    return id
  }
  const statsOf = async (id: string, metric_type: string) => {
    const range = { start_date: '2026-05-01', end_date: '2026-05-31', attribution_type: 'TOTAL_CONVERSIONS' }
    const body = { request_id: '1', campaign_ids: [id], metric_type, ...range }
    const answer = await server.call<{ data: unknown }>('POST', '/core-services/v1/campaign-stats', {
      as,
      tile: 'reports',
      body,
    })
    expect(answer.status).toBe(200)
    return answer.body.data
  }
  const numbersOf = async (id: string) => [await statsOf(id, 'TOTAL'), await statsOf(id, 'UNIQUE')]

  it('deletes attributes, identities, preferences and events, also those just acknowledged', async () => {
    const tracking = await makeWorkspace({ identityResolution: ['phone'] })
    await tracking.apply({
      type: 'customer',
      customer_id: 'secret-person',
      attributes: { email: 'secret@example.com' },
    })
    await tracking.apply({ type: 'customer', customer_id: 'secret-person', user_identifiers: { phone: 'secret-1' } })
    expect((await optIn('secret-person', 'OPTED_IN')).status).toBe(200)
    const actions = [{ action: 'Viewed', attributes: { page: 'secret' } }]
    expect((await tracking.events({ type: 'event', customer_id: 'secret-person', actions })).status).toBe(200)
    const { status, body } = await erase('customer_id=secret-person')
    expect({ status, body }).toMatchObject({ status: 200, body: { status: 'complete', events: 1, proofs: 1 } })
    expectRefusal(await tracking.getUser({ customer_id: 'secret-person' }), 404, 'not_found')
    expectRefusal(await tracking.getUser({ email: 'secret@example.com' }), 404, 'not_found')
    expect((await tracking.listEvents({ customer_id: 'secret-person' })).body.data).toEqual([])
    for (const table of TABLES_OF_PERSONS) {
      const { rows } = await sql`select * from ${sql.table(table)}`.execute(server.database.query)
      expect(JSON.stringify(rows)).not.toContain('secret')
    }
  })

  it('keeps the proofs of consent, which only the customer id finds, without addresses', async () => {
    const tracking = await makeWorkspace()
    await tracking.apply({ type: 'customer', customer_id: 'ann', attributes: {} })
    await optIn('ann', 'OPTED_IN')
    await optIn('ann', 'OPTED_OUT')
    const { body } = await erase('customer_id=ann')
    const at = expect.stringMatching(/Z$/) as string
    const proof = (from: string, to: string) => ({
      at,
      by: 'key:data',
      before: { opt_in_status: from, categories: {} },
      after: { opt_in_status: to, categories: {} },
    })
    expect(await listErasures('ann')).toEqual([
      {
        erasure_id: body.erasure_id,
        erased_at: at,
        by: 'key:data',
        status: 'complete',
        events: 0,
        proofs: [proof('OPTED_IN', 'OPTED_OUT'), proof('OPT_IN_PENDING', 'OPTED_IN')],
      },
    ])
    expect(await listErasures('bob')).toEqual([])
  })

  it('keeps the numbers of campaigns, which verify and rebuild still confirm, also after more facts', async () => {
    const tracking = await makeWorkspace()
    const id = await makeCampaign()
    const before = await numbersOf(id)
    expect((await erase('customer_id=ann')).status).toBe(200)
    expect(await numbersOf(id)).toEqual(before)
    expect(await verifyStatistics(server.database, as.id, () => {})).toMatchObject({ users: 1, differingCells: 0 })
    // The id comes back with a later event, as a new person.
    const order = { action: 'Order Placed', user_time: '2026-05-04T11:00:00Z' }
    await tracking.apply(
      { type: 'event', customer_id: 'ann', actions: [order] },
      { type: 'event', customer_id: 'bob', actions: [order] },
    )
    expect(await verifyStatistics(server.database, as.id, () => {})).toMatchObject({ users: 2, differingCells: 0 })
    const now = await numbersOf(id)
    await rebuildStatistics(server.database, as.id, () => {})
    expect(await numbersOf(id)).toEqual(now)
    expect(now).not.toEqual(before)
  })

  it('is counted no more by goals that change later, and verification still holds', async () => {
    const tracking = await makeWorkspace()
    const id = await makeCampaign()
    await erase('customer_id=ann')
    const conversion_goals = [{ name: 'Order', event: 'Order Placed', window_hours: 12 }]
    expect((await campaignCallsOf(server).patch(id, { conversion_goals }, as)).status).toBe(200)
    await until('the backfill', async () => {
      const backfill = await findGoalBackfill(server.database, as.id)
      return backfill?.isRunning === false
    })
    expect(await verifyStatistics(server.database, as.id, () => {})).toMatchObject({ users: 1, differingCells: 0 })
    expect(JSON.stringify(await statsOf(id, 'TOTAL'))).toContain('"conversions":1')
    expect(JSON.stringify(await statsOf(id, 'TOTAL'))).not.toContain('"conversions":2')
    expectRefusal(await tracking.getUser({ customer_id: 'ann' }), 404, 'not_found')
  })

  it('erases every id of a merged person', async () => {
    const tracking = await makeWorkspace({ identityResolution: ['phone'] })
    await tracking.apply(
      { type: 'event', customer_id: 'a', user_identifiers: { phone: '1' }, actions: [{ action: 'x' }] },
      { type: 'event', customer_id: 'b', user_identifiers: { phone: '2' }, actions: [{ action: 'x' }] },
      { type: 'event', customer_id: 'b', user_identifiers: { phone: '1' }, actions: [{ action: 'x' }] },
    )
    expect((await erase('identifier_name=phone&identifier_value=2')).body).toMatchObject({ events: 3 })
    for (const customer_id of ['a', 'b']) expectRefusal(await tracking.getUser({ customer_id }), 404, 'not_found')
  })

  it('refuses an address that several users have, a user that does not exist, and a second erasure', async () => {
    const tracking = await makeWorkspace()
    const attributes = { email: 'both@example.com' }
    await tracking.apply(
      { type: 'customer', customer_id: 'a', attributes },
      { type: 'customer', customer_id: 'b', attributes },
    )
    expectRefusal(await erase('email=both@example.com'), 409, 'conflict', ['query.email'])
    expect((await erase('customer_id=a')).status).toBe(200)
    expectRefusal(await erase('customer_id=a'), 404, 'not_found')
    expect((await erase('email=both@example.com')).status).toBe(200)
    expectRefusal(await erase('customer_id=nobody'), 404, 'not_found')
  })

  it('is refused while entries are parked, which would bring the person back', async () => {
    const tracking = await makeWorkspace()
    await tracking.apply({ type: 'customer', customer_id: 'ann', attributes: {} })
    const entry = { kind: 'track_user', requestId: 'r', receivedAt: 1, context: '{}', error: 'x', parkedAt: 1 }
    const parked = { ...entry, position: 1_000_000_000, workspaceId: as.id, body: '{"customer_id":"ann"}' }
    await server.database.write((store) => parkEntries(store, [parked]))
    expectRefusal(await erase('customer_id=ann'), 409, 'conflict')
    expect((await tracking.getUser({ customer_id: 'ann' })).status).toBe(200)
  })
})
