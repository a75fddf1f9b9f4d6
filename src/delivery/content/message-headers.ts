// The headers and the return path of one message ("What is sent").
import { encodeMailbox, encodeText, onOneLine, toWireAddress, type Header } from './mail/mail-headers.ts'
import type { MessageLinks } from './message-links.ts'
import type { PersonalJob } from './opened-letter.ts'
import type { Letter } from './render-job.ts'

/** The last part of `Feedback-ID`, by which mail services group what one program sends. */
const PROGRAM = 'tidings'
const POSTMARK_HOST = 'smtp.postmarkapp.com'
/** Characters of an id that mean something in a header. */
const SPECIAL = /[^\w.-]/g

interface HeaderContent {
  readonly links: MessageLinks
  /** On one line. */
  readonly subject: string
  /** Of the template; empty for the sender's. */
  readonly senderName: string
}

/** The headers as they are sent, and as people read them. */
export interface MessageHeaders {
  readonly headers: readonly Header[]
  readonly shown: readonly Header[]
}

export function headersOf(
  letter: Letter,
  job: PersonalJob,
  { links, subject, senderName }: HeaderContent,
): MessageHeaders {
  const { sender } = letter
  const from = toWireAddress(sender.fromEmail)
  const name = onOneLine(senderName) || onOneLine(sender.fromName)
  const rest: Header[] = [
    ['To', toWireAddress(job.to).address],
    ...(sender.replyTo === null ? [] : [['Reply-To', toWireAddress(sender.replyTo).address] as const]),
    ['Message-ID', `<${links.token('bounce')}@${from.domain}>`],
    ['Date', new Date(job.date).toUTCString().replace('GMT', '+0000')],
    ...listHeaders(letter, from.domain, links),
    ...serviceHeaders(letter, links),
    ['Auto-Submitted', 'auto-generated'],
    ['X-Auto-Response-Suppress', 'OOF, AutoReply'],
  ]
  return {
    headers: [
      ['From', encodeMailbox('From', name, from.address)],
      ['Subject', encodeText('Subject', subject)],
      ...rest,
    ],
    shown: [['From', name === '' ? from.address : `${name} <${from.address}>`], ['Subject', subject], ...rest],
  }
}

function listHeaders({ workspaceId, campaign }: Letter, domain: string, { unsubscribeUrl }: MessageLinks): Header[] {
  const [workspace, id] = [workspaceId, campaign.id].map((text) => text.replaceAll(SPECIAL, '-')) as [string, string]
  const headers: Header[] = [
    ['List-Id', `<${workspace}.${domain}>`],
    ['Feedback-ID', `${id}:${workspace}:email:${PROGRAM}`],
  ]
  if (unsubscribeUrl !== undefined) {
    headers.push(['List-Unsubscribe', `<${unsubscribeUrl}>`], ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'])
  }
  return headers
}

/** Postmark's webhooks name a message by what its sender put into this header. */
function serviceHeaders({ sender }: Letter, links: MessageLinks): Header[] {
  return sender.smtpHost === POSTMARK_HOST ? [['X-PM-Metadata-tidings', links.token('bounce')]] : []
}

/** Undefined if the sender has no domain for bounces: they go to `from_email`. */
export function returnPathOf({ sender }: Letter, links: MessageLinks): string | undefined {
  const { returnPathDomain: domain } = sender
  return domain === null ? undefined : toWireAddress(`b+${links.token('bounce')}@${domain}`).address
}
