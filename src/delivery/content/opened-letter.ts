// What the render thread reads once from a letter, and uses for all its messages.
import type { Template } from 'liquidjs'
import { encodeAttachments } from './mail/compose-mail.ts'
import { DkimSigner } from './mail/dkim.ts'
import type { Letter, RenderJob } from './render-job.ts'
import { registerLinkTags } from './template/link-tags.ts'
import { MailParser } from './template/mail-liquid.ts'

/** A job without its letter, as the thread gets it. */
export type PersonalJob = Omit<RenderJob, 'letter'>

/** What is read once from a letter. */
export class OpenedLetter {
  readonly letter: Letter
  readonly html: Template[]
  readonly subject: Template[]
  readonly senderName: Template[]
  readonly signer: DkimSigner | undefined
  readonly attachments: readonly Uint8Array[]
  readonly linkUrls: ReadonlyMap<number, string>
  readonly linksBase: string

  /** Throws if the template has faults, or the DKIM key cannot be read. */
  constructor(letter: Letter) {
    const { template, sender } = letter
    registerLinkTags()
    this.letter = letter
    this.html = new MailParser('html').parse(template.html)
    this.subject = new MailParser('text').parse(template.subject)
    this.senderName = new MailParser('text').parse(template.senderName)
    this.signer = sender.dkim ? new DkimSigner(sender.dkim) : undefined
    this.attachments = encodeAttachments(letter.attachments)
    this.linkUrls = new Map(template.links.map(({ number, url }) => [number, url]))
    this.linksBase = letter.linksBase.replace(/\/+$/, '')
  }
}
