// What tells open pages that something has changed, through real HTTP, on every store.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { ROLES } from '../../../src/core/accounts/role.ts'
import { changeDeliveryState } from '../../../src/store/delivery/deliveries.ts'
import { parkEntries } from '../../../src/store/entries/parked-entries.ts'
import type { LiveDocument } from '../../../dashboard/data/topics.ts'
import { signInAs } from '../../support/accounts/sign-in-as.ts'
import { deliveryCallsOf } from '../../support/delivery/delivery-calls.ts'
import { startServer, until, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

describeEachStore('What changed (get_changes)', (kind) => {
  let server: TestServer
  let workspace: TestWorkspace

  beforeAll(async () => void (server = await startServer(kind)))
  afterAll(() => server.stop())
  beforeEach(async () => void (workspace = await server.makeWorkspace()))

  const read = async (options: object = {}) => {
    const path = `/v1/workspaces/${workspace.id}/changes`
    const { status, body } = await server.call<LiveDocument>('GET', path, { as: workspace, ...options })
    expect(status).toBe(200)
    return body
  }
  const track = async () => {
    const body = { type: 'event', customer_id: 'ada', actions: [{ action: 'Visit' }, { action: 'Leave' }] }
    const { status } = await server.call('POST', `/v1/event/${workspace.id}`, { as: workspace, body })
    expect(status).toBe(200)
  }

  it('is the same for every role and both keys, and stays the same while nothing happens', async () => {
    const before = await read()
    expect(before).toMatchObject({ newest_audit: 0, parked: 0, statistics_revision: 0 })
    for (const role of ROLES) {
      const { processed_until: _at, lag_seconds: _lag, ...same } = before
      expect(await read({ person: await signInAs(server, role) })).toMatchObject(same)
    }
    expect(await read({ tile: 'reports' })).toMatchObject({ messages_revision: before.messages_revision })
  })

  it('differs once an event is processed, and counts the events of the last minute', async () => {
    const before = await read()
    await track()
    const after = await until('the event is processed', async () => {
      const now = await read()
      return now.newest_event > before.newest_event && now
    })
    expect(Date.parse(after.processed_until ?? '')).toBeGreaterThanOrEqual(Date.parse(before.processed_until ?? ''))
    const counted = await until('a new count', async () => {
      const { events_per_minute: rate } = await read()
      return rate > 0 && rate
    })
    expect(counted).toBe(2)
  })

  it('differs after a change of the settings, and only then', async () => {
    const before = await read()
    const owner = await signInAs(server, 'owner')
    const change = { as: workspace, person: owner, body: { settings: { name: 'Shop' } } }
    expect((await server.call('PATCH', `/v1/workspaces/${workspace.id}`, change)).status).toBe(200)
    const after = await read()
    expect(after.newest_audit).toBe(before.newest_audit + 1)
    expect(after.newest_event).toBe(before.newest_event)
  })

  it('differs when the numbers of a campaign of this workspace differ', async () => {
    const other = await server.makeWorkspace()
    const before = await read()
    const campaign = { name: 'June', platforms: ['EMAIL'], conversion_goals: [], created_by: 'ada' }
    const created = await server.call<{ campaign_id: string }>('POST', '/core-services/v1/campaigns', {
      as: workspace,
      tile: 'reports',
      body: campaign,
    })
    const events = [{ customer_id: 'ada', platform: 'EMAIL', kind: 'sent', time: new Date().toISOString() }]
    const report = { as: workspace, tile: 'reports', body: { events } } as const
    const path = `/core-services/v1/campaigns/${created.body.campaign_id}/message-events`
    expect((await server.call('POST', path, report)).status).toBe(200)
    const revision = await until('the report is counted', async () => {
      const now = await read()
      return now.statistics_revision > before.statistics_revision && now.statistics_revision
    })
    expect(revision).toBeLessThanOrEqual(Number.MAX_SAFE_INTEGER)
    workspace = other
    expect(await read()).toMatchObject({ statistics_revision: 0 })
  })

  it('differs when a campaign goes on by itself', async () => {
    const calls = deliveryCallsOf(server)
    const id = await calls.makeDelivered({ start_at: '2199-01-01T00:00:00Z' }, workspace)
    expect((await calls.put(id, 'start', workspace)).status).toBe(204)
    const { campaign } = await calls.storedOf(id, workspace)
    const before = await read()
    expect((await read()).messages_revision).toBe(before.messages_revision)
    await server.database.write((store) => changeDeliveryState(store, campaign, { to: 'overdue' }))
    const { messages_revision: revision, newest_event: event, newest_audit: audit } = await read()
    expect([event, audit]).toEqual([before.newest_event, before.newest_audit])
    expect(revision).not.toBe(before.messages_revision)
  })

  it('counts the parked entries of this workspace alone', async () => {
    const other = await server.makeWorkspace()
    const entry = { kind: 'track_events', receivedAt: 1, context: '{}', body: '{}', error: 'broken', parkedAt: 1 }
    await server.database.write((store) =>
      parkEntries(store, [
        { ...entry, position: 1, workspaceId: workspace.id, requestId: 'a' },
        { ...entry, position: 2, workspaceId: workspace.id, requestId: 'b' },
        { ...entry, position: 3, workspaceId: other.id, requestId: 'c' },
      ]),
    )
    expect((await read()).parked).toBe(2)
  })
})
