// Reads the replies of SMTP servers (RFC 5321, section 4.2) and the enhanced status codes in them (RFC 2034).
import type { SmtpReply } from '../../core/delivery/failures.ts'
import { toReplyText } from './smtp-failure.ts'

const CODE = /^(?<code>[2-5]\d\d)(?=[ -]|$)/
/** A line of a reply: its code, an enhanced status code, its text. */
const LINE = /^(?:\d{3}(?:[ -]|$))?(?:(?<enhanced>[245]\.\d{1,3}\.\d{1,3})(?:\s+|$))?(?<text>.*)$/

export type ParsedReply = Pick<SmtpReply, 'code' | 'enhancedCode' | 'text'>

/** Takes all lines of a reply. The code is null if the text is no reply; its text is then kept as it is. */
export function parseReply(raw: string): ParsedReply {
  const lines = raw.split(/\r?\n/)
  const code = CODE.exec(lines.at(-1) ?? '')?.groups?.['code']
  if (code === undefined) return { code: null, enhancedCode: null, text: toReplyText(raw) }
  const parts = lines.map((line) => LINE.exec(line)?.groups)
  const enhanced = parts.map((part) => part?.['enhanced']).filter((each) => each !== undefined)
  return {
    code: Number(code),
    // The class of the code must be that of the reply. Where a server breaks that rule, its enhanced code still says more.
    enhancedCode: enhanced.find((each) => each[0] === code[0]) ?? enhanced[0] ?? null,
    text: toReplyText(parts.map((part) => part?.['text'] ?? '').join(' ')),
  }
}
