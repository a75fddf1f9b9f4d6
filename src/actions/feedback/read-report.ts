// Reads a mail that came back: a delivery status notification (RFC 3464, RFC 6533) or a feedback report (RFC 5965). Says what it means,
// and which tokens in it may name the message.
import PostalMime, { type Email } from 'postal-mime'
import { parseFieldGroups, fieldOf, type ReportFields } from '../../core/feedback/report-fields.ts'
import {
  ignored,
  judgeDeliveryStatus,
  judgeFeedbackReport,
  type Feedback,
  type Ignored,
} from '../../core/feedback/judge-bounce.ts'
import type { SmtpStage } from '../../core/delivery/failures.ts'

/** Reports have three parts, one of which is the message that came back. */
const NESTING_DEPTH_MAX = 20
const HEADERS_BYTES_MAX = 256 * 1024
/** Tokens of one mail that are tried. */
const TOKENS_MAX = 20

const DELIVERY_STATUS = ['message/delivery-status', 'message/global-delivery-status']
const FEEDBACK_REPORT = ['message/feedback-report']
const RETURNED = [
  'message/rfc822',
  'text/rfc822-headers',
  'message/global',
  'message/global-headers',
  'message/rfc822-headers',
]
/** Headers with the address to which the mail was sent: our envelope sender `b+TOKEN@domain`. */
const RECIPIENT_HEADERS = ['delivered-to', 'x-original-to', 'to']

export interface ReadReport {
  readonly outcome: Feedback | Ignored
  /** In the order in which they count. */
  readonly tokens: readonly string[]
}

export async function readReport(mail: Uint8Array): Promise<ReadReport> {
  const email = await parse(mail)
  if (!email) return { outcome: ignored('unreadable'), tokens: [] }
  const status = partOf(email, DELIVERY_STATUS)
  const report = partOf(email, FEEDBACK_REPORT)
  const groups = parseFieldGroups(status ?? report ?? '')
  return { outcome: outcomeOf(email, { status, report, groups }), tokens: await tokensIn(email, groups) }
}

/** Undefined for what is no mail, or exceeds a limit: the parser throws plain errors, and anybody may have written its input. */
async function parse(mail: Uint8Array): Promise<Email | undefined> {
  const options = {
    forceRfc822Attachments: true,
    maxNestingDepth: NESTING_DEPTH_MAX,
    maxHeadersSize: HEADERS_BYTES_MAX,
  }
  try {
    return await PostalMime.parse(mail, options)
  } catch {
    return undefined
  }
}

/** The text of the first part with one of these types. */
function partOf({ attachments }: Email, types: readonly string[]): string | undefined {
  const content = attachments.find(({ mimeType }) => types.includes(mimeType))?.content
  return content === undefined || typeof content === 'string' ? content : Buffer.from(toBytes(content)).toString('utf8')
}

function toBytes(content: ArrayBuffer | Uint8Array): Uint8Array {
  return content instanceof Uint8Array ? content : new Uint8Array(content)
}

interface Parts {
  readonly status: string | undefined
  readonly report: string | undefined
  readonly groups: readonly ReportFields[]
}

function outcomeOf(email: Email, { status, report, groups }: Parts): Feedback | Ignored {
  if (status !== undefined) return judgeDeliveryStatus(groups, stageIn(email.text ?? ''))
  if (report !== undefined) return judgeFeedbackReport(groups)
  return ignored(isAutoReply(email) ? 'auto_reply' : 'not_a_report')
}

/** Postfix and Exim tell people, not programs, that the whole message had been sent before it was refused. */
function stageIn(text: string): SmtpStage | undefined {
  return /in reply to end of DATA|after end of data|after DATA/i.test(text) ? 'sent' : undefined
}

/** RFC 3834, and what systems wrote before it. */
function isAutoReply({ headers }: Email): boolean {
  return headers.some(({ key, value }) => {
    if (key === 'auto-submitted') return value.toLowerCase() !== 'no'
    return key === 'x-autoreply' || key === 'x-autorespond' || (key === 'precedence' && /auto_reply/i.test(value))
  })
}

const ADDRESS_TOKEN = /(?:^|[<\s,;:"])b\+(?<token>[A-Za-z0-9_-]{1,64})@/g
const ID_TOKEN = /^<?(?<token>[A-Za-z0-9_-]{1,64})(?:@|>?$)/

async function tokensIn(email: Email, groups: readonly ReportFields[]): Promise<string[]> {
  const addresses = RECIPIENT_HEADERS.flatMap((name) => email.headers.filter(({ key }) => key === name))
  const inAddresses = addresses.flatMap(({ value }) => tokensInAddresses(value))
  const returned = partOf(email, RETURNED)
  const messageId = returned === undefined ? undefined : (await parse(Buffer.from(headersOf(returned))))?.messageId
  const envelopeId = groups.map((group) => fieldOf(group, 'original-envelope-id')).find((id) => id !== undefined)
  const inIds = [messageId, envelopeId].flatMap((id) => tokenInId(id ?? '') ?? [])
  return [...new Set([...inAddresses, ...inIds])].slice(0, TOKENS_MAX)
}

function tokensInAddresses(value: string): string[] {
  return [...value.matchAll(ADDRESS_TOKEN)].flatMap(({ groups }) => groups?.['token'] ?? [])
}

/** The token in a `Message-ID: <TOKEN@domain>`; undefined if the text is none. */
export function tokenInId(id: string): string | undefined {
  return ID_TOKEN.exec(id.trim())?.groups?.['token']
}

/** The returned message may have been cut anywhere in its body. */
function headersOf(message: string): string {
  const end = /\r?\n\r?\n/.exec(message)?.index ?? message.length
  return `${message.slice(0, end)}\r\n\r\n`
}
