// A campaign as previews and tests look at it, also a draft: with the versions of its templates that are pinned, or would be now.
import { requireDelivery, type CampaignKey } from '../../actions/delivery/require-delivery.ts'
import { invalidRequest, type AppError } from '../../core/app-error.ts'
import type { PinnedTemplate, PinnedVariation } from '../../core/delivery/audience/pinned-variation.ts'
import type { Workspace } from '../../core/workspace.ts'
import type { StoredCampaign } from '../../store/campaigns/campaigns.ts'
import { listDeliveryAttachments } from '../../store/delivery/delivery-attachments.ts'
import type { StoredDelivery } from '../../store/delivery/deliveries.ts'
import { findRunOf } from '../../store/delivery/runs.ts'
import type { SecretVault } from '../../store/secret-vault.ts'
import { findSender, type StoredSender } from '../../store/senders/senders.ts'
import type { Store } from '../../store/store.ts'
import { CampaignFiles, toLetterAttachments } from '../content/attachments/campaign-files.ts'
import type { Letter, LetterAttachment } from '../content/render-job.ts'
import { toCampaignLetter } from '../run/campaign-letter.ts'
import { loadRunTemplate, type RunTemplate } from '../run/run-letters.ts'
import { listProblems, toContentFault } from '../start/content-faults.ts'
import { findPins } from '../start/pin-variations.ts'
import { NO_LINKS_BASE, UNKNOWN_SENDER } from '../start/start-faults.ts'

export interface PreviewedCampaign {
  readonly campaign: StoredCampaign
  readonly delivery: StoredDelivery
  readonly sender: StoredSender
  readonly variations: readonly PinnedVariation[]
}

/** What a preview depends on besides the campaign. */
export interface PreviewSurroundings {
  readonly workspace: Workspace
  readonly secretVault: SecretVault | undefined
  /** The base of links, unless the sender has one. */
  readonly publicUrl: string | undefined
  /** ATTACHMENT_HOSTS. */
  readonly attachmentHosts: readonly string[]
}

/** Throws AppError `invalid_request` if a sender or template is missing, and the errors of `requireDelivery`. */
export async function openPreviewed(store: Store, key: CampaignKey): Promise<PreviewedCampaign> {
  const { campaign, shown } = await requireDelivery(store, key)
  const delivery = shown.stored
  const { settings, workspaceId } = delivery
  const sender = await findSender(store, workspaceId, settings.senderId)
  const { variations, faults } = await findPins(store, delivery)
  if (!sender || faults.length > 0) throw invalidRequest([...(sender ? [] : [UNKNOWN_SENDER]), ...faults])
  return { campaign, delivery, sender, variations }
}

/**
 * The letter of a template; its links belong to the run, if there is one, and to nobody in it. Throws AppError `invalid_request` for a
 * template with faults or that was deleted, and where links have no base.
 */
export async function openLetter(
  store: Store,
  { campaign, delivery, sender }: PreviewedCampaign,
  {
    pinned,
    withFiles,
    ...surroundings
  }: PreviewSurroundings & {
    readonly pinned: PinnedTemplate
    /** Whether the attachments are needed. */
    readonly withFiles: boolean
  },
): Promise<Letter> {
  const { workspace, secretVault, publicUrl, attachmentHosts } = surroundings
  const linksBase = sender.trackingUrl ?? publicUrl
  if (linksBase === undefined) throw invalidRequest([NO_LINKS_BASE])
  const run = await findRunOf(store, campaign.number)
  const content = run?.content ?? { linksBefore: [] }
  const loaded = await loadRunTemplate(store, delivery, { pinned, content })
  const problems = loaded ? listProblems(loaded.template) : ['the template was deleted']
  if (!loaded || problems.length > 0) throw contentFaults(problems, pinned)
  const { settings } = delivery
  const shared = toCampaignLetter({
    workspace,
    campaign,
    settings,
    sender,
    run: run?.number ?? 0,
    linksBase,
    secretVault,
  })
  const attachments = withFiles ? await findAttachments(store, delivery, { loaded, pinned, attachmentHosts }) : []
  return { ...shared, template: loaded.template, attachments }
}

function contentFaults(problems: readonly string[], pinned: PinnedTemplate): AppError {
  return invalidRequest(problems.map((problem) => toContentFault('delivery.variations', pinned, problem)))
}

/** Shorter than for a start: a test is answered within a minute. */
const FETCH_TIME_MAX_MS = 15_000

/** A started campaign has its attachments; those of a draft are fetched now. */
async function findAttachments(
  store: Store,
  { campaign, pinned: isStarted }: StoredDelivery,
  {
    loaded,
    pinned,
    attachmentHosts,
  }: { readonly loaded: RunTemplate; readonly pinned: PinnedTemplate; readonly attachmentHosts: readonly string[] },
): Promise<LetterAttachment[]> {
  if (loaded.attachments.length === 0) return []
  if (isStarted) return toLetterAttachments(loaded.attachments, await listDeliveryAttachments(store, campaign))
  const files = new CampaignFiles(attachmentHosts, FETCH_TIME_MAX_MS)
  const problems = await files.fetch(loaded.attachments)
  if (problems.length > 0) throw contentFaults(problems, pinned)
  return toLetterAttachments(loaded.attachments, files.list())
}
