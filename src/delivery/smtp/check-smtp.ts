// Tries whether an SMTP server takes our connections and our credentials, by the session that sends campaigns. Sends no message.
import { isIP } from 'node:net'
import { shortenMiddle } from '../../core/bounded-text.ts'
import { isLoopbackHost } from '../../core/senders/domain-name.ts'
import type { CheckOutcome } from '../../core/senders/sender-check.ts'
import { SmtpFailure } from './smtp-failure.ts'
import { openSmtpSession, type SmtpSettings } from './smtp-session.ts'

/** Shorter than for a campaign: somebody waits for the answer, half a minute at most. */
const TIMEOUTS = { connectMs: 5_000, greetingMs: 5_000, socketMs: 10_000, exchangeMs: 9_000, quitMs: 1_000 }

export interface SmtpOutcomes {
  readonly connection: CheckOutcome
  readonly authentication: CheckOutcome
}

/** No detail shows the password. `username`: that of the sender; the session authenticates only if there is a password too. */
export async function checkSmtp(settings: SmtpSettings, username: string | null): Promise<SmtpOutcomes> {
  try {
    const session = await openSmtpSession({ ...settings, timeouts: TIMEOUTS })
    await session.quit()
  } catch (error) {
    if (!(error instanceof SmtpFailure)) throw error
    return failed(settings, error)
  }
  return { connection: connected(settings), authentication: authenticated(settings, username) }
}

function failed(settings: SmtpSettings, { reply }: SmtpFailure): SmtpOutcomes {
  const text = withoutSecret(shortenMiddle(reply.text), settings.password)
  if (reply.stage === 'auth') {
    const detail = `${nameOf(settings)} refuses the credentials: ${text}`
    return { connection: connected(settings), authentication: { result: 'failed', detail } }
  }
  const isWithoutTls = reply.stage === 'tls' && reply.code !== null && reply.code >= 500
  const problem = isWithoutTls ? 'does not offer STARTTLS, which the sender requires' : 'cannot be used'
  return {
    connection: { result: 'failed', detail: `${nameOf(settings)} ${problem}: ${text}` },
    authentication: { result: 'unknown', detail: 'There was no connection on which to authenticate.' },
  }
}

function authenticated(settings: SmtpSettings, username: string | null): CheckOutcome {
  if (username === null)
    return { result: 'ok', detail: 'The sender has no user name, so Tidings does not authenticate.' }
  if (settings.password === undefined)
    return { result: 'warning', detail: 'The sender has a user name, but no password.' }
  return { result: 'ok', detail: `${nameOf(settings)} accepts the user name and password.` }
}

function connected(settings: SmtpSettings): CheckOutcome {
  const { security, host } = settings
  if (security !== 'none') {
    return { result: 'ok', detail: `${nameOf(settings)} accepts connections, encrypted, with a valid certificate.` }
  }
  const detail = `${nameOf(settings)} accepts connections in plain text.`
  return { result: isLoopbackHost(host) ? 'ok' : 'warning', detail }
}

/** Some servers repeat what they got. */
function withoutSecret(text: string, password = ''): string {
  const forms = password === '' ? [] : [password, Buffer.from(password).toString('base64')]
  return forms.reduce((shown, secret) => shown.replaceAll(secret, '…'), text)
}

function nameOf({ host, port }: SmtpSettings): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
}
