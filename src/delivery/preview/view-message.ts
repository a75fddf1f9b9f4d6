// Shows a message that was sent: renders the pinned template again, with the person's attributes now and the codes that they got.
import { shownAttributes } from '../../actions/email-protection.ts'
import { findHeldCodes } from '../../actions/coupons/hold-coupons.ts'
import { chooseTemplate, type PinnedTemplate } from '../../core/delivery/audience/pinned-variation.ts'
import type { DeliveryConfig } from '../../core/delivery/delivery-config.ts'
import { EMAIL } from '../../core/users/user-attributes.ts'
import { NOTHING_SET } from '../../core/users/preference.ts'
import type { Workspace } from '../../core/workspace.ts'
import { findCampaignByNumber } from '../../store/campaigns/campaigns.ts'
import { findCouponListsByLabel } from '../../store/coupons/coupon-lists.ts'
import { findDelivery } from '../../store/delivery/deliveries.ts'
import { findMessage, findMessageOwners } from '../../store/delivery/linked-messages.ts'
import type { MessageKey, RunMessage } from '../../store/delivery/messages.ts'
import { findRun } from '../../store/delivery/runs.ts'
import { findSenderByNumber, type StoredSender } from '../../store/senders/senders.ts'
import type { Store } from '../../store/store.ts'
import type { EmailVault } from '../../store/users/email-vault.ts'
import { findPreferences } from '../../store/users/preferences.ts'
import { findUsers } from '../../store/users/users.ts'
import { findWorkspace } from '../../store/workspaces/workspaces.ts'
import type { Letter, RenderJob } from '../content/render-job.ts'
import type { Renderer } from '../content/renderer.ts'
import { toCampaignLetter } from '../run/campaign-letter.ts'
import { loadRunTemplate } from '../run/run-letters.ts'

/** Pictures, styles and fonts of a mail load, and its links work. Nothing runs, and nothing is sent from it. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  'img-src http: https: data:',
  "style-src 'unsafe-inline' http: https:",
  'font-src http: https: data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  'sandbox allow-popups allow-popups-to-escape-sandbox',
].join('; ')

export interface ViewSources {
  readonly database: Store
  readonly renderer: Renderer
  readonly emailVault: EmailVault | undefined
  readonly delivery: Pick<DeliveryConfig, 'publicUrl'>
}

/**
 * Undefined for messages that were not sent, of erased persons, after the template was deleted, and where a value is missing now that
 * the template needs. The attempt is applied in the log's order, so a message that was just sent may still be `sending`.
 */
export async function viewMessage(
  { database, renderer, emailVault, delivery }: ViewSources,
  key: MessageKey,
): Promise<{ readonly html: string; readonly contentSecurityPolicy: string } | undefined> {
  const message = await findMessage(database, key)
  if (!message || !mayHaveArrived(message)) return undefined
  const found = await findLetter(database, message, delivery)
  if (!found) return undefined
  const { letter, workspace } = found
  const person = await findReader(database, message, { workspace, emailVault })
  if (!person) return undefined
  const coupons = await findCoupons(database, message, letter)
  const job: RenderJob = { letter, message: key.number, ...person, coupons, date: message.sentAt ?? 0 }
  const result = await renderer.renderParts(job)
  return result.isOk ? { html: result.html, contentSecurityPolicy: CONTENT_SECURITY_POLICY } : undefined
}

function mayHaveArrived({ state, attemptedAt }: RunMessage): boolean {
  return state === 'sent' || state === 'in_doubt' || (state === 'sending' && attemptedAt !== null)
}

/** Its links are counted, as in the mail, but there is no picture: the page is not the mail that was opened. */
async function findLetter(
  store: Store,
  { run: number, variation, locale }: RunMessage,
  { publicUrl }: ViewSources['delivery'],
): Promise<{ readonly letter: Letter; readonly workspace: Workspace } | undefined> {
  const run = await findRun(store, number)
  const delivery = run && (await findDelivery(store, run.campaign))
  const campaign = run && (await findCampaignByNumber(store, run.campaign))
  const workspace = run && (await findWorkspace(store, run.workspaceId))?.workspace
  const variations = delivery?.pinned?.find(({ name }) => name === variation)
  if (!run || !delivery || !campaign || !workspace || !variations) return undefined
  const sender = await findSenderByNumber(store, run.sender)
  const linksBase = sender?.trackingUrl ?? publicUrl
  if (!sender || linksBase === undefined) return undefined
  const pinned: PinnedTemplate = chooseTemplate(variations, locale)
  const loaded = await loadRunTemplate(store, delivery, { pinned, content: run.content })
  if (!loaded) return undefined
  const tracking = { ...delivery.settings.tracking, opens: false }
  const settings = { consent: delivery.settings.consent, tracking }
  const shared = { workspace, campaign, settings, sender: unsigned(sender), run: number, linksBase }
  const letter = {
    ...toCampaignLetter({ ...shared, secretVault: undefined }),
    template: loaded.template,
    attachments: [],
  }
  return { letter, workspace }
}

/** A page needs no signature. */
function unsigned(sender: StoredSender): StoredSender {
  return { ...sender, dkim: null, sealedDkimKey: null }
}

async function findReader(
  store: Store,
  message: RunMessage,
  { workspace, emailVault }: { readonly workspace: Workspace; readonly emailVault: EmailVault | undefined },
): Promise<Pick<RenderJob, 'to' | 'customerId' | 'attributes' | 'locale' | 'allowsTracking'> | undefined> {
  const [owner] = await findMessageOwners(store, [message])
  if (owner?.userId === undefined) return undefined
  const [user] = await findUsers(store, [owner.userId])
  if (!user) return undefined
  const attributes = shownAttributes(workspace, user, emailVault)
  const preferences = await findPreferences(store, [user.id])
  const { preference } = preferences.get(user.id) ?? { preference: NOTHING_SET }
  const [to, locale] = [attributes[EMAIL], attributes['locale']]
  return {
    to: typeof to === 'string' ? to.trim() : '',
    customerId: message.customerId,
    attributes,
    locale: typeof locale === 'string' ? locale : null,
    allowsTracking: preference.tracking?.[0] !== false,
  }
}

/** Label → the code that the message has. */
async function findCoupons(
  store: Store,
  { run, number }: MessageKey,
  { workspaceId, template }: Letter,
): Promise<Record<string, string>> {
  if (template.coupons.length === 0) return {}
  const codes = (await findHeldCodes(store, run, [number])).get(number)
  const lists = await findCouponListsByLabel(store, workspaceId, template.coupons)
  return Object.fromEntries(
    lists.flatMap((list) => {
      const code = codes?.get(list.number)
      return code === undefined ? [] : [[list.label, code] as const]
    }),
  )
}
