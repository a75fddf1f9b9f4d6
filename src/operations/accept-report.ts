// What the reports of campaigns share: fields of their items, and the operation that brings a report into the log, durably, and
// leaves everything else to the pipeline.
import { Type, type Static, type TSchema } from 'typebox'
import type { Fault } from '../core/app-error.ts'
import { NAME_LENGTH_MAX } from '../core/attributes.ts'
import { EVENTS_PER_ENTRY_MAX } from '../core/event.ts'
import { USER_ID_LENGTH_MAX } from '../core/user.ts'
import type { Workspace } from '../core/workspace.ts'
import type { EntryKind } from '../log/event-log.ts'
import { accept, type Accepted } from './accept.ts'
import { CampaignPath } from './campaign-body.ts'
import { AcceptedOutput, NoFields, Strict, Text } from './fields.ts'
import { defineOperation, type Operation, type OperationRequest, type Partially, type Parts } from './operation.ts'
import { requireCampaign } from './require-campaign.ts'

export const ReportCustomerId = Text(1, USER_ID_LENGTH_MAX, 'Identifies the user, who is created when unknown.')

export const ReportPlatform = Text(
  1,
  NAME_LENGTH_MAX,
  'EMAIL, ANDROID, IOS, WEB or TV, without case; anything else is kept as sent and counted as UNKNOWN.',
)

/** A time that is read as `user_time` is. */
export function ReportTime(description: string) {
  return Type.Unsafe<string | number>({
    type: ['string', 'number'],
    description:
      `${description} ISO 8601 (without zone: in the time zone of the workspace), epoch seconds or epoch ` +
      'milliseconds (from 100,000,000,000). Not before 1970, not in the future.',
  })
}

/** What one report has of its own. */
export interface ReportSpec<Item extends TSchema> extends Pick<
  Operation,
  'name' | 'summary' | 'description' | 'url' | 'example'
> {
  readonly kind: EntryKind
  /** What the body calls its items. */
  readonly list: string
  readonly item: Item
  /** What the schema of the items cannot say. */
  readonly faults: (items: Partially<readonly Static<Item>[]>, workspace: Workspace, receivedAt: number) => Fault[]
}

/** The operation that takes such reports in. */
export function defineReport<Item extends TSchema>(spec: ReportSpec<Item>): Operation {
  const { kind, list, item, faults, ...named } = spec
  return defineOperation({
    ...named,
    group: 'Campaigns',
    method: 'POST',
    tile: 'reports',
    takesAppKey: true,
    takesIdempotencyKey: true,
    limits: ['management_per_minute'],
    path: CampaignPath,
    query: NoFields,
    body: Strict({ [list]: Type.Array(item, { minItems: 1, maxItems: EVENTS_PER_ENTRY_MAX }) }),
    faults({ workspace, body, now }) {
      const items = body?.[list]
      return items ? faults(items, workspace, now) : []
    },
    refusals: ['not_found'],
    successStatus: 200,
    output: AcceptedOutput,
    handle(request, parts) {
      return acceptReport(request, parts, { kind, items: request.body[list]?.length ?? 0 })
    },
  })
}

/**
 * Appends a report with so many items and answers once it is durable. Throws AppError `not_found` for a
 * campaign that the workspace does not have, and whatever `accept` does.
 */
async function acceptReport(
  request: OperationRequest<Static<typeof CampaignPath>, object, unknown>,
  parts: Parts,
  { kind, items }: { readonly kind: EntryKind; readonly items: number },
): Promise<Accepted> {
  const { number } = await requireCampaign(parts.database, request.workspace, request.path.campaign_id)
  // It names users of all partitions, so that any will do; repeats of one request stand in the same.
  const partitionKey = request.header('idempotency-key') ?? request.requestId
  return accept(request, parts, { kind, context: { campaign: number }, events: items, partitionKey })
}
