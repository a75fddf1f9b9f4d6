// Puts the message of an alert together: plain text, also as HTML, from the workspace's sender of alerts.
import { randomUUID } from 'node:crypto'
import type { AlertText } from '../../core/coupons/alert-text.ts'
import type { StoredSender } from '../../store/senders/senders.ts'
import { composeMail } from '../content/mail/compose-mail.ts'
import { DkimSigner } from '../content/mail/dkim.ts'
import { encodeMailbox, encodeText, onOneLine, toWireAddress } from '../content/mail/mail-headers.ts'
import type { DkimKey } from '../content/render-job.ts'
import { escapeHtml } from '../content/template/mail-liquid.ts'
import type { SmtpMail } from '../smtp/smtp-session.ts'

export interface AlertLetter extends AlertText {
  readonly to: string
  /** Milliseconds since the epoch. */
  readonly date: number
}

export function toAlertMail(
  { fromEmail, fromName, replyTo }: StoredSender,
  dkim: DkimKey | null,
  { to, date, subject, text }: AlertLetter,
): SmtpMail {
  const [sender, recipient] = [toWireAddress(fromEmail), toWireAddress(to)]
  const raw = composeMail({
    headers: [
      ['From', encodeMailbox('From', onOneLine(fromName), sender.address)],
      ['Subject', encodeText('Subject', onOneLine(subject))],
      ['To', recipient.address],
      ...(replyTo === null ? [] : [['Reply-To', toWireAddress(replyTo).address] as const]),
      ['Message-ID', `<${randomUUID()}@${sender.domain}>`],
      ['Date', new Date(date).toUTCString().replace('GMT', '+0000')],
      ['Auto-Submitted', 'auto-generated'],
      ['X-Auto-Response-Suppress', 'OOF, AutoReply'],
    ],
    text,
    html: `<pre style="white-space:pre-wrap;font:inherit">${escapeHtml(text)}</pre>`,
    attachments: [],
    signer: dkim ? new DkimSigner(dkim) : undefined,
  })
  return { from: sender.address, to: recipient.address, raw, usesUtf8: sender.usesUtf8 || recipient.usesUtf8 }
}
