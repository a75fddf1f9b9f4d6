// Starts a campaign: checks everything and names all faults at once, pins the versions of its templates, and schedules it or sets it
// running. The processes that send find it in the table of deliveries.
import { recordChange } from '../../actions/audit/record-change.ts'
import type { ChangeContext } from '../../core/accounts/audit.ts'
import { AppError, invalidRequest, type Fault, type Warning } from '../../core/app-error.ts'
import type { PinnedVariation } from '../../core/delivery/audience/pinned-variation.ts'
import { resolveStartTime } from '../../core/delivery/start-time.ts'
import { toIso } from '../../core/time-value.ts'
import { requireDelivery, type CampaignKey, type DeliveredCampaign } from '../../actions/delivery/require-delivery.ts'
import { shownStateOf, wrongState, type ShownDelivery } from '../../actions/delivery/shown-deliveries.ts'
import { lockCampaigns, markReported, type StoredCampaign } from '../../store/campaigns/campaigns.ts'
import { addDeliveryAttachments } from '../../store/delivery/delivery-attachments.ts'
import { saveDeliveryStart } from '../../store/delivery/deliveries.ts'
import { lockSegments } from '../../store/segments/segments.ts'
import { findSender, keepSenders } from '../../store/senders/senders.ts'
import type { Database, Store } from '../../store/store.ts'
import { lockTemplates } from '../../store/templates/templates.ts'
import { CampaignFiles } from '../content/attachments/campaign-files.ts'
import { pinVariations } from './pin-variations.ts'
import { resolveAudience } from './resolve-audience.ts'
import { findStartFaults, findStartWarnings } from './start-faults.ts'
import type { CheckedPlan, StartPlan, StartSurroundings } from './start-plan.ts'

/** What a start depends on, and who starts. */
export interface StartRequest extends StartSurroundings {
  readonly by: ChangeContext
}

/** How often the checks are made if somebody changes meanwhile what they looked at. */
const TRIES_MAX = 3

/**
 * Starts a draft. A campaign that is scheduled or running stays as it is. Returns warnings. Throws AppError: `invalid_request` with
 * every fault, `conflict` in other states and when others keep changing what the campaign uses, and the errors of `requireDelivery`.
 */
export async function startByKey(
  database: Database,
  key: CampaignKey,
  surroundings: StartRequest,
): Promise<readonly Warning[]> {
  // Fetched once, although others may change meanwhile what is checked.
  const files = new CampaignFiles(surroundings.attachmentHosts)
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const delivered = await requireDelivery(database, key)
    if (isStarted(delivered.shown)) return []
    const { plan, faults } = await findAllFaults(database, delivered, { files, surroundings })
    if (faults.length > 0) throw invalidRequest(faults)
    if (await startAsPlanned(database, key, { plan: { ...plan, files }, surroundings })) {
      return findStartWarnings(plan.sender, surroundings.publicUrl)
    }
  }
  throw new AppError('conflict', 'Others are changing the campaign, its sender or its templates. Start it again.')
}

/** Every fault that a start of a draft would name, and its warnings. Both are empty once it was started. Throws as `requireDelivery`. */
export async function checkByKey(
  store: Store,
  key: CampaignKey,
  surroundings: StartSurroundings,
): Promise<{ readonly faults: readonly Fault[]; readonly warnings: readonly Warning[] }> {
  const delivered = await requireDelivery(store, key)
  if (shownStateOf(delivered.shown) !== 'draft') return { faults: [], warnings: [] }
  const files = new CampaignFiles(surroundings.attachmentHosts)
  const { plan, faults } = await findAllFaults(store, delivered, { files, surroundings })
  return { faults, warnings: findStartWarnings(plan.sender, surroundings.publicUrl) }
}

async function findAllFaults(
  store: Store,
  delivered: DeliveredCampaign,
  { files, surroundings }: { readonly files: CampaignFiles; readonly surroundings: StartSurroundings },
): Promise<{ readonly plan: StartPlan; readonly faults: readonly Fault[] }> {
  const { plan, faults } = await findPlan(store, delivered, surroundings)
  const found = await findStartFaults(store, { ...plan, files }, surroundings)
  return { plan, faults: [...archivedFaults(delivered), ...faults, ...found] }
}

/** Whether a start has nothing to do. Throws AppError `conflict` in a state that does not allow it. */
function isStarted(shown: ShownDelivery): boolean {
  switch (shownStateOf(shown)) {
    case 'draft':
      return false
    case 'scheduled':
    case 'running':
    case 'waiting':
      return true
    case 'paused':
    case 'overdue':
      throw wrongState(shown, 'Resume it instead.')
    case 'finished':
    case 'cancelled':
      throw wrongState(shown, 'It cannot be started again: create another campaign.')
  }
}

/** Looks up what the settings name. */
async function findPlan(
  store: Store,
  { campaign, shown }: DeliveredCampaign,
  { workspace }: StartSurroundings,
): Promise<{ readonly plan: StartPlan; readonly faults: readonly Fault[] }> {
  const { settings } = shown.stored
  const sender = await findSender(store, campaign.workspaceId, settings.senderId)
  const { variations, faults } = await pinVariations(store, workspace.id, settings)
  return { plan: { settings, sender, variations }, faults }
}

function archivedFaults({ campaign: { archivedAt } }: DeliveredCampaign): Fault[] {
  return archivedAt === null
    ? []
    : [{ field: 'campaign_id', problem: 'is the id of an archived campaign: restore it first' }]
}

/** Starts the campaign if the plan is still what was checked; else false. */
async function startAsPlanned(
  database: Database,
  key: CampaignKey,
  { plan, surroundings }: { readonly plan: CheckedPlan; readonly surroundings: StartRequest },
): Promise<boolean> {
  const { files, ...planned } = plan
  return database.write(async (store) => {
    await lockCampaigns(store, key.workspaceId)
    await lockTemplates(store, key.workspaceId)
    await lockSegments(store, key.workspaceId)
    await keepSenders(store)
    const delivered = await requireDelivery(store, key)
    const { campaign, shown } = delivered
    const current = await findPlan(store, delivered, surroundings)
    const { sender, settings, variations } = current.plan
    if (shown.stored.state !== 'draft' || campaign.archivedAt !== null) return false
    if (!sender || JSON.stringify(current.plan) !== JSON.stringify(planned)) return false
    if ((await resolveAudience(store, key.workspaceId, settings.audience)).faults.length > 0) return false
    const { startAt } = settings
    const instant = startAt === null ? null : (resolveStartTime(startAt, surroundings.workspace.timezone) ?? null)
    await markReported(store, campaign.id)
    const { number, workspaceId } = campaign
    const isSaved = await saveDeliveryStart(store, {
      campaign: number,
      workspaceId,
      settings,
      sender: sender.number,
      pinned: variations,
      startAt: instant,
    })
    if (!isSaved) return false
    await addDeliveryAttachments(store, campaign.number, files.list())
    await recordStart(store, surroundings.by, { campaign, variations, startAt: instant })
    return true
  })
}

interface Started {
  readonly campaign: StoredCampaign
  readonly variations: readonly PinnedVariation[]
  readonly startAt: number | null
}

/** With the versions that will be sent. */
async function recordStart(store: Store, by: ChangeContext, { campaign, variations, startAt }: Started): Promise<void> {
  const { id, name } = campaign
  const after = {
    state: startAt === null ? 'running' : 'scheduled',
    starts_at: startAt === null ? null : toIso(startAt),
    variations: variations.map(({ name, template }) => {
      return { name, external_template_id: template.externalTemplateId, version: template.version }
    }),
  }
  const before = { state: 'draft' }
  await recordChange(store, by, { kind: 'campaign', id, name, action: 'start_campaign', before, after })
}
