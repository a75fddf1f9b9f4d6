// A run while this process sends it: its letters, and how many messages in a row were blocked.
import { chooseTemplate } from '../../core/delivery/audience/pinned-variation.ts'
import type { SmtpReply } from '../../core/delivery/failures.ts'
import { withoutAddresses } from '../../core/users/email-address.ts'
import type { RunMessage } from '../../store/delivery/messages.ts'
import { listDeliveryAttachments } from '../../store/delivery/delivery-attachments.ts'
import type { StoredSender } from '../../store/senders/senders.ts'
import { StoreError, TooBusy } from '../../store/store.ts'
import { toLetterAttachments } from '../content/attachments/campaign-files.ts'
import type { Letter, RenderedMessage, RenderJob } from '../content/render-job.ts'
import type { EmailVault } from '../../store/users/email-vault.ts'
import type { DeliveryParts } from '../delivery-parts.ts'
import type { ClaimedMessage } from '../run/claim-block.ts'
import { toCampaignLetter } from '../run/campaign-letter.ts'
import type { OpenRun } from '../run/open-run.ts'
import { loadRunTemplates, templateKey } from '../run/run-letters.ts'

/** So many messages in a row, blocked because of the sender's standing, pause the campaign. */
const BLOCKED_IN_A_ROW_MAX = 20

export class SendingRun {
  /** As it was when it was read last. */
  open: OpenRun
  /** The letters are those of the sender as it was then. */
  readonly senderUpdatedAt: number
  readonly #letters: ReadonlyMap<string, Letter>
  #blockedInARow = 0

  constructor(open: OpenRun, letters: ReadonlyMap<string, Letter>, senderUpdatedAt: number) {
    this.open = open
    this.senderUpdatedAt = senderUpdatedAt
    this.#letters = letters
  }

  /** The labels of the coupon lists in a message's template. */
  couponLabelsOf(message: Pick<RunMessage, 'variation' | 'locale'>): readonly string[] {
    return this.#letterOf(message).template.coupons
  }

  toJob({ message, address, attributes, coupons, allowsTracking }: ClaimedMessage, date: number): RenderJob {
    const locale = attributes['locale']
    return {
      letter: this.#letterOf(message),
      message: message.number,
      to: address,
      customerId: message.customerId,
      attributes,
      locale: typeof locale === 'string' ? locale : null,
      coupons,
      allowsTracking,
      date,
    }
  }

  /** A reply as it is kept: it may quote the address, which must not be stored in plain text where emails are encrypted. */
  toKept(reply: SmtpReply): SmtpReply {
    return this.#isEncrypted ? { ...reply, text: withoutAddresses(reply.text) } : reply
  }

  /** The person's own targets of links as they are kept: they may hold the address. */
  toKeptTargets(targets: RenderedMessage['targets'], vault: EmailVault | undefined): RenderedMessage['targets'] {
    if (!this.#isEncrypted || !vault) return targets
    const { id } = this.open.workspace
    return Object.fromEntries(Object.entries(targets).map(([link, url]) => [link, vault.seal(id, url).sealed]))
  }

  get #isEncrypted(): boolean {
    return this.open.workspace.emailProtection === 'encrypted'
  }

  /** Counts an outcome; true if the campaign must pause, because the server blocks everything. */
  countBlocked(isBlocked: boolean): boolean {
    this.#blockedInARow = isBlocked ? this.#blockedInARow + 1 : 0
    if (this.#blockedInARow < BLOCKED_IN_A_ROW_MAX) return false
    this.#blockedInARow = 0
    return true
  }

  /** The freeze chose the template by the person's locale at that time, and the message keeps its locale. */
  #letterOf({ variation, locale }: Pick<RunMessage, 'variation' | 'locale'>): Letter {
    const pinned = this.open.delivery.pinned?.find(({ name }) => name === variation)
    const letter = pinned && this.#letters.get(templateKey(chooseTemplate(pinned, locale)))
    if (!letter) throw new Error(`the run ${this.open.run.number} has no template for the variation ${variation}`)
    return letter
  }
}

/** Something keeps a campaign from being sent until somebody mends it; the message tells people what. */
export class CannotSend extends Error {}

/** Reads what the messages of a run share. Throws CannotSend, and errors of the store. */
export async function openSendingRun(parts: DeliveryParts, open: OpenRun, sender: StoredSender): Promise<SendingRun> {
  try {
    return await readSendingRun(parts, open, sender)
  } catch (error) {
    if (error instanceof StoreError || error instanceof TooBusy || !(error instanceof Error)) throw error
    throw new CannotSend(error.message, { cause: error })
  }
}

async function readSendingRun(parts: DeliveryParts, open: OpenRun, sender: StoredSender): Promise<SendingRun> {
  const { database, secretVault, config } = parts
  const { run, delivery, campaign, workspace } = open
  const linksBase = sender.trackingUrl ?? config.publicUrl
  if (linksBase === undefined) throw new Error('PUBLIC_URL is not set, and the sender has no tracking_url.')
  const { settings } = delivery
  const shared = toCampaignLetter({ workspace, campaign, settings, sender, run: run.number, linksBase, secretVault })
  const templates = await loadRunTemplates(database, delivery, run.content)
  const files = await listDeliveryAttachments(database, run.campaign)
  const letters = new Map<string, Letter>()
  for (const [key, { template, attachments }] of templates) {
    letters.set(key, { ...shared, template, attachments: toLetterAttachments(attachments, files) })
  }
  return new SendingRun(open, letters, sender.updatedAt)
}
