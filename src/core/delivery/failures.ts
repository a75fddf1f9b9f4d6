// Who a refusal of an SMTP server belongs to, and what becomes of the message ("Failures belong to somebody"). The enhanced status
// code decides first, then the stage, then the code (RFC 5321, RFC 3463, IANA's registry of enhanced status codes).
import type { FailureReason } from './message-state.ts'

/** How far the exchange with the server had come. `sent`: after the final dot. */
export const SMTP_STAGES = ['connect', 'tls', 'greeting', 'auth', 'mail', 'rcpt', 'data', 'sent'] as const
export type SmtpStage = (typeof SMTP_STAGES)[number]

/** A reply of a server; without a code, the connection failed or ended. */
export interface SmtpReply {
  readonly stage: SmtpStage
  /** The three digits; null if there was no reply. */
  readonly code: number | null
  /** Such as `5.1.1`; null if the reply has none. */
  readonly enhancedCode: string | null
  /** The text of the reply, or what the system said of the connection. At most `REPLY_TEXT_LENGTH_MAX` characters. */
  readonly text: string
  /** The host that answered. */
  readonly host: string
}

export const REPLY_TEXT_LENGTH_MAX = 1_000

/** A reply in one line, as a server sends it. */
export function replyText({ code, enhancedCode, text }: Pick<SmtpReply, 'code' | 'enhancedCode' | 'text'>): string {
  return [code, enhancedCode, text].filter((part) => part !== null && part !== '').join(' ')
}

/** What becomes of a message after a failure, and of others. */
export type Verdict =
  /** Nobody loses an attempt, and the circuit of the server counts one failure. */
  | { readonly to: 'server' }
  /** The campaign is paused with the reply. Nobody failed. */
  | { readonly to: 'pause' }
  /** Failed for good. `suppress`: the address must not be sent to any more. */
  | { readonly to: 'failed'; readonly reason: FailureReason; readonly suppress?: 'hard_bounce' }
  /** Tried again later; when time is up it fails with `last`. */
  | { readonly to: 'deferred'; readonly last: 'soft_bounce' | 'gave_up' }
  /** The recipient's domain waits at this sender; no attempt is spent. */
  | { readonly to: 'domain_waits' }
  /** The server may have accepted the message. */
  | { readonly to: 'in_doubt' }

/** The verdict on a failure at its stage. Never call it for an acceptance. */
export function judgeFailure(reply: SmtpReply): Verdict {
  const { stage, code, enhancedCode } = reply
  if (code === null) return judgeSilence(stage)
  if (stage === 'connect' || stage === 'tls' || stage === 'greeting') return { to: 'server' }
  if (stage === 'auth') return code >= 500 ? { to: 'pause' } : { to: 'server' }
  if (code === 421) return { to: 'server' }
  if (stage === 'mail') return judgeSenderRefusal(reply)
  if (isUtf8Refusal(reply)) return { to: 'failed', reason: 'hard_bounce' }
  return (enhancedCode === null ? undefined : judgeEnhanced(enhancedCode)) ?? judgeBare(stage, code)
}

/** Of an address that needs SMTPUTF8 where the server has none (RFC 6531): another server may take it, so nothing suppresses it. */
const UTF8_REFUSAL = '5.6.7'

function isUtf8Refusal({ stage, enhancedCode }: SmtpReply): boolean {
  return stage === 'rcpt' && enhancedCode === UTF8_REFUSAL
}

/** The connection ended, or never began. */
function judgeSilence(stage: SmtpStage): Verdict {
  return stage === 'sent' ? { to: 'in_doubt' } : { to: 'server' }
}

/** Its size and its content. A server may tell them at once. */
const ABOUT_MESSAGE = /^5\.(?:3\.4$|6\.)/

/** MAIL FROM was refused. A refusal for now waits as the recipient's would; a full system makes its domain wait. */
function judgeSenderRefusal({ code, enhancedCode }: SmtpReply): Verdict {
  const isForGood = (code as number) >= 500
  const judged = enhancedCode === null ? undefined : judgeEnhanced(enhancedCode)
  if (judged?.to === 'domain_waits' || (judged && ABOUT_MESSAGE.test(enhancedCode ?? ''))) return judged
  if (isForGood) return { to: 'pause' }
  return code === 452 ? { to: 'domain_waits' } : { to: 'deferred', last: 'gave_up' }
}

/** Bad syntax, or an unknown domain, of the sender's address: no recipient is to blame. */
const SENDER_ADDRESS_DETAILS: ReadonlySet<string> = new Set(['7', '8'])

/** By class, subject and detail of an enhanced status code; undefined if the code says nothing that is known here. */
function judgeEnhanced(enhancedCode: string): Verdict | undefined {
  const [kind, subject = '', detail = ''] = enhancedCode.split('.')
  const isForGood = kind === '5'
  if (subject === '1' && SENDER_ADDRESS_DETAILS.has(detail) && isForGood) return { to: 'pause' }
  if (`${subject}.${detail}` === '5.3' && !isForGood) return { to: 'domain_waits' }
  switch (subject) {
    case '1':
      return isForGood
        ? { to: 'failed', reason: 'hard_bounce', suppress: 'hard_bounce' }
        : { to: 'deferred', last: 'gave_up' }
    case '2':
      return isForGood ? { to: 'failed', reason: 'soft_bounce' } : { to: 'deferred', last: 'soft_bounce' }
    case '3':
      // 5.3.4, too large; the others are about the server as well, and never about a person.
      return isForGood ? { to: 'failed', reason: 'message_refused' } : { to: 'domain_waits' }
    case '4':
      return isForGood ? { to: 'failed', reason: 'gave_up' } : { to: 'deferred', last: 'gave_up' }
    case '5':
      // The two sides do not understand each other; the code beside it may be 550.
      return isForGood ? { to: 'failed', reason: 'message_refused' } : { to: 'deferred', last: 'gave_up' }
    case '6':
      return isForGood ? { to: 'failed', reason: 'message_refused' } : { to: 'deferred', last: 'gave_up' }
    case '7':
      return isForGood ? { to: 'failed', reason: 'blocked' } : { to: 'deferred', last: 'gave_up' }
    default:
      return undefined
  }
}

const BARE_HARD_BOUNCES: ReadonlySet<number> = new Set([550, 551, 553])

function judgeBare(stage: SmtpStage, code: number): Verdict {
  if (code === 452) return { to: 'domain_waits' }
  if (code < 500) return { to: 'deferred', last: 'gave_up' }
  if (stage !== 'rcpt') return { to: 'failed', reason: 'message_refused' }
  if (BARE_HARD_BOUNCES.has(code)) return { to: 'failed', reason: 'hard_bounce', suppress: 'hard_bounce' }
  if (code === 552) return { to: 'failed', reason: 'soft_bounce' }
  return { to: 'failed', reason: code === 554 ? 'blocked' : 'message_refused' }
}
