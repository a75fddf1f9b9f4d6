// Defines the operations that accept campaign reports, and the fields their items share. They only append the report to the log:
// the pipeline applies it.
import { Type, type Static, type TSchema } from 'typebox'
import type { Fault } from '../../core/app-error.ts'
import { NAME_LENGTH_MAX } from '../../core/attributes.ts'
import type { ReportedNames } from '../../core/campaigns/campaign-names.ts'
import { remarksOn, reportWarnings, type ReportRemarks } from '../../core/campaigns/report-warnings.ts'
import { EVENTS_PER_ENTRY_MAX } from '../../core/event.ts'
import { USER_ID_LENGTH_MAX } from '../../core/users/user.ts'
import type { Workspace } from '../../core/workspace.ts'
import type { EntryKind } from '../../log/event-log.ts'
import { accept, type Accepted } from '../accept.ts'
import { CampaignPath } from './campaign-body.ts'
import { claimNames, type Claim } from '../../actions/claim-names.ts'
import { AcceptedOutput, NoFields, Strict, Text } from '../fields.ts'
import { defineOperation, type Operation, type OperationRequest, type Partially, type Parts } from '../operation.ts'
import { noSuchCampaign, requireCampaign } from './require-campaign.ts'
import { markReported, type StoredCampaign } from '../../store/campaigns/campaigns.ts'
import type { Database } from '../../store/store.ts'

export const ReportCustomerId = Text(1, USER_ID_LENGTH_MAX, 'Identifies the user. An unknown user is created.')

export const ReportPlatform = Text(
  1,
  NAME_LENGTH_MAX,
  'EMAIL, ANDROID, IOS, WEB or TV, in any case. Any other value is stored as sent and counted as UNKNOWN. The response warns ' +
    'of platforms that the campaign does not have.',
)

/** A time, read like `user_time`. */
export function ReportTime(description: string) {
  return Type.Unsafe<string | number>({
    type: ['string', 'number'],
    description:
      `${description} ISO 8601 (without a zone: in the workspace's time zone), epoch seconds or epoch ` +
      'milliseconds (from 100,000,000,000). Must not be before 1970 or in the future.',
  })
}

/** What distinguishes one kind of report from the other. */
export interface ReportSpec<Item extends TSchema> extends Pick<
  Operation,
  'name' | 'summary' | 'description' | 'url' | 'example'
> {
  readonly kind: EntryKind
  /** The member of the body that holds the items. */
  readonly list: string
  readonly item: Item
  /** Faults of the items that the schema cannot find. */
  readonly faults: (items: Partially<readonly Static<Item>[]>, workspace: Workspace, receivedAt: number) => Fault[]
  /** The member of an item that holds its reason. */
  readonly reasonMember: string
  /** The dimensions and reasons in the items. */
  readonly names: (items: readonly Static<Item>[]) => ReportedNames
}

/** The operation that accepts such reports. */
export function defineReport<Item extends TSchema>(spec: ReportSpec<Item>): Operation {
  const { kind, list, item, reasonMember, faults, names, ...named } = spec
  return defineOperation({
    ...named,
    group: 'Campaigns',
    method: 'POST',
    requires: 'campaigns.report',
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
    refusals: ['not_found', 'conflict'],
    successStatus: 200,
    output: AcceptedOutput,
    handle(request, parts) {
      const items = request.body[list] ?? []
      const named = { names: names(items), remarks: remarksOn(items as readonly RemarkedItem[]) }
      return acceptReport(request, parts, { kind, list, reasonMember, items: items.length, ...named })
    },
  })
}

/** The members that all items have, or that warnings depend on. */
type RemarkedItem = Parameters<typeof remarksOn>[0][number]

/** A report without its items, so that they need not stay in memory. */
interface AcceptedReport extends Omit<Claim, 'campaign'> {
  readonly kind: EntryKind
  readonly items: number
  readonly remarks: ReportRemarks
}

/**
 * Appends a report and answers once it is durable. Throws AppError: `not_found` if the workspace has no such campaign, `conflict`
 * if the campaign would have too many names, and the errors of `accept`.
 */
async function acceptReport(
  request: OperationRequest<Static<typeof CampaignPath>, object, unknown>,
  parts: Parts,
  { kind, items, remarks, ...named }: AcceptedReport,
): Promise<Accepted> {
  const campaign = await requireCampaign(parts.database, request.workspace, request.path.campaign_id)
  await keepFromDeletion(parts.database, campaign)
  const { number, platforms } = campaign
  await claimNames(parts, { campaign: number, ...named })
  // A report has users of all partitions, so any partition will do. Repeats of one request must go to the same one.
  const partitionKey = request.idempotencyKey ?? request.requestId
  const warnings = reportWarnings(remarks, named.list, platforms)
  return accept(request, parts, { kind, context: { campaign: number }, events: items, partitionKey, warnings })
}

/**
 * Makes sure that the campaign stays: an entry of the log without its campaign could not be counted. Writes only before the first
 * report of a campaign. Throws AppError `not_found` if the campaign has just been deleted.
 */
async function keepFromDeletion(database: Database, { id, isReported }: StoredCampaign): Promise<void> {
  if (isReported) return
  if (!(await database.write((store) => markReported(store, id)))) throw noSuchCampaign()
}
