// The segments of one person through real HTTP, on every store.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { LIMIT_DEFAULTS } from '../../../src/core/workspace.ts'
import { PERSON_FACTS_MAX } from '../../../src/store/segments/find-person.ts'
import { addSegment } from '../../../src/store/segments/segments.ts'
import { segmentCallsOf, type SegmentCalls } from '../../support/calls/segment-calls.ts'
import { trackingOf, type Tracking } from '../../support/calls/tracking.ts'
import { expectRefusal, startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

interface Verdict {
  readonly segment_id: string
  readonly name: string
  readonly in: boolean | null
}

const ROOMY = { limits: { ...LIMIT_DEFAULTS, track_events_per_minute: 1_000_000, management_per_minute: 1_000_000 } }
const EVENTS_AT_ONCE = 1_000

describeEachStore("List a user's segments (list_user_segments)", (kind) => {
  let server: TestServer
  let as: TestWorkspace
  let calls: SegmentCalls
  let tracking: Tracking

  beforeAll(async () => void (server = await startServer(kind)))
  afterAll(() => server.stop())
  beforeEach(async () => {
    as = await server.makeWorkspace({ ...ROOMY, identityResolution: ['crm'] })
    calls = segmentCallsOf(server, as)
    tracking = trackingOf(server, as)
  })

  const list = (query: Record<string, string>, tile: 'data' | 'reports' = 'reports') => {
    const path = `/v1/customer/${as.id}/segments?${new URLSearchParams(query).toString()}`
    return server.call<{ data: readonly Verdict[] }>('GET', path, { tile, as })
  }
  const verdictsOf = async (query: Record<string, string>) => {
    const { status, body } = await list(query)
    expect(status).toBe(200)
    return body.data.map((verdict) => verdict.in)
  }

  it('tells for each segment, newest first, whether the person is in it, as an explanation does', async () => {
    const ids = [
      await calls.make({ attribute: 'plan', operator: 'is', value: 'free' }),
      await calls.make({ event: 'Order Placed', did: true, within_days: 7 }),
      await calls.make({ preference: { opt_in_status: ['OPTED_IN'] } }),
    ]
    ids.push(await calls.make({ all: [{ segment: ids[0] }, { not: { segment: ids[2] } }] }))
    const order = { action: 'Order Placed' }
    await tracking.apply(
      { type: 'customer', customer_id: 'ada', attributes: { plan: 'free' }, user_identifiers: { crm: 'c-1' } },
      { type: 'customer', customer_id: 'ben', attributes: { plan: 'paid' } },
      { type: 'event', customer_id: 'ben', actions: [order] },
    )
    const { body } = await list({ customer_id: 'ada' })
    expect(body.data.map(({ segment_id }) => segment_id)).toEqual(ids.toReversed())
    expect(body.data[0]).toEqual({ segment_id: ids[3], name: 'Segment 4', in: true })
    expect(body.data.map((verdict) => verdict.in)).toEqual([true, false, false, true])
    expect(await verdictsOf({ customer_id: 'ben' })).toEqual([false, false, true, false])
    expect((await list({ identifier_name: 'crm', identifier_value: 'c-1' })).body).toEqual(body)
    for (const customer_id of ['ada', 'ben']) {
      for (const { segment_id, in: isIn } of (await list({ customer_id })).body.data)
        expect((await calls.explain({ customer_id, segment_id })).body.in).toBe(isIn)
    }
  })

  it('tells it of every segment, however many there are', async () => {
    await tracking.apply({ type: 'customer', customer_id: 'ada', attributes: { number: 7 } })
    await server.database.write(async (store) => {
      for (let number = 0; number < 120; number++) {
        const condition = { attribute: 'number', operator: 'is', value: number } as const
        const id = `${as.id}-${number}`
        const made = { workspaceId: as.id, name: id, createdBy: 'anna', createdAt: 1, updatedAt: 1 }
        await addSegment(store, { ...made, id, condition })
      }
    })
    const { body } = await list({ customer_id: 'ada' })
    expect(body.data.map(({ name }) => name)).toEqual(
      Array.from({ length: 120 }, (_, index) => `${as.id}-${119 - index}`),
    )
    expect(body.data.filter((verdict) => verdict.in).map(({ name }) => name)).toEqual([`${as.id}-7`])
  })

  describe('leaves open', () => {
    it('where the person has too many events, and tells all other segments', async () => {
      await calls.make({ event: 'Seen', did: true })
      await calls.make({ event: 'Bought', did: true })
      await calls.make({ not: { event: 'Seen', did: true, within_days: 1 } })
      await calls.make({ attribute: 'plan', operator: 'exists' })
      await tracking.apply(
        { type: 'event', customer_id: 'ada', actions: [{ action: 'Bought' }] },
        ...Array.from({ length: PERSON_FACTS_MAX / EVENTS_AT_ONCE + 1 }, () => {
          return {
            type: 'event',
            customer_id: 'ada',
            actions: Array.from({ length: EVENTS_AT_ONCE }, () => ({ action: 'Seen' })),
          }
        }),
      )
      expect(await verdictsOf({ customer_id: 'ada' })).toEqual([false, null, true, null])
    })

    it('where a segment has become too large', async () => {
      const leaf = { attribute: 'plan', operator: 'exists' } as const
      const small = await calls.make({ any: Array.from({ length: 50 }, () => leaf) })
      await tracking.apply({ type: 'customer', customer_id: 'ada', attributes: { plan: 'free' } })
      const condition = { any: Array.from({ length: 6 }, () => ({ segment: small })) }
      await server.database.write((store) =>
        addSegment(store, {
          id: `${as.id}-large`,
          workspaceId: as.id,
          name: 'Large',
          condition,
          createdBy: 'anna',
          createdAt: 1,
          updatedAt: 1,
        }),
      )
      expect(await verdictsOf({ customer_id: 'ada' })).toEqual([null, true])
    })
  })

  it('finds a person who was just sent, and is empty without segments', async () => {
    await tracking.user({ type: 'customer', customer_id: 'new', attributes: {} })
    expect(await verdictsOf({ customer_id: 'new' })).toEqual([])
  })

  it('refuses unknown users, and queries that name none', async () => {
    expectRefusal(await list({ customer_id: 'nobody' }), 404, 'not_found')
    expectRefusal(await list({}), 400, 'invalid_request', [
      'query.customer_id',
      'query.identifier_name',
      'query.identifier_value',
    ])
    expectRefusal(await list({ customer_id: 'ada' }, 'data'), 403, 'forbidden')
  })
})
