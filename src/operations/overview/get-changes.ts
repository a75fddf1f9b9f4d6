// Get changes: tells in a few numbers what has changed in the workspace. Every open page of the dashboard asks it every two seconds, so it
// must read only what an index leads to.
import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { toIso } from '../../core/time-value.ts'
import { findNewestAuditNumber } from '../../store/accounts/audit-entries.ts'
import { readDeliveryProgress } from '../../store/campaign-lists/delivery-progress.ts'
import { listPipelineCursors } from '../../store/entries/cursors.ts'
import { countParkedOf } from '../../store/entries/parked-entries.ts'
import { sumRevisionsOf } from '../../store/statistics/statistics-revisions.ts'
import { IsoTime, NoFields, Nullable, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'

/** How many parked entries are counted. */
export const PARKED_COUNTED_MAX = 10_000
/** A revision made of a hash has this many bytes: a number that JSON holds exactly. */
const REVISION_BYTES = 6

export const getChanges = defineOperation({
  name: 'get_changes',
  summary: 'Get changes',
  description:
    'Returns numbers that differ when something in the workspace has changed, for a client that asks every few seconds and then reads ' +
    'again only what changed. They tell nothing else: compare each with the one of the response before.',
  group: 'Workspace',
  method: 'GET',
  url: '/v1/workspaces/:Workspace_ID/changes',
  requires: 'workspace.read',
  isPolled: true,
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: NoFields,
  body: null,
  successStatus: 200,
  output: Type.Object({
    newest_event: Type.Integer({
      description:
        'Grows with every processed request that has events, users or reports. Requests to other workspaces of the server let it grow too.',
    }),
    newest_audit: Type.Integer({
      description:
        'The `number` of the newest entry of the audit trail; 0 without one. Grows with every change of settings and resources.',
    }),
    parked: Type.Integer({
      description: `Entries of the log that could not be applied. At most ${PARKED_COUNTED_MAX} are counted.`,
    }),
    processed_until: Nullable(IsoTime),
    lag_seconds: Type.Number({ description: 'How long before the present `processed_until` is. 0: nothing waits.' }),
    statistics_revision: Type.Integer({ description: 'Differs when the numbers of a campaign differ.' }),
    messages_revision: Type.Integer({
      description:
        'Differs when the state of a campaign or of a message differs. Processed requests let it differ too.',
    }),
    events_per_minute: Type.Integer({
      description: 'Events that were received in the last minute and are processed. At most a few seconds old.',
    }),
  }),
  async handle({ workspace: { id }, now }, { database, logReader, freshness, eventRates }) {
    const [cursors, audit, parked, processedUntil, statistics, deliveries, rate] = await Promise.all([
      listPipelineCursors(database, logReader.partitions),
      findNewestAuditNumber(database, id),
      countParkedOf(database, id, PARKED_COUNTED_MAX),
      freshness.processedUntil(),
      sumRevisionsOf(database, id),
      readDeliveryProgress(database, id),
      eventRates.perMinute(id),
    ])
    // Positions grow over all partitions together, so every applied entry gives another sum.
    const applied = cursors.reduce((sum, position) => sum + position, 0)
    return {
      newest_event: applied,
      newest_audit: audit,
      parked,
      processed_until: processedUntil === 0 ? null : toIso(processedUntil),
      lag_seconds: processedUntil === 0 ? 0 : Math.max(0, now - processedUntil) / 1000,
      statistics_revision: statistics,
      messages_revision: toRevision([applied, audit, deliveries]),
      events_per_minute: rate,
    }
  },
})

/** A number that differs when the value differs. */
function toRevision(value: unknown): number {
  return createHash('sha256').update(JSON.stringify(value)).digest().readUIntBE(0, REVISION_BYTES)
}
