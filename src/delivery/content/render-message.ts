// Makes one message: renders its template for a person, with links of its own, and puts the mail together. Runs on the render thread.
import { messageOf } from '../../core/thrown.ts'
import { composeMail } from './mail/compose-mail.ts'
import { onOneLine, toWireAddress, type Header } from './mail/mail-headers.ts'
import { textOfHtml } from './mail/text-of-html.ts'
import { unsubscribeWords } from './mail/unsubscribe-words.ts'
import { headersOf, returnPathOf } from './message-headers.ts'
import { MessageLinks } from './message-links.ts'
import type { OpenedLetter, PersonalJob } from './opened-letter.ts'
import type { Letter, PartsResult, RenderFailure, RenderResult } from './render-job.ts'
import { RENDERED_BYTES_MAX, TOO_LONG, TOO_SLOW } from './render-limits.ts'
import { LINK_WRITER } from './template/link-tags.ts'
import { escapeHtml, renderLiquid, TooLong, withoutPlace, type MissingOutput } from './template/mail-liquid.ts'

/** In the subject of tests. */
const TEST_MARK = '[Test] '

/** The whole message, as it goes to the server. `isOk` is false where the content or the person's data is to blame. */
export function renderMessage(opened: OpenedLetter, job: PersonalJob): RenderResult {
  const content = renderContent(opened, job)
  if (!content.isOk) return content
  const { headers, text, html, links } = content
  const to = toWireAddress(job.to)
  const from = toWireAddress(opened.letter.sender.fromEmail)
  const raw = composeMail({ headers, text, html, attachments: opened.attachments, signer: opened.signer })
  return {
    isOk: true,
    raw,
    envelopeFrom: returnPathOf(opened.letter, links) ?? from.address,
    envelopeTo: to.address,
    envid: links.token('bounce'),
    usesUtf8: to.usesUtf8 || from.usesUtf8,
    targets: links.targets(),
  }
}

/** What people read of the message, for previews. `isOk` is false as for `renderMessage`. */
export function renderParts(opened: OpenedLetter, job: PersonalJob): PartsResult {
  const content = renderContent(opened, job)
  if (!content.isOk) return content
  const { subject, html, text, shownHeaders } = content
  return { isOk: true, subject, html, text, headers: shownHeaders }
}

interface Content {
  readonly isOk: true
  readonly subject: string
  readonly html: string
  readonly text: string
  readonly headers: readonly Header[]
  readonly shownHeaders: readonly Header[]
  readonly links: MessageLinks
}

function renderContent(opened: OpenedLetter, job: PersonalJob): Content | RenderFailure {
  const links = new MessageLinks(opened, job)
  try {
    const scope = scopeOf(opened.letter, job, links)
    const body = renderLiquid(opened.html, scope, { registers: { [LINK_WRITER]: links } })
    const subject = renderLiquid(opened.subject, scope)
    const senderName = renderLiquid(opened.senderName, scope)
    const missing = namesOf([...subject.missing, ...senderName.missing, ...body.missing])
    if (missing.length > 0) return { isOk: false, problem: `No value for ${missing.join(', ')}.`, missing }
    const html = completeHtml(body.text, links, job)
    if (Buffer.byteLength(html) > RENDERED_BYTES_MAX) throw new TooLong()
    const line = onOneLine((job.isTest ? TEST_MARK : '') + subject.text)
    const { headers, shown } = headersOf(opened.letter, job, { links, subject: line, senderName: senderName.text })
    return { isOk: true, subject: line, html, text: textOfHtml(html), headers, shownHeaders: shown, links }
  } catch (error) {
    return { isOk: false, problem: renderProblem(error), missing: [] }
  }
}

function namesOf(missing: readonly MissingOutput[]): string[] {
  return [...new Set(missing.map(({ name }) => name))]
}

/** The system's names win over attributes of the same name, which `user` has too. */
export function scopeOf({ campaign }: Letter, job: PersonalJob, links: MessageLinks): object {
  const { attributes, customerId, coupons } = job
  return {
    ...attributes,
    user: attributes,
    customer_id: customerId,
    campaign: { id: campaign.id, name: campaign.name },
    unsubscribe_url: links.unsubscribeUrl,
    get preferences_url() {
      return links.url('p', 'preferences')
    },
    get view_url() {
      return links.url('v', 'view')
    },
    svc_coupons: coupons,
  }
}

/** With an unsubscribe link, if it has none, and the picture that counts opens. */
export function completeHtml(html: string, links: MessageLinks, { locale }: PersonalJob): string {
  const { unsubscribeUrl } = links
  const at = html.indexOf(links.endMark)
  const before = at < 0 ? html : html.slice(0, at)
  const after = at < 0 ? '' : html.slice(at).replaceAll(links.endMark, '')
  const hasLink = unsubscribeUrl === undefined || html.includes(escapeHtml(unsubscribeUrl))
  const footer = hasLink ? '' : unsubscribeParagraph(unsubscribeUrl, locale)
  const picture = links.showsPicture
    ? `<img src="${escapeHtml(links.url('o', 'open'))}" width="1" height="1" alt="">`
    : ''
  return before + footer + picture + after
}

function unsubscribeParagraph(url: string, locale: string | null): string {
  const { language, link, isRightToLeft } = unsubscribeWords(locale)
  const direction = isRightToLeft ? ' dir="rtl"' : ''
  const style = 'margin:24px 0;font:12px sans-serif;text-align:center'
  return `<p lang="${language}"${direction} style="${style}"><a href="${escapeHtml(url)}">${link}</a></p>`
}

/** Liquid's own message when its time limit is over. */
const TIME_IS_OVER = /template render limit exceeded/

/** Why a template cannot be rendered, as a sentence. */
export function renderProblem(error: unknown): string {
  if (error instanceof TooLong) return TOO_LONG
  const message = withoutPlace(messageOf(error))
  return TIME_IS_OVER.test(message) ? TOO_SLOW : `The template cannot be rendered: ${message}.`
}
