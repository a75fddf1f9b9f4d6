// The options of `sender add`, and the sender that they describe, in the form that Create sender takes.
import { closeSync, openSync, readSync } from 'node:fs'
import { readSmtpPassword } from '../../app/config.ts'
import { invalidRequest, type Fault } from '../../core/app-error.ts'
import { problemOfCode } from '../../core/phrases/system-problem.ts'
import { codeOf, messageOf } from '../../core/thrown.ts'
import { UsageError, type CommandCall, type CommandOption } from '../command.ts'

interface SenderOption extends CommandOption {
  /** Its member in the body of Create sender. */
  readonly member: string
  readonly isNumber?: true
}

const MEMBERS: Readonly<Record<string, SenderOption>> = {
  name: { member: 'name', value: 'N', isRequired: true, summary: 'Name of the sender, for people who choose one.' },
  'from-email': { member: 'from_email', value: 'ADDRESS', isRequired: true, summary: 'The address in From.' },
  'from-name': { member: 'from_name', value: 'N', isRequired: true, summary: 'The name in From.' },
  host: { member: 'smtp.host', value: 'HOST', isRequired: true, summary: 'The SMTP server.' },
  port: { member: 'smtp.port', value: 'PORT', isRequired: true, isNumber: true, summary: 'Its port.' },
  security: { member: 'smtp.security', value: 'tls|starttls|none', isRequired: true, summary: 'Its encryption.' },
  username: { member: 'smtp.username', value: 'USER', summary: 'For a server that asks for it.' },
  'reply-to': { member: 'reply_to', value: 'ADDRESS', summary: 'Where answers go. Default: the address in From.' },
  'return-path-domain': { member: 'return_path_domain', value: 'DOMAIN', summary: 'Where bounces go.' },
  'dkim-domain': { member: 'dkim.domain', value: 'DOMAIN', summary: 'The domain that signs.' },
  'dkim-selector': { member: 'dkim.selector', value: 'NAME', summary: 'The name of its key in DNS.' },
  'per-second': { member: 'limits.per_second', value: 'N', isNumber: true, summary: 'Messages in any second.' },
  'per-day': { member: 'limits.per_day', value: 'N', isNumber: true, summary: 'Messages on a UTC day.' },
  connections: { member: 'limits.connections', value: 'N', isNumber: true, summary: 'Connections at the same time.' },
  'messages-per-connection': {
    member: 'limits.messages_per_connection',
    value: 'N',
    isNumber: true,
    summary: 'Messages on one connection.',
  },
  'tracking-url': { member: 'tracking_url', value: 'URL', summary: 'The base of links. Default: PUBLIC_URL.' },
}

/** Secrets are never arguments: everybody on the machine could read those. */
const SECRETS: Readonly<Record<string, CommandOption>> = {
  'dkim-key': { value: 'FILE', summary: 'The private key that signs, in PEM.' },
  'password-stdin': { summary: 'Reads the password from standard input. Default: from SMTP_PASSWORD.' },
}

export const SENDER_OPTIONS: Readonly<Record<string, CommandOption>> = { ...MEMBERS, ...SECRETS }

const SECRET_BYTES_MAX = 64 * 1024

/** A body of Create sender, not yet checked. Throws if a file or standard input cannot be read. */
export async function readSenderBody({ option }: Pick<CommandCall, 'option'>): Promise<object> {
  const body: Record<string, unknown> = {}
  for (const [name, { member, isNumber }] of Object.entries(MEMBERS)) {
    const text = option(name)
    if (text !== undefined) setMember(body, member, isNumber && /^\d+$/.test(text) ? Number(text) : text)
  }
  const keyFile = option('dkim-key')
  if (keyFile !== undefined) setMember(body, 'dkim.private_key', readKeyFile(keyFile))
  const password = option('password-stdin') === undefined ? readSmtpPassword() : await readStandardInput()
  if (password !== undefined) setMember(body, 'smtp.password', password)
  return body
}

/** The faults of a body, named after the options that gave it. */
export function toOptionFaults(faults: readonly Fault[]): Fault[] {
  const optionOf = new Map(Object.entries(MEMBERS).map(([name, { member }]) => [member, `--${name}`]))
  optionOf.set('dkim.private_key', '--dkim-key').set('smtp.password', 'SMTP_PASSWORD')
  return faults.map(({ field, problem }) => ({ field: optionOf.get(field) ?? field, problem }))
}

/** `member`: one name, or two with a dot between. */
function setMember(body: Record<string, unknown>, member: string, value: unknown): void {
  const [first = '', second] = member.split('.')
  if (second === undefined) body[first] = value
  else body[first] = { ...(body[first] as object | undefined), [second]: value }
}

function readKeyFile(path: string): string {
  try {
    const descriptor = openSync(path, 'r')
    try {
      const bytes = Buffer.alloc(SECRET_BYTES_MAX)
      return bytes.toString('utf8', 0, readSync(descriptor, bytes))
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    const why = problemOfCode(codeOf(error) ?? '') ?? messageOf(error)
    throw invalidRequest([{ field: '--dkim-key', problem: `must be a file that can be read: ${why}` }])
  }
}

/** Without the line break at its end. */
async function readStandardInput(): Promise<string> {
  if (process.stdin.isTTY) throw new UsageError('Standard input is a terminal, which would show the password.')
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength
    if (bytes > SECRET_BYTES_MAX) throw new UsageError('Standard input is too long for a password.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '')
}
