// Tries whether an SMTP server takes our connections and our credentials. Sends no message.
import { domainToASCII } from 'node:url'
import { isIP } from 'node:net'
import SmtpConnection from 'nodemailer/lib/smtp-connection'
import { shortenMiddle } from '../../core/bounded-text.ts'
import { isLoopbackHost } from '../../core/senders/domain-name.ts'
import type { CheckOutcome } from '../../core/senders/sender-check.ts'
import type { SmtpServer } from '../../core/senders/sender.ts'
import { messageOf } from '../../core/thrown.ts'

/** For the connection with TLS and greeting, and for the credentials. */
const STEP_MS_MAX = 10_000
const RESPONSE_BYTES_MAX = 64 * 1024

export interface SmtpOutcomes {
  readonly connection: CheckOutcome
  readonly authentication: CheckOutcome
}

/** Both outcomes are there after at most twice `stepMs`. No detail shows the password. */
export async function checkSmtp(
  server: SmtpServer,
  password: string | undefined,
  stepMs = STEP_MS_MAX,
): Promise<SmtpOutcomes> {
  const connection = openConnection(server, stepMs)
  try {
    const refusal = await tryStep(connection, stepMs, (done) => connection.connect(done))
    if (refusal !== undefined) {
      return {
        connection: { result: 'failed', detail: `${nameOf(server)} cannot be used: ${refusal}` },
        authentication: { result: 'unknown', detail: 'There was no connection on which to authenticate.' },
      }
    }
    return { connection: connected(server), authentication: await tryLogin(connection, { server, password, stepMs }) }
  } finally {
    connection.close()
  }
}

function openConnection({ host, port, security }: SmtpServer, stepMs: number): SmtpConnection {
  return new SmtpConnection({
    host: isIP(host) === 0 ? domainToASCII(host) : host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    connectionTimeout: stepMs,
    greetingTimeout: stepMs,
    dnsTimeout: stepMs,
    socketTimeout: stepMs,
    socketCloseTimeout: 0,
    maxResponseSize: RESPONSE_BYTES_MAX,
  })
}

async function tryLogin(
  connection: SmtpConnection,
  { server, password, stepMs }: { server: SmtpServer; password: string | undefined; stepMs: number },
): Promise<CheckOutcome> {
  const { username } = server
  if (username === null)
    return { result: 'ok', detail: 'The sender has no user name, so Tidings does not authenticate.' }
  if (password === undefined) return { result: 'warning', detail: 'The sender has a user name, but no password.' }
  const refusal = await tryStep(connection, stepMs, (done) =>
    connection.login({ user: username, pass: password }, done),
  )
  if (refusal === undefined) return { result: 'ok', detail: `${nameOf(server)} accepts the user name and password.` }
  return { result: 'failed', detail: `${nameOf(server)} refuses the credentials: ${withoutSecret(refusal, password)}` }
}

/** Undefined if the step succeeds; else why not. */
function tryStep(
  connection: SmtpConnection,
  stepMs: number,
  begin: (done: (error?: Error | null) => void) => void,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve(`no answer within ${stepMs / 1000} seconds`), stepMs)
    const end = (error?: Error | null) => {
      clearTimeout(late)
      resolve(error ? shortenMiddle(messageOf(error)) : undefined)
    }
    connection.on('error', end)
    connection.once('end', () => end(new Error('the server closed the connection')))
    begin(end)
  })
}

function connected(server: SmtpServer): CheckOutcome {
  const { security, host } = server
  if (security !== 'none') {
    return { result: 'ok', detail: `${nameOf(server)} accepts connections, encrypted, with a valid certificate.` }
  }
  const detail = `${nameOf(server)} accepts connections in plain text.`
  return { result: isLoopbackHost(host) ? 'ok' : 'warning', detail }
}

/** Some servers repeat what they got. */
function withoutSecret(text: string, password: string): string {
  const forms = [password, Buffer.from(password).toString('base64')]
  return forms.reduce((shown, secret) => shown.replaceAll(secret, '…'), text)
}

function nameOf({ host, port }: SmtpServer): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
}
