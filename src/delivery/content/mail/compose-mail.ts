// Puts a message together (RFC 5322, RFC 2045): headers, text and HTML, attachments, signature. On a busy machine nodemailer's composer
// took 2.7 ms of processor time for a message of 20 KB HTML, this 0.5 ms.
import type { DkimSigner } from './dkim.ts'
import { encodeDisposition, writeHeaders, type Header } from './mail-headers.ts'
import { encodeQuotedPrintable } from './quoted-printable.ts'
import type { LetterAttachment } from '../render-job.ts'

const CRLF = '\r\n'
const BASE64_LINE_LENGTH = 76
/** Neither quoted-printable nor base64 contains `=_`, so no content contains these. */
const ALTERNATIVE = '=_tidings_alternative'
const MIXED = '=_tidings_mixed'
const MIME_TYPE = /^[\w.+-]+\/[\w.+-]+$/
const ANY_TYPE = 'application/octet-stream'

export interface MailContent {
  /** Without those of MIME. */
  readonly headers: readonly Header[]
  readonly text: string
  readonly html: string
  /** As `encodeAttachments` returns them. */
  readonly attachments: readonly Uint8Array[]
  readonly signer: DkimSigner | undefined
}

export function composeMail({ headers, text, html, attachments, signer }: MailContent): Uint8Array {
  const hasAttachments = attachments.length > 0
  const type = hasAttachments ? multipart('mixed', MIXED) : multipart('alternative', ALTERNATIVE)
  const all: readonly Header[] = [...headers, ['MIME-Version', '1.0'], ['Content-Type', type]]
  const alternative = Buffer.concat([
    ascii(openPart(ALTERNATIVE, textHeaders('text/plain'))),
    encodeQuotedPrintable(text),
    ascii(CRLF + openPart(ALTERNATIVE, textHeaders('text/html'))),
    encodeQuotedPrintable(html),
    ascii(closeParts(ALTERNATIVE)),
  ])
  const body = hasAttachments ? withAttachments(alternative, attachments) : alternative
  const signed = signer ? [signer.sign(all, body), ...all] : all
  const head = Buffer.from(writeHeaders(signed) + CRLF)
  // Its own memory, so that another thread can take it over.
  const raw = new Uint8Array(head.length + body.length)
  raw.set(head)
  raw.set(body, head.length)
  return raw
}

/** The parts of attachments, which are the same in every message. */
export function encodeAttachments(attachments: readonly LetterAttachment[]): Uint8Array[] {
  return attachments.map(({ name, type, content }) => {
    const base64 = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64')
    const lines = base64.match(new RegExp(`.{1,${BASE64_LINE_LENGTH}}`, 'g')) ?? []
    const headers: Header[] = [
      ['Content-Type', MIME_TYPE.test(type) ? type : ANY_TYPE],
      ['Content-Transfer-Encoding', 'base64'],
      ['Content-Disposition', encodeDisposition(name)],
    ]
    return ascii(CRLF + openPart(MIXED, headers) + lines.join(CRLF))
  })
}

function withAttachments(alternative: Uint8Array, attachments: readonly Uint8Array[]): Buffer {
  const headers: Header[] = [['Content-Type', multipart('alternative', ALTERNATIVE)]]
  return Buffer.concat([ascii(openPart(MIXED, headers)), alternative, ...attachments, ascii(closeParts(MIXED))])
}

function multipart(kind: 'alternative' | 'mixed', boundary: string): string {
  return `multipart/${kind};${CRLF} boundary="${boundary}"`
}

function textHeaders(type: string): Header[] {
  return [
    ['Content-Type', `${type}; charset=utf-8`],
    ['Content-Transfer-Encoding', 'quoted-printable'],
  ]
}

function openPart(boundary: string, headers: readonly Header[]): string {
  return `--${boundary}${CRLF}${writeHeaders(headers)}${CRLF}`
}

function closeParts(boundary: string): string {
  return `${CRLF}--${boundary}--${CRLF}`
}

function ascii(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}
