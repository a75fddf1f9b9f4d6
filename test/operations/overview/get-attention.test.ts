// What needs somebody, through real HTTP, on every store: each kind, and who sees it.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Role } from '../../../src/core/accounts/role.ts'
import { LIMIT_DEFAULTS } from '../../../src/core/workspace.ts'
import { changeDeliveryState } from '../../../src/store/delivery/deliveries.ts'
import { parkEntries } from '../../../src/store/entries/parked-entries.ts'
import { saveWaiting, takeSenderLease } from '../../../src/store/senders/sender-leases.ts'
import { signInAs } from '../../support/accounts/sign-in-as.ts'
import { couponCallsOf, type CouponCalls } from '../../support/calls/coupon-calls.ts'
import { deliveryCallsOf, type DeliveryCalls } from '../../support/delivery/delivery-calls.ts'
import { fillRun } from '../../support/delivery/filled-run.ts'
import { startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const NOON = Date.parse('2026-05-10T12:00:00Z')
const LATER = '2026-05-11T12:00:00.000Z'
const BUSY = { since: NOON, reason: 'The server takes no mail.' }

interface Item {
  readonly kind: string
  readonly count: number
  readonly subjects: readonly { readonly id: string; readonly [member: string]: unknown }[]
}

describeEachStore('What needs somebody (get_attention)', (kind) => {
  let server: TestServer
  let calls: DeliveryCalls
  let coupons: CouponCalls
  let workspace: TestWorkspace
  let entries = 0

  beforeAll(async () => {
    server = await startServer(kind, {}, { withPipeline: false, withDelivery: false })
    server.setClock(NOON)
    calls = deliveryCallsOf(server)
    coupons = couponCallsOf(server)
  })
  afterAll(() => server.stop())
  beforeEach(async () => void (workspace = await server.makeWorkspace()))

  const read = async (options: object = {}) => {
    const path = `/v1/workspaces/${workspace.id}/attention`
    const answer = await server.call<{ data: Item[] }>('GET', path, { as: workspace, tile: 'reports', ...options })
    expect(answer.status).toBe(200)
    return answer.body.data
  }
  const started = async (fields: Readonly<Record<string, unknown>> = {}) => {
    const id = await calls.makeDelivered(fields, workspace)
    expect((await calls.put(id, 'start', workspace)).status).toBe(204)
    return id
  }
  const campaignOf = async (id: string) => (await calls.storedOf(id, workspace)).campaign

  it('is nothing in a workspace where nothing waits', async () => {
    await started()
    await calls.makeDelivered({}, workspace)
    expect(await read()).toEqual([])
  })

  it('names campaigns that are paused, overdue or waiting, newest first, and the sender that waits', async () => {
    const paused = await started()
    await calls.put(paused, 'pause', workspace)
    const overdue = await started({ start_at: LATER })
    const late = await campaignOf(overdue)
    await server.database.write((store) => changeDeliveryState(store, late, { to: 'overdue' }))
    const sender = await calls.addSender({ name: 'Shop' }, workspace)
    const waiting = await started({ sender_id: sender.id })
    await server.database.write(async (store) => {
      const wish = { sender: sender.number, holder: 'test', keptMs: 1_000, isAlone: true }
      const lease = await takeSenderLease(store, wish)
      if (lease) await saveWaiting(store, lease, BUSY)
    })
    const since = new Date(NOON).toISOString()
    expect(await read()).toEqual([
      {
        kind: 'campaigns_halted',
        count: 3,
        subjects: [
          { id: waiting, name: expect.any(String), state: 'waiting', since, reason: BUSY.reason },
          { id: overdue, name: expect.any(String), state: 'overdue' },
          { id: paused, name: expect.any(String), state: 'paused', since, reason: expect.any(String) },
        ],
      },
      { kind: 'senders_waiting', count: 1, subjects: [{ id: sender.id, name: 'Shop', since, reason: BUSY.reason }] },
    ])
  })

  it('counts messages in doubt, also of campaigns that are over, and names their campaigns', async () => {
    const doubtful = async (messages: number, phase: 'sending' | 'finished') => {
      const id = await started()
      const people = Array.from({ length: messages }, (_, index) => {
        return { state: 'in_doubt', customerId: `p${index}`, userId: index + 1 } as const
      })
      const sent = { state: 'sent', customerId: 'x', userId: 99, sentAt: NOON } as const
      await fillRun(server.database, { campaign: await campaignOf(id), at: NOON, phase, messages: [...people, sent] })
      return id
    }
    const first = await doubtful(2, 'finished')
    const second = await doubtful(3, 'sending')
    await doubtful(0, 'sending')
    const named = { name: expect.any(String) }
    expect(await read()).toEqual([
      {
        kind: 'messages_in_doubt',
        count: 5,
        subjects: [
          { id: second, ...named, count: 3 },
          { id: first, ...named, count: 2 },
        ],
      },
    ])
  })

  it('names coupon lists by their alert conditions', async () => {
    const conditions = (shortage: number | undefined, days: number | undefined) => ({
      alert_conditions: {
        coupon_shortage_alert: { alert: shortage !== undefined, threshold_count: shortage ?? 0 },
        expiry_alert: { alert: days !== undefined, days_before: days ?? 0 },
      },
    })
    const make = async (name: string, fields: object) => {
      const id = await coupons.make({ name, ...fields }, workspace)
      await coupons.call('POST', `/v1/coupon-list/${id}/coupons`, { as: workspace, body: { coupons: ['A', 'B'] } })
      return id
    }
    await make('enough', conditions(1, 30))
    await make('silent', { expires_at: '2026-05-12', ...conditions(undefined, undefined) })
    const short = await make('short', conditions(2, undefined))
    const ends = await make('ends', { expires_at: '2026-05-12', ...conditions(undefined, 2) })
    expect(await read()).toEqual([
      { kind: 'coupons_short', count: 1, subjects: [{ id: short, name: 'short', count: 2, of: 2 }] },
      { kind: 'coupons_expiring', count: 1, subjects: [{ id: ends, name: 'ends', count: 2 }] },
    ])
  })

  it('names at most ten of a kind, and counts all', async () => {
    for (let count = 0; count < 12; count++) {
      const id = await coupons.make(
        {
          expires_at: '2026-05-12',
          alert_conditions: { expiry_alert: { alert: true, days_before: 9 } },
        },
        workspace,
      )
      expect(id).not.toBe('')
    }
    const [item] = await read()
    expect([item?.count, item?.subjects.length]).toEqual([12, 10])
  })

  const shown: [role: Role, kinds: readonly string[]][] = [
    ['owner', ['campaigns_halted', 'parked_entries', 'limits_nearly_used']],
    ['developer', ['parked_entries', 'limits_nearly_used']],
    ['marketer', ['campaigns_halted']],
    ['analyst', ['campaigns_halted']],
  ]
  it.each(shown)('shows to the %s only %j', async (role, kinds) => {
    await calls.put(await started(), 'pause', workspace)
    const entry = { kind: 'track_events', requestId: 'a', receivedAt: 1, context: '{}', body: '{}' }
    const parked = { ...entry, position: ++entries, workspaceId: workspace.id, error: 'broken', parkedAt: 1 }
    await server.database.write((store) => parkEntries(store, [parked]))
    await server.changeSettings(workspace, { limits: { ...LIMIT_DEFAULTS, track_events_per_minute: 5 } })
    const actions = Array.from({ length: 4 }, () => ({ action: 'Visit' }))
    const body = { type: 'event', customer_id: 'ada', actions }
    await server.call('POST', `/v1/event/${workspace.id}`, { as: workspace, body })
    const items = await read({ person: await signInAs(server, role) })
    expect(items.map(({ kind: of }) => of)).toEqual(kinds)
    const limits = items.filter(({ kind: of }) => of === 'limits_nearly_used').flatMap(({ subjects }) => subjects)
    const used = { id: 'track_events_per_minute', count: 4, of: 5 }
    expect(limits).toMatchObject(kinds.includes('limits_nearly_used') ? [used] : [])
  })
})
