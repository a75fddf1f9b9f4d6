// What tests of reports do again and again: make a campaign, send a report about it, and look at what is in the log.
import { expect } from 'vitest'
import type { EntryKind, LogEntry } from '../../../src/log/event-log.ts'
import { addCampaign, lockCampaigns, type StoredCampaign } from '../../../src/store/campaigns/campaigns.ts'
import { raiseVersion } from '../../../src/operations/campaigns/change-goals.ts'
import { openLogReader } from '../../../src/log/open-log.ts'
import type { Answer, CallOptions, TestServer, TestWorkspace } from '../server.ts'
import type { AcceptedBody } from './tracking.ts'

/** One of the two reports: its path, the name of its list, and an item with only what is required. */
export interface ReportKind {
  readonly kind: EntryKind
  readonly path: 'audience' | 'message-events'
  readonly list: 'members' | 'events'
  readonly item: Readonly<Record<string, unknown>>
}

export const AUDIENCE: ReportKind = {
  kind: 'svc_audience',
  path: 'audience',
  list: 'members',
  item: { customer_id: 'c1', platform: 'EMAIL', evaluated_at: '2026-05-04T09:00:00Z' },
}

export const MESSAGE_EVENTS: ReportKind = {
  kind: 'svc_message_events',
  path: 'message-events',
  list: 'events',
  item: { customer_id: 'c1', platform: 'EMAIL', kind: 'sent', time: '2026-05-04T09:00:00Z' },
}

export const REPORT_KINDS = [AUDIENCE, MESSAGE_EVENTS] as const

export interface ReportCalls {
  /** A campaign of a workspace. */
  makeCampaign(workspace?: TestWorkspace): Promise<StoredCampaign>
  /** Sends a report with the key of the tile `reports`. */
  send(
    report: ReportKind,
    campaignId: string,
    body: unknown,
    options?: Omit<CallOptions, 'body'>,
  ): Promise<Answer<AcceptedBody>>
  /** The entry of an accepted report. */
  entryOf(answer: Answer<AcceptedBody>): Promise<LogEntry>
  /** How many entries there have ever been. */
  countEntries(): Promise<number>
  close(): Promise<void>
}

export function reportCallsOf(server: TestServer): ReportCalls {
  const opening = openLogReader({ ...server, natsUrl: undefined })
  let made = 0
  return {
    async makeCampaign({ id: workspaceId } = server.workspace) {
      const campaign = {
        id: `campaign-${workspaceId}-${++made}`,
        workspaceId,
        name: 'Summer',
        platforms: ['EMAIL'],
        goals: [],
        createdBy: 'anna',
        createdAt: 1,
      }
      return server.database.write(async (store) => {
        await lockCampaigns(store, workspaceId)
        const made = await addCampaign(store, campaign)
        await raiseVersion(store, workspaceId)
        return made
      })
    },
    send({ path }, campaignId, body, options) {
      const address = `/core-services/v1/campaigns/${campaignId}/${path}`
      return server.call('POST', address, { tile: 'reports', ...options, body })
    },
    async entryOf({ status, body }) {
      expect(status).toBe(200)
      const entry = await (await opening).findByRequestId(body.request_id)
      if (!entry) throw new Error(`the log holds no entry of ${body.request_id}`)
      return entry
    },
    countEntries: async () => (await opening).lastPosition(),
    close: async () => (await opening).close(),
  }
}

/** The body of a report: one item for each of the given fields. */
export function reportOf({ list, item }: ReportKind, ...items: readonly object[]): Record<string, unknown> {
  return { [list]: items.map((fields) => ({ ...item, ...fields })) }
}
