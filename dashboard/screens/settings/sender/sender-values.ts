// A sender as the fields of the form hold it, and as requests send it. Secrets are apart: drafts are kept in the tab.
import type { AnswerOf, AskedOf } from '../../../data/contracts.ts'
import { senderText } from '../../../texts/settings/senders.ts'

export type ListedSender = AnswerOf<'GET', '/core-services/v1/senders'>['data'][number]

/** Stands in the address in place of an id. */
export const NEW_SENDER = 'new'

export interface SenderValues {
  readonly name: string
  readonly from_email: string
  readonly from_name: string
  readonly reply_to: string
  readonly host: string
  readonly port: string
  readonly security: ListedSender['smtp']['security']
  readonly username: string
  readonly isSigned: boolean
  readonly domain: string
  readonly selector: string
  readonly return_path_domain: string
  readonly tracking_url: string
  readonly per_second: string
  readonly per_day: string
  readonly connections: string
  readonly messages_per_connection: string
}

export interface SenderSecrets {
  readonly password: string
  readonly private_key: string
}

export const NO_SECRETS: SenderSecrets = { password: '', private_key: '' }

export const SENDER_LABELS: { readonly [Name in keyof SenderValues]: string } = {
  name: senderText.name,
  from_email: senderText.from_email,
  from_name: senderText.from_name,
  reply_to: senderText.reply_to,
  host: senderText.host,
  port: senderText.port,
  security: senderText.security,
  username: senderText.username,
  isSigned: senderText.sign,
  domain: senderText.domain,
  selector: senderText.selector,
  return_path_domain: senderText.return_path_domain,
  tracking_url: senderText.tracking_url,
  per_second: senderText.per_second,
  per_day: senderText.per_day,
  connections: senderText.connections,
  messages_per_connection: senderText.messages_per_connection,
}

export function toSenderValues(sender: ListedSender | undefined): SenderValues {
  const { smtp, dkim, limits } = sender ?? {}
  return {
    name: sender?.name ?? '',
    from_email: sender?.from_email ?? '',
    from_name: sender?.from_name ?? '',
    reply_to: sender?.reply_to ?? '',
    host: smtp?.host ?? '',
    port: String(smtp?.port ?? 587),
    security: smtp?.security ?? 'starttls',
    username: smtp?.username ?? '',
    isSigned: Boolean(dkim),
    domain: dkim?.domain ?? '',
    selector: dkim?.selector ?? '',
    return_path_domain: sender?.return_path_domain ?? '',
    tracking_url: sender?.tracking_url ?? '',
    per_second: String(limits?.per_second ?? ''),
    per_day: String(limits?.per_day ?? ''),
    connections: String(limits?.connections ?? ''),
    messages_per_connection: String(limits?.messages_per_connection ?? ''),
  }
}

type SenderChanges = AskedOf<'PATCH', '/core-services/v1/senders/:sender_id'>['body']
type NewSender = AskedOf<'POST', '/core-services/v1/senders'>['body']

export function toNewSender(values: SenderValues, { password, private_key }: SenderSecrets): NewSender {
  const { name, from_email, from_name, host, port, security, domain, selector } = values
  return {
    ...toChangedSender(values, NO_SECRETS),
    name,
    from_email,
    from_name,
    smtp: {
      host,
      port: toNumber(port),
      security,
      ...(values.username !== '' && { username: values.username }),
      ...(password !== '' && { password }),
    },
    dkim: values.isSigned ? { domain, selector, private_key } : null,
  }
}

/** The members that the values change, and the secrets that were typed. */
export function toChangedSender(changes: Partial<SenderValues>, secrets: SenderSecrets): SenderChanges {
  const { name, from_email, from_name, isSigned, ...others } = changes
  const smtp = {
    ...(others.host !== undefined && { host: others.host }),
    ...(others.port !== undefined && { port: toNumber(others.port) }),
    ...(others.security !== undefined && { security: others.security }),
    ...(others.username !== undefined && { username: toNullable(others.username) }),
    ...(secrets.password !== '' && { password: secrets.password }),
  }
  const dkim = {
    ...(others.domain !== undefined && { domain: others.domain }),
    ...(others.selector !== undefined && { selector: others.selector }),
    ...(secrets.private_key !== '' && { private_key: secrets.private_key }),
  }
  const limits = Object.fromEntries(
    LIMITS.filter((limit) => others[limit] !== undefined).map((limit) => [limit, toLimit(others[limit] ?? '')]),
  )
  const optional = OPTIONAL.filter((member) => others[member] !== undefined)
  return {
    ...(name !== undefined && { name }),
    ...(from_email !== undefined && { from_email }),
    ...(from_name !== undefined && { from_name }),
    ...Object.fromEntries(optional.map((member) => [member, toNullable(others[member] ?? '')])),
    ...(Object.keys(smtp).length > 0 && { smtp }),
    ...(isSigned === false ? { dkim: null } : Object.keys(dkim).length > 0 && { dkim }),
    ...(Object.keys(limits).length > 0 && { limits }),
  }
}

const LIMITS = ['per_second', 'per_day', 'connections', 'messages_per_connection'] as const
const OPTIONAL = ['reply_to', 'return_path_domain', 'tracking_url'] as const

function toNullable(text: string): string | null {
  return text.trim() === '' ? null : text
}

/** Null: the default. */
function toLimit(text: string): number | null {
  return text.trim() === '' ? null : toNumber(text)
}

/** What is no number is sent as it is, so that the server says so beside the field. */
function toNumber(text: string): number {
  const number = Number(text)
  return text.trim() === '' || Number.isNaN(number) ? (text as unknown as number) : number
}
