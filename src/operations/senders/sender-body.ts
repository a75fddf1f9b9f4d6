// Senders on the wire ("Senders"): schemas of the members in requests and responses, and conversion from and to the inner form.
import { Type, type Static, type TObject } from 'typebox'
import { LINKS_BASE_LENGTH_MAX } from '../../core/delivery/links-base.ts'
import { SENDER_LIMIT_DEFAULTS, SENDER_LIMITS_MAX, SMTP_SECURITIES } from '../../core/senders/sender.ts'
import { EMAIL_LENGTH_MAX } from '../../core/users/email-address.ts'
import { toIso } from '../../core/time-value.ts'
import type { SenderChanges } from '../../actions/senders/sender-changes.ts'
import type { StoredSender } from '../../store/senders/senders.ts'
import { Content, IsoTime, Nullable, NullableText, OneOf, Strict, Text } from '../fields.ts'
import { IfUpdatedAt } from '../if-updated-at.ts'
import type { Partially } from '../operation.ts'
import { WarningsOutput } from '../warnings.ts'

const NAME_LENGTH_MAX = 256
const DOMAIN_LENGTH_MAX = 253
const SELECTOR_LENGTH_MAX = 128
const CREDENTIAL_LENGTH_MAX = 1_024
const PRIVATE_KEY_LENGTH_MAX = 16_384
const PORT_MAX = 65_535
const PATH_ID_LENGTH_MAX = 256

export const SenderPath = Strict({
  sender_id: Text(1, PATH_ID_LENGTH_MAX, 'The sender id.'),
})

const SmtpInput = Strict({
  host: Text(1, DOMAIN_LENGTH_MAX, 'A host name or an IP address.'),
  port: Type.Integer({ minimum: 1, maximum: PORT_MAX }),
  security: OneOf(
    SMTP_SECURITIES,
    '`tls`: from the first byte on. `starttls`: required. `none`: plain text, only to a server on the same machine ' +
      'unless the operator allows others.',
  ),
  username: Type.Optional(NullableContent('Null: Tidings does not authenticate.')),
  password: Type.Optional(NullableContent('Stored encrypted, and never answered.')),
})

const DkimInput = Strict({
  domain: Text(1, DOMAIN_LENGTH_MAX, 'The domain that signs.'),
  selector: Text(1, SELECTOR_LENGTH_MAX, 'The name of the key in DNS: SELECTOR._domainkey.DOMAIN.'),
  private_key: Content(
    1,
    PRIVATE_KEY_LENGTH_MAX,
    'An RSA or Ed25519 private key in PEM. Stored encrypted, and never answered.',
  ),
})

const LimitsInput = Strict({
  per_second: Type.Optional(limitInput('perSecond', 'Messages in any second')),
  per_day: Type.Optional(limitInput('perDay', 'Messages on a UTC day')),
  connections: Type.Optional(limitInput('connections', 'Connections at the same time')),
  messages_per_connection: Type.Optional(limitInput('messagesPerConnection', 'Messages on one connection')),
})

const required = {
  name: Text(1, NAME_LENGTH_MAX, 'Name of the sender, for people who choose one.'),
  from_email: Text(1, EMAIL_LENGTH_MAX, 'The address that recipients see.'),
  from_name: Text(1, NAME_LENGTH_MAX, 'The name that recipients see, unless the template has one.'),
}

const optional = {
  reply_to: Type.Optional(NullableText(1, EMAIL_LENGTH_MAX, 'Where answers go. Null: to `from_email`.')),
  return_path_domain: Type.Optional(
    NullableText(
      1,
      DOMAIN_LENGTH_MAX,
      'The domain of envelope senders, which bounces are sent to. Null: bounces go to `from_email`.',
    ),
  ),
  limits: Type.Optional(LimitsInput),
  tracking_url: Type.Optional(
    NullableText(1, LINKS_BASE_LENGTH_MAX, 'The base of links in messages, in place of the PUBLIC_URL of the server.'),
  ),
}

export const SenderInput = Strict({
  ...required,
  smtp: SmtpInput,
  dkim: Type.Optional(orNull(DkimInput, 'Null: Tidings does not sign.')),
  ...optional,
})

const changeable = {
  name: Type.Optional(required.name),
  from_email: Type.Optional(required.from_email),
  from_name: Type.Optional(required.from_name),
  smtp: Type.Optional(Type.Partial(SmtpInput, { additionalProperties: false })),
  dkim: Type.Optional(
    orNull(
      Type.Partial(DkimInput, { additionalProperties: false }),
      'The members to change. Null: Tidings does not sign any more.',
    ),
  ),
  ...optional,
}
export const CHANGEABLE_SENDER_MEMBERS = Object.keys(changeable)
export const SenderChangesInput = Type.Object(
  { ...changeable, if_updated_at: Type.Optional(IfUpdatedAt) },
  { additionalProperties: false, minProperties: 1 },
)

export const SenderOutput = Type.Object({
  sender_id: Type.String({ description: 'Identifies the sender in paths and in campaigns.' }),
  name: Type.String(),
  from_email: Type.String(),
  from_name: Type.String(),
  reply_to: Nullable(Type.String()),
  return_path_domain: Nullable(Type.String()),
  smtp: Type.Object({
    host: Type.String(),
    port: Type.Integer(),
    security: OneOf(SMTP_SECURITIES),
    username: Nullable(Type.String()),
    has_password: Type.Boolean({ description: 'Whether a password is stored.' }),
  }),
  dkim: Nullable(
    Type.Object({
      domain: Type.String(),
      selector: Type.String(),
      has_private_key: Type.Boolean({ description: 'Whether a private key is stored.' }),
    }),
  ),
  limits: Type.Object({
    per_second: Type.Integer(),
    per_day: Nullable(Type.Integer()),
    connections: Type.Integer(),
    messages_per_connection: Type.Integer(),
  }),
  tracking_url: Nullable(Type.String()),
  created_at: IsoTime,
  updated_at: IsoTime,
})

/** The answer to a request that wrote a sender. */
export const WrittenSenderOutput = Type.Object({ ...SenderOutput.properties, warnings: WarningsOutput })

export function toSenderBody(sender: StoredSender): Static<typeof SenderOutput> {
  const { smtp, dkim, limits } = sender
  return {
    sender_id: sender.id,
    name: sender.name,
    from_email: sender.fromEmail,
    from_name: sender.fromName,
    reply_to: sender.replyTo,
    return_path_domain: sender.returnPathDomain,
    smtp: {
      host: smtp.host,
      port: smtp.port,
      security: smtp.security,
      username: smtp.username,
      has_password: sender.sealedPassword !== null,
    },
    dkim: dkim && { domain: dkim.domain, selector: dkim.selector, has_private_key: sender.sealedDkimKey !== null },
    limits: {
      per_second: limits.perSecond,
      per_day: limits.perDay,
      connections: limits.connections,
      messages_per_connection: limits.messagesPerConnection,
    },
    tracking_url: sender.trackingUrl,
    created_at: toIso(sender.createdAt),
    updated_at: toIso(sender.updatedAt),
  }
}

/** Also for a body in which members are at fault: these are undefined. */
export function toSenderChanges(body: Partially<Static<typeof SenderChangesInput>> = {}): SenderChanges {
  const { smtp, dkim, limits } = body
  return {
    name: body.name,
    fromEmail: body.from_email,
    fromName: body.from_name,
    replyTo: body.reply_to,
    returnPathDomain: body.return_path_domain,
    smtp,
    dkim: dkim && { domain: dkim.domain, selector: dkim.selector, privateKey: dkim.private_key },
    limits: limits && {
      perSecond: limits.per_second,
      perDay: limits.per_day,
      connections: limits.connections,
      messagesPerConnection: limits.messages_per_connection,
    },
    trackingUrl: body.tracking_url,
  }
}

function NullableContent(description: string) {
  return Type.Unsafe<string | null>({
    type: ['string', 'null'],
    minLength: 1,
    maxLength: CREDENTIAL_LENGTH_MAX,
    format: 'content',
    description,
  })
}

function limitInput(name: keyof typeof SENDER_LIMITS_MAX, what: string) {
  return Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    minimum: 1,
    maximum: SENDER_LIMITS_MAX[name],
    description: `${what}. Null, and by default: ${SENDER_LIMIT_DEFAULTS[name] ?? 'no limit'}.`,
  })
}

function orNull<Schema extends TObject>(schema: Schema, description: string) {
  return Type.Unsafe<Static<Schema> | null>({ ...schema, type: ['object', 'null'], description })
}
