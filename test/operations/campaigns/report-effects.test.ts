// The effects of campaign reports, on every store: receipts, new customers, merged users, and reports that could not be applied
// at first.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { raiseVersion } from '../../../src/operations/campaigns/change-goals.ts'
import { LogFollower } from '../../../src/pipeline/follower/follow-log.ts'
import { replayParked } from '../../../src/pipeline/replay-parked.ts'
import { verifyStatistics } from '../../../src/statistics/verify-statistics.ts'
import { addCampaign, lockCampaigns } from '../../../src/store/campaigns/campaigns.ts'
import { listParkedEntries } from '../../../src/store/entries/parked-entries.ts'
import { WriterLock } from '../../../src/runtime/writer-lock.ts'
import { hasUsers } from '../../../src/store/users/user-counts.ts'
import { createWorkspace } from '../../../src/actions/create-workspace.ts'
import { campaignCallsOf } from '../../support/calls/campaign-calls.ts'
import { changedByTest } from '../../support/audit/changed-by.ts'
import { NOW, openPipelineBench, type PipelineBench, type TestEntry } from '../../support/pipeline-bench.ts'
import { AUDIENCE, MESSAGE_EVENTS, reportOf, type ReportKind } from '../../support/calls/report-calls.ts'
import { startServer, until, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { trackingOf, type AcceptedBody, type Fate, type Tracking } from '../../support/calls/tracking.ts'

describeEachStore('The effects of a campaign report (report_audience, report_message_events)', (kind) => {
  let server: TestServer
  let workspace: TestWorkspace
  let tracking: Tracking
  let campaignId: string

  beforeAll(async () => void (server = await startServer(kind)))
  afterAll(() => server.stop())
  beforeEach(async () => {
    server.setClock(NOW)
    workspace = await server.makeWorkspace({ identityResolution: ['crm'] })
    tracking = trackingOf(server, workspace)
    campaignId = await campaignCallsOf(server).make({}, workspace)
  })

  const send = (report: ReportKind, ...items: readonly object[]) => {
    const path = `/core-services/v1/campaigns/${campaignId}/${report.path}`
    const body = reportOf(report, ...items)
    return server.call<AcceptedBody>('POST', path, { tile: 'reports', as: workspace, body })
  }
  /** Sends a report and returns its status once it is applied. */
  const apply = async (report: ReportKind, ...items: readonly object[]): Promise<Fate> => {
    return tracking.fateOf(await send(report, ...items))
  }
  const sentNumbers = async (metricType: string) => {
    const range = { start_date: '2026-05-04', end_date: '2026-05-04' }
    const body = { request_id: 'r', ...range, attribution_type: 'CLICK_THROUGH', metric_type: metricType }
    const path = '/core-services/v1/campaign-stats'
    const answer = await server.call<StatsBody>('POST', path, { tile: 'reports', as: workspace, body })
    const variations = answer.body.data[campaignId]?.[0].platforms['all_platforms']?.locales['all_locales']?.variations
    return variations?.['all_variations']?.performance_stats['sent']
  }

  const repeats: [what: string, report: ReportKind, again: object, other: object][] = [
    ['members', AUDIENCE, { removed: 'user_removed_due_to_opt_out' }, { platform: 'WEB' }],
    ['message events', MESSAGE_EVENTS, { reason: 'late' }, { device_id: 'd2' }],
    ['message events with message_id', MESSAGE_EVENTS, { message_id: 'm', platform: 'WEB' }, { message_id: 'm2' }],
  ]
  it.each(repeats)(
    'include the number of its %s, and of duplicates that were reported before',
    async (_, report, again, other) => {
      const first = 'message_id' in again ? { message_id: 'm' } : {}
      expect(await apply(report, first, again, first)).toMatchObject({ status: 'processed', events: 3, duplicates: 2 })
      expect(await apply(report, again, other)).toMatchObject({ status: 'processed', events: 2, duplicates: 1 })
      expect(await apply(report, other, again)).toMatchObject({ status: 'processed', events: 2, duplicates: 2 })
    },
  )

  it('include the counts of thousands of users, even if some have many facts', async () => {
    const users = 1_500
    const ids = Array.from({ length: users }, (_, index) => `c${index}`)
    const items = ids.map((customer_id) => ({ customer_id }))
    // A few users have many facts, so that portions become smaller and larger again.
    const past = (customer_id: string) =>
      Array.from({ length: 200 }, (_, second) => ({ customer_id, time: Date.parse('2026-05-03T09:00:00Z') + second }))
    for (const report of [past('c0'), past('c500'), past('c1000')]) await apply(MESSAGE_EVENTS, ...report)
    expect(await apply(AUDIENCE, ...items)).toMatchObject({ events: users, duplicates: 0 })
    expect(await apply(MESSAGE_EVENTS, ...items)).toMatchObject({ events: users, duplicates: 0 })
    expect(await sentNumbers('UNIQUE')).toBe(users)
    const verified = await verifyStatistics(server.database, workspace.id, () => {})
    expect(verified).toMatchObject({ users, facts: 2 * users + 600 })
    expect(verified.differingCells).toBe(0)
  })

  it.each([AUDIENCE, MESSAGE_EVENTS])('($path) include the creation of new customers', async (report) => {
    expect((await tracking.getUser({ customer_id: 'c2' })).status).toBe(404)
    await apply(report, { customer_id: 'c1' }, { customer_id: 'c2' })
    for (const customer_id of ['c1', 'c2']) {
      const { status, body } = await tracking.getUser({ customer_id })
      expect({ status, body }).toEqual({
        status: 200,
        body: {
          customer_id,
          attributes: {},
          user_identifiers: {},
          created_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
          last_event_at: null,
        },
      })
    }
  })

  it('include merged users once, under any of their customer ids', async () => {
    const track = (fields: object) => tracking.apply({ type: 'event', actions: [{ action: 'A' }], ...fields })
    await track({ customer_id: 'old', user_identifiers: { crm: 'x' } })
    await apply(MESSAGE_EVENTS, { customer_id: 'old' }, { customer_id: 'new' })
    expect([await sentNumbers('TOTAL'), await sentNumbers('UNIQUE')]).toEqual([2, 2])
    await track({ customer_id: 'new', user_identifiers: { crm: 'x' } })
    expect([await sentNumbers('TOTAL'), await sentNumbers('UNIQUE')]).toEqual([2, 1])
    const again = await apply(MESSAGE_EVENTS, { customer_id: 'new' }, { customer_id: 'new', time: NOW })
    expect(again).toMatchObject({ events: 2, duplicates: 1 })
    expect([await sentNumbers('TOTAL'), await sentNumbers('UNIQUE')]).toEqual([3, 1])
    expect((await tracking.getUser({ customer_id: 'new' })).body).toMatchObject({ customer_id: 'old' })
  })
})

describeEachStore('A campaign report in batches of the pipeline (report_audience, report_message_events)', (kind) => {
  let bench: PipelineBench

  beforeAll(async () => void (bench = await openPipelineBench(kind)))
  afterAll(() => bench.close())
  beforeEach(() => bench.makeWorkspace())

  const report = (campaign: number | undefined, ...items: readonly object[]): TestEntry => ({
    kind: 'svc_message_events',
    context: campaign === undefined ? {} : { campaign },
    body: reportOf(MESSAGE_EVENTS, ...items),
  })

  async function makeCampaign(workspaceId = bench.workspaceId): Promise<number> {
    return bench.database.write(async (store) => {
      await lockCampaigns(store, workspaceId)
      const fields = { name: 'Summer', platforms: ['EMAIL'], goals: [], createdBy: 'anna', createdAt: NOW }
      const { number } = await addCampaign(store, { id: `campaign-${workspaceId}`, workspaceId, ...fields })
      await raiseVersion(store, workspaceId)
      return number
    })
  }

  it('is counted for one user after successive merges in one batch', async () => {
    const workspaceId = await bench.makeWorkspace({ identityResolution: ['crm', 'card'] })
    const track = (customer_id: string, user_identifiers = {}): TestEntry => {
      return { body: { type: 'event', customer_id, user_identifiers, actions: [{ action: 'A' }] } }
    }
    const ids = ['oldest', 'older', 'younger']
    await bench.append(track('oldest', { crm: 'x' }), track('older', { card: 'y' }), track('younger'))
    const items = ids.map((customer_id) => ({ customer_id }))
    await bench.append(report(await makeCampaign(), ...items))
    await bench.follow()
    expect(await verifyStatistics(bench.database, workspaceId, () => {})).toMatchObject({ users: 3, facts: 3 })
    // The second merge includes the user that the first one merged.
    await bench.append(track('younger', { card: 'y' }), track('older', { crm: 'x' }))
    const { batches } = await bench.follow()
    expect(batches).toHaveLength(1)
    const { users, facts, differingCells } = await verifyStatistics(bench.database, workspaceId, () => {})
    expect([users, facts, differingCells]).toEqual([1, 3, 0])
  })

  it('is applied in a separate batch, after other writers, if two reports together change too many numbers', async () => {
    const workspaceId = await bench.makeWorkspace()
    const campaign = await makeCampaign()
    const members = Array.from({ length: 2_000 }, (_, index) => {
      return { customer_id: `c${index}`, locale: `l${index}`, variation: `v${index}` }
    })
    const audience = (...items: readonly object[]): TestEntry => {
      return { kind: AUDIENCE.kind, context: { campaign }, body: reportOf(AUDIENCE, ...items) }
    }
    const start = await bench.cursor()
    const ids = await bench.append(audience(...members.slice(0, 1_000)), audience(...members.slice(1_000)))
    const writerLock = new CountingWriterLock()
    const batches: [entries: number, turns: number][] = []
    const follower = new LogFollower({
      ...bench,
      writerLock,
      clock: () => NOW,
      onBatch: ({ entries }) => void batches.push([entries, writerLock.turns]),
      onFailure: (error) => {
        throw error
      },
    })
    follower.start()
    try {
      await until('the log is followed to its end', async () => (await bench.cursor()) >= start + ids.length, 60_000)
    } finally {
      await follower.stop()
    }
    expect(batches).toEqual([
      [1, 1],
      [1, 2],
    ])
    const { users, facts, differingCells } = await verifyStatistics(bench.database, workspaceId, () => {})
    expect([users, facts, differingCells]).toEqual([2_000, 2_000, 0])
  }, 120_000)

  it('is parked if its campaign does not exist, and nothing of it is stored', async () => {
    const theirs = await makeCampaign()
    await bench.makeWorkspace()
    const reasons = async (campaign: number | undefined) => {
      const [id] = await bench.append(report(campaign, {}))
      await bench.follow()
      return bench.receipt(id)
    }
    const error = `workspace ${bench.workspaceId} has no campaign with the number ${theirs}`
    expect(await reasons(theirs)).toMatchObject({ status: 'parked', events: 1, error })
    // Even if the workspace has another campaign.
    await makeCampaign()
    expect(await reasons(theirs)).toMatchObject({ status: 'parked', events: 1, error })
    expect(await reasons(undefined)).toMatchObject({ status: 'parked', error: 'the entry has no campaign' })
    expect(await hasUsers(bench.database, bench.workspaceId)).toBe(false)
  })

  it('is counted when it is replayed, except for facts reported meanwhile', async () => {
    const workspaceId = `late-${bench.workspaceId}`
    const start = await bench.cursor()
    // The number that the campaign will get.
    const campaign = (await makeCampaign()) + 1
    const parked = { ...report(campaign, { customer_id: 'a' }, { customer_id: 'b' }), workspaceId }
    const [id] = await bench.append(parked)
    await bench.follow()
    expect(await bench.receipt(id, workspaceId)).toMatchObject({ status: 'parked', events: 2 })
    await createWorkspace(bench.database, workspaceId, { name: 'late' }, NOW)
    expect(await makeCampaign(workspaceId)).toBe(campaign)
    await bench.append({ ...report(campaign, { customer_id: 'b' }), workspaceId })
    await bench.follow()
    const position = (await listParkedEntries(bench.database, start, 1))[0]?.position as number
    const by = changedByTest(workspaceId, NOW)
    expect(await replayParked(bench.database, { position, by })).toEqual({ outcome: 'applied' })
    expect(await bench.receipt(id, workspaceId)).toMatchObject({ status: 'processed', events: 2, duplicates: 1 })
    const { users, facts, differingCells } = await verifyStatistics(bench.database, workspaceId, () => {})
    expect([users, facts, differingCells]).toEqual([2, 2, 0])
  })
})

/** The part of campaign stats that these tests read. */
interface StatsBody {
  readonly data: Record<string, [Platforms]>
}

interface Platforms {
  readonly platforms: Record<string, { readonly locales: Record<string, { readonly variations: Variations }> }>
}

type Variations = Record<string, { readonly performance_stats: Record<string, number> }>

/** Counts how often it yields to other writers. */
class CountingWriterLock extends WriterLock {
  turns = 0

  override yieldToWriters(): Promise<void> {
    this.turns++
    return super.yieldToWriters()
  }
}
