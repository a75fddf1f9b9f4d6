// Finds everything that keeps a campaign from being started, and what people should know before it is ("A campaign with delivery").
import type { Fault, Warning } from '../../core/app-error.ts'
import type { Delivery } from '../../core/delivery/delivery.ts'
import { resolveStartTime } from '../../core/delivery/start-time.ts'
import { isLoopbackHost } from '../../core/senders/domain-name.ts'
import { toIso } from '../../core/time-value.ts'
import { SecretUnreadable, type SecretVault } from '../../store/secret-vault.ts'
import { openDkimKey, openPassword } from '../../store/senders/sender-secrets.ts'
import type { StoredSender } from '../../store/senders/senders.ts'
import type { Store } from '../../store/store.ts'
import { findContentFaults } from './content-faults.ts'
import { findAudienceCampaignFaults, resolveAudience } from './resolve-audience.ts'
import type { CheckedPlan, StartSurroundings } from './start-plan.ts'

export const UNKNOWN_SENDER: Fault = {
  field: 'delivery.sender_id',
  problem: 'is not the id of a sender in the workspace',
}
export const NO_LINKS_BASE: Fault = {
  field: 'delivery.sender_id',
  problem:
    'has no address for the links in messages: set its tracking_url ("Base URL of links in messages" in the dashboard), ' +
    'or PUBLIC_URL for the whole server',
}

/** Every fault; the caller adds those of `pinVariations`. */
export async function findStartFaults(
  store: Store,
  { settings, sender, variations, files }: CheckedPlan,
  surroundings: StartSurroundings,
): Promise<Fault[]> {
  return [
    ...workspaceFaults(surroundings),
    ...categoryFaults(settings, surroundings),
    ...startTimeFaults(settings, surroundings),
    ...senderFaults(sender, surroundings),
    ...(await resolveAudience(store, surroundings.workspace.id, settings.audience)).faults,
    ...(await findAudienceCampaignFaults(store, surroundings.workspace.id, settings.audience)),
    ...(await findContentFaults(store, { settings, variations, files }, surroundings)),
  ]
}

/** Links without https can be read and changed on their way. */
export function findStartWarnings(
  sender: Pick<StoredSender, 'trackingUrl'> | undefined,
  publicUrl: string | undefined,
): Warning[] {
  const base = sender?.trackingUrl ?? publicUrl
  const url = base === undefined ? undefined : new URL(base)
  if (!url || url.protocol === 'https:' || isLoopbackHost(url.hostname)) return []
  const [field, name] = sender?.trackingUrl ? ['delivery.sender_id', 'tracking_url'] : ['delivery', 'PUBLIC_URL']
  const problem = `has links under ${url.origin}, which is not https: set ${name} to an https URL`
  return [{ kind: 'insecure_links', field, problem }]
}

function workspaceFaults({ workspace: { emailProtection }, hasEmailVault }: StartSurroundings): Fault[] {
  if (emailProtection === 'tokenized') {
    return [{ field: 'delivery', problem: 'cannot be sent: the workspace stores no email addresses (tokenized)' }]
  }
  if (emailProtection === 'none' || hasEmailVault) return []
  return [{ field: 'delivery', problem: 'cannot be sent: addresses are encrypted and the server has no PII_KEY' }]
}

function categoryFaults({ category }: Delivery, { workspace }: StartSurroundings): Fault[] {
  if (category === null || workspace.categories.includes(category)) return []
  return [{ field: 'delivery.category', problem: 'is not an active category of the workspace' }]
}

function startTimeFaults({ startAt }: Delivery, { workspace, now }: StartSurroundings): Fault[] {
  const instant = startAt === null ? undefined : resolveStartTime(startAt, workspace.timezone)
  if (instant === undefined || instant > now) return []
  return [
    { field: 'delivery.start_at', problem: `must not be in the past: it is ${toIso(instant)}, now is ${toIso(now)}` },
  ]
}

function senderFaults(sender: StoredSender | undefined, { publicUrl, secretVault }: StartSurroundings): Fault[] {
  const secret = sender && secretProblem(sender, secretVault)
  const hasBase = (sender?.trackingUrl ?? publicUrl) !== undefined
  return [
    ...(sender ? [] : [UNKNOWN_SENDER]),
    ...(secret === undefined ? [] : [{ field: 'delivery.sender_id', problem: secret }]),
    ...(hasBase ? [] : [NO_LINKS_BASE]),
  ]
}

function secretProblem(sender: StoredSender, vault: SecretVault | undefined): string | undefined {
  try {
    openPassword(vault, sender)
    openDkimKey(vault, sender)
    return undefined
  } catch (error) {
    if (!(error instanceof SecretUnreadable)) throw error
    return `is the id of a sender whose secrets cannot be read. ${error.message}`
  }
}
