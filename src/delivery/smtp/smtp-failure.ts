// What a session throws when the server or the network did not take a message. `judgeFailure` says whom it belongs to.
import { REPLY_TEXT_LENGTH_MAX, type SmtpReply, type SmtpStage } from '../../core/delivery/failures.ts'

export class SmtpFailure extends Error {
  readonly reply: SmtpReply

  constructor(reply: SmtpReply) {
    super(`${reply.stage}: ${reply.text}`)
    this.name = 'SmtpFailure'
    this.reply = reply
  }
}

/** A failure without a reply: the connection failed or ended, or the server did not speak SMTP. */
export function silentFailure(stage: SmtpStage, host: string, error: Error): SmtpFailure {
  return new SmtpFailure({ stage, code: null, enhancedCode: null, text: toReplyText(describeError(error)), host })
}

/** Control characters, and separators of lines and paragraphs, become a space; at most `REPLY_TEXT_LENGTH_MAX` characters. */
export function toReplyText(text: string): string {
  const visible = text
    .slice(0, REPLY_TEXT_LENGTH_MAX * 2)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
  return visible.slice(0, REPLY_TEXT_LENGTH_MAX).toWellFormed()
}

/** The error of a host with several addresses has no message of its own. */
function describeError(error: Error): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map((each) => (each instanceof Error ? each.message : String(each))).join('; ')
  }
  return error.message
}
