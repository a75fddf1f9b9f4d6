// Archiving, restoring and deleting campaigns through real HTTP, on every store.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { NameCache } from '../../../src/actions/name-cache.ts'
import { reportMessageEvents } from '../../../src/operations/campaigns/report-message-events.ts'
import type { Parts } from '../../../src/operations/operation.ts'
import { backfillGoals } from '../../../src/statistics/backfill-goals.ts'
import { GoalCatalogs } from '../../../src/statistics/goal-catalog.ts'
import { findCampaign, measureCampaigns, type StoredCampaign } from '../../../src/store/campaigns/campaigns.ts'
import { findGoalBackfill, listRunningBackfills } from '../../../src/store/campaigns/goal-backfills.ts'
import { findWorkspace } from '../../../src/store/workspaces/workspaces.ts'
import { campaignCallsOf, CAMPAIGNS_PATH, type CampaignCalls } from '../../support/calls/campaign-calls.ts'
import {
  AUDIENCE,
  MESSAGE_EVENTS,
  REPORT_KINDS,
  reportCallsOf,
  reportOf,
  type ReportCalls,
} from '../../support/calls/report-calls.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import { meddled } from '../../support/meddled-store.ts'
import { expectRefusal, startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const NOON = Date.parse('2026-05-10T12:00:00Z')
const GOAL = { name: 'Order', event: 'Order Placed', window_hours: 24 }

describeEachStore('Archived and deleted campaigns (archive_campaign, restore_campaign, delete_campaign)', (kind) => {
  let server: TestServer
  let calls: CampaignCalls
  let reports: ReportCalls
  let workspace: TestWorkspace

  beforeAll(async () => {
    server = await startServer(kind, {}, { withPipeline: false })
    calls = campaignCallsOf(server)
    reports = reportCallsOf(server)
  })
  beforeEach(async () => {
    server.setClock(NOON)
    workspace = await server.makeWorkspace()
  })
  afterAll(async () => {
    await reports.close()
    await server.stop()
  })

  const make = (...conversion_goals: object[]) => calls.make({ conversion_goals }, workspace)
  const stored = async (id: string) => (await findCampaign(server.database, workspace.id, id)) as StoredCampaign
  const list = async (query: string) => {
    const { data } = (await calls.list(query, workspace)).body
    return data.map(({ campaign_id }) => campaign_id)
  }
  const statusOf = async (answer: Promise<{ readonly status: number }>) => (await answer).status

  it('archiving hides a campaign from the list unless `archived` asks for it, and restoring shows it again', async () => {
    const [first, second, third] = [await make(), await make(), await make()]
    expect(await statusOf(calls.archive(second, workspace))).toBe(204)
    expect(await list('')).toEqual([third, first])
    expect(await list('?archived=false')).toEqual([third, first])
    expect(await list('?archived=true')).toEqual([second])
    expect(await list('?archived=all')).toEqual([third, second, first])
    expect(await statusOf(calls.restore(second, workspace))).toBe(204)
    expect([await list(''), await list('?archived=true')]).toEqual([[third, second, first], []])
  })

  it('pages of current campaigns skip archived ones, and may begin after one', async () => {
    const [first, second, third] = [await make(), await make(), await make()]
    await calls.archive(second, workspace)
    const page = (await calls.list('?limit=1', workspace)).body
    expect([page.data[0]?.campaign_id, page.next_before]).toEqual([third, third])
    expect(await list(`?limit=1&before=${third}`)).toEqual([first])
    expect(await list(`?before=${second}`)).toEqual([first])
  })

  it('listing refuses an unknown value of `archived`', async () => {
    expectRefusal(await calls.list('?archived=yes', workspace), 400, 'invalid_request', ['query.archived'])
  })

  it('getting returns an archived campaign with the first instant of archiving, which changes nothing else', async () => {
    const id = await make(GOAL)
    const before = await calls.fetch(id, workspace)
    expect(before.archived_at).toBeNull()
    server.setClock(NOON + 1)
    await calls.archive(id, workspace)
    server.setClock(NOON + 2)
    expect(await statusOf(calls.archive(id, workspace))).toBe(204)
    expect(await calls.fetch(id, workspace)).toEqual({ ...before, archived_at: '2026-05-10T12:00:00.001Z' })
    await calls.restore(id, workspace)
    expect(await statusOf(calls.restore(id, workspace))).toBe(204)
    expect(await calls.fetch(id, workspace)).toEqual(before)
  })

  it('an archived campaign can be updated, and stays archived', async () => {
    const id = await make()
    await calls.archive(id, workspace)
    const changed = await calls.patch(id, { name: 'After', conversion_goals: [GOAL] }, workspace)
    expect([changed.status, changed.body.name, changed.body.archived_at]).toEqual([
      200,
      'After',
      '2026-05-10T12:00:00.000Z',
    ])
    expect(await list('')).toEqual([])
  })

  it.each(REPORT_KINDS)('an archived campaign accepts reports ($path)', async (report) => {
    const id = await make()
    await calls.archive(id, workspace)
    expect(await statusOf(reports.send(report, id, reportOf(report, {}), { as: workspace }))).toBe(200)
  })

  it('an archived campaign counts towards the limits on campaigns and goals, and a deleted one does not', async () => {
    const before = await measureCampaigns(server.database, workspace.id)
    const id = await make(GOAL)
    const measured = await measureCampaigns(server.database, workspace.id)
    expect(measured.campaigns).toBe(1)
    await calls.archive(id, workspace)
    expect(await measureCampaigns(server.database, workspace.id)).toEqual(measured)
    await calls.delete(id, workspace)
    expect(await measureCampaigns(server.database, workspace.id)).toEqual(before)
  })

  describe('deleting', () => {
    it('removes a campaign for which nothing was reported, with the events of its goals', async () => {
      const id = await make(GOAL)
      const { number } = await stored(id)
      const { version } = (await findGoalBackfill(server.database, workspace.id)) ?? { version: NaN }
      expect(await statusOf(calls.delete(id, workspace))).toBe(204)
      expectRefusal(await calls.call('GET', `${CAMPAIGNS_PATH}/${id}`, { as: workspace }), 404, 'not_found')
      expect(await list('?archived=all')).toEqual([])
      const events = server.database.query.selectFrom('campaign_events').selectAll().where('campaign', '=', number)
      expect(await events.execute()).toEqual([])
      // Pipelines read the goals of the workspace again.
      expect(await findGoalBackfill(server.database, workspace.id)).toMatchObject({ version: version + 1 })
    })

    it('removes an archived campaign too', async () => {
      const id = await make()
      await calls.archive(id, workspace)
      expect(await statusOf(calls.delete(id, workspace))).toBe(204)
    })

    it.each(REPORT_KINDS)('is refused once a report was accepted ($path), and archiving is offered', async (report) => {
      const id = await make()
      await reports.send(report, id, reportOf(report, {}), { as: workspace })
      const refused = await calls.delete(id, workspace)
      expectRefusal(refused, 409, 'conflict')
      expect(JSON.stringify(refused.body)).toContain('Archive it instead.')
      expect(await list('')).toEqual([id])
    })

    it('is possible after a report that was refused for its fields', async () => {
      const id = await make()
      expectRefusal(await reports.send(AUDIENCE, id, { members: [] }, { as: workspace }), 400, 'invalid_request', [
        'members',
      ])
      expect(await statusOf(calls.delete(id, workspace))).toBe(204)
    })

    it('wins over a report that has found the campaign before: the report is refused and not in the log', async () => {
      const id = await make()
      const found = await findWorkspace(server.database, workspace.id)
      const body = reportOf(MESSAGE_EVENTS, {})
      const request = { workspace: found?.workspace, path: { campaign_id: id }, body, header: () => undefined }
      const database = meddled(server.database, 'campaigns', async () => {
        expect(await statusOf(calls.delete(id, workspace))).toBe(204)
        // Its number is free, and the report must not take the next campaign for its own.
        await make()
      })
      const parts: Partial<Parts> = { database, nameCache: new NameCache() }
      const sent = Promise.resolve(reportMessageEvents.handle(request as never, parts as Parts))
      await expect(sent).rejects.toMatchObject({ code: 'not_found' })
      const [other = ''] = await list('')
      expect(await stored(other)).toMatchObject({ isReported: false })
    })

    it('leaves the backfill of another campaign running', async () => {
      const [id, other] = [await make(), await make()]
      await calls.patch(id, { conversion_goals: [GOAL] }, workspace)
      await calls.patch(other, { conversion_goals: [{ ...GOAL, event: 'Other' }] }, workspace)
      await calls.delete(id, workspace)
      expect((await calls.fetch(other, workspace)).recount).not.toBeNull()
    })

    it('lets a backfill end that was only of this campaign', async () => {
      const id = await make()
      await calls.patch(id, { conversion_goals: [GOAL] }, workspace)
      await calls.delete(id, workspace)
      const catalogs = new GoalCatalogs()
      const isRunning = async () => (await findGoalBackfill(server.database, workspace.id))?.isRunning
      expect(await isRunning()).toBe(true)
      // Other tests have left backfills of their own workspaces.
      const running = await listRunningBackfills(server.database)
      const pausing = new Set(running.map(({ workspaceId }) => workspaceId).filter((other) => other !== workspace.id))
      await backfillGoals(server.database, catalogs, { lastWorkspace: '', pausing })
      expect(await isRunning()).toBe(false)
    })

    it('lets a page that begins after the deleted campaign be refused', async () => {
      const id = await make()
      await calls.delete(id, workspace)
      expectRefusal(await calls.list(`?before=${id}`, workspace), 400, 'invalid_request', ['query.before'])
    })
  })

  const actions = [
    ['archiving', 'PUT', '/archive'],
    ['restoring', 'PUT', '/restore'],
    ['deleting', 'DELETE', ''],
  ] as const
  it.each(actions)('%s an unknown, foreign or deleted campaign answers 404', async (_what, method, suffix) => {
    const theirs = await calls.make()
    const deleted = await make()
    await calls.delete(deleted, workspace)
    for (const id of ['unknown', theirs, deleted]) {
      const answer = await calls.call(method, `${CAMPAIGNS_PATH}/${id}${suffix}`, { as: workspace })
      expectRefusal(answer, 404, 'not_found')
    }
    expect(await calls.fetch(theirs)).toMatchObject({ archived_at: null })
  })

  it.each(actions)('%s requires the key of the tile reports, and SVC-APPKEY', async (_what, method, suffix) => {
    const path = `${CAMPAIGNS_PATH}/${await make()}${suffix}`
    expectRefusal(await calls.call(method, path, { as: workspace, tile: 'data' }), 403, 'forbidden')
    const nameless = await calls.call(method, path, { as: workspace, headers: { 'svc-appkey': 'other' } })
    expectRefusal(nameless, 403, 'forbidden', ['header.SVC-APPKEY'])
  })
})

describeEachStore('The statistics of archived campaigns, and of those made after a deleted one', (kind) => {
  let server: TestServer
  let calls: CampaignCalls
  let reports: ReportCalls

  beforeAll(async () => {
    server = await startServer(kind)
    server.setClock(NOON)
    calls = campaignCallsOf(server)
    reports = reportCallsOf(server)
  })
  afterAll(async () => {
    await reports.close()
    await server.stop()
  })

  const dates = { start_date: '2026-05-01', end_date: '2026-05-10' }
  const question = { request_id: 'q', attribution_type: 'CLICK_THROUGH', metric_type: 'TOTAL', ...dates }
  const fetchStats = async (id: string) => {
    const answer = await server.call<{ readonly data: object }>('POST', '/core-services/v1/campaign-stats', {
      tile: 'reports',
      body: question,
    })
    return JSON.stringify((answer.body.data as Readonly<Record<string, unknown>>)[id])
  }

  it('include late reports and conversions of an archived campaign, also without its id', async () => {
    const tracking = trackingOf(server)
    const id = await calls.make({ conversion_goals: [GOAL] })
    await calls.archive(id)
    const events = [
      { kind: 'sent', time: '2026-05-09T10:00:00Z' },
      { kind: 'click', time: '2026-05-09T10:05:00Z' },
    ]
    expect(
      await tracking.fateOf(await reports.send(MESSAGE_EVENTS, id, reportOf(MESSAGE_EVENTS, ...events))),
    ).toMatchObject({ status: 'processed', events: 2 })
    const order = { action: GOAL.event, user_time: '2026-05-09T11:00:00Z' }
    await tracking.apply({ type: 'event', customer_id: 'c1', actions: [order] })
    const stats = await fetchStats(id)
    expect(stats).toContain('"sent":1')
    expect(stats).toContain('"conversions":1')
  })

  it('count the reports of a new campaign that takes the number of a deleted one only for the new one', async () => {
    const tracking = trackingOf(server)
    const id = await calls.make()
    await calls.delete(id)
    const next = await calls.make()
    const answer = await reports.send(MESSAGE_EVENTS, next, reportOf(MESSAGE_EVENTS, { customer_id: 'c9' }))
    expect(await tracking.fateOf(answer)).toMatchObject({ status: 'processed' })
    expect(await fetchStats(next)).toContain('"sent":1')
    expect(await fetchStats(id)).toBeUndefined()
  })
})
