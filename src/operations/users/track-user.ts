// Track User: accepts what is known of one user, durably, and leaves everything else to the pipeline.
import { Type, type Static } from 'typebox'
import { NAME_LENGTH_MAX } from '../../core/attributes.ts'
import { countedAttributes, userAttributeFaults } from '../../core/users/user-attributes.ts'
import { USER_ATTRIBUTES_LENGTH_MAX, userKey, userReferenceFaults } from '../../core/users/user.ts'
import type { Workspace } from '../../core/workspace.ts'
import { accept } from '../accept.ts'
import { protectEmail } from './email-protection.ts'
import { AcceptedOutput, ATTRIBUTE_NUMBERS, TrackedCustomerId, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'

function TextOrNull(description: string) {
  return Type.Unsafe<string | null>({
    type: ['string', 'null'],
    maxLength: NAME_LENGTH_MAX,
    format: 'text',
    description,
  })
}

const UserAttributes = Type.Object(
  {
    email: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        description:
          'An email address; null clears it, an empty text changes nothing. Only this name, in small letters, is the ' +
          "user's address, which a workspace may have tokenized or encrypted: other attributes are kept as they are sent.",
      }),
    ),
    mobile: Type.Optional(
      Type.Unsafe<string | number | null>({
        type: ['string', 'integer', 'null'],
        maxLength: NAME_LENGTH_MAX,
        format: 'text',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'A telephone number; a whole number is kept as its text.',
      }),
    ),
    locale: Type.Optional(TextOrNull('A language or locale, such as `de` or `pt-BR`.')),
    timezone: Type.Optional(TextOrNull('An IANA time zone, such as `Europe/Berlin`; an empty text changes nothing.')),
  },
  {
    additionalProperties: true,
    description:
      'What is known of the user. Besides the attributes named here any name/value pairs, up to 500, nested up to ' +
      '10 levels. Names must not start with `svc_`. Attributes that are not sent stay as they are. All of one ' +
      `user take ${USER_ATTRIBUTES_LENGTH_MAX / 1024 ** 2} Mi characters of JSON: what does not fit is not kept, and what ` +
      `became of the request says so. ${ATTRIBUTE_NUMBERS}`,
  },
)

export const trackUser = defineOperation({
  name: 'track_user',
  summary: 'Track User',
  description:
    'Creates or updates one user. Answered once the request is durable; processed within a second. Of each attribute ' +
    'the value received last wins. Where the workspace tokenizes emails, `email` is dropped and never written; where ' +
    'it encrypts them, the address is written only sealed. Unknown fields are ignored.',
  group: 'Events and users',
  method: 'POST',
  isFrequent: true,
  url: '/v1/customer/:Workspace_ID',
  tile: 'data',
  takesAppKey: false,
  takesIdempotencyKey: true,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  // Real clients add parameters of their own to this address.
  query: Type.Object({}),
  // Unknown members are accepted here, as in Track Events.
  body: Type.Object({
    type: Type.Literal('customer'),
    customer_id: Type.Optional(TrackedCustomerId),
    attributes: Type.Optional(
      Type.Unsafe<Static<typeof UserAttributes> | null>({ ...UserAttributes, type: ['object', 'null'] }),
    ),
    user_identifiers: Type.Optional(
      Type.Unknown({ description: 'Configured identifiers as name/value pairs, where identity resolution is on.' }),
    ),
  }),
  example: {
    type: 'customer',
    customer_id: 'customer-1',
    attributes: { email: 'anna@example.com', locale: 'de', timezone: 'Europe/Berlin', plan: 'premium' },
  },
  faults({ workspace, body }) {
    if (!body) return []
    return [
      ...userReferenceFaults(body, workspace.identityResolution),
      ...(body.attributes ? userAttributeFaults(body.attributes) : []),
    ]
  },
  successStatus: 200,
  output: AcceptedOutput,
  async handle(request, parts) {
    const { workspace, body } = request
    const { attributes, sealedEmail } = protectEmail(
      workspace,
      countedAttributes(body.attributes ?? {}),
      parts.emailVault,
    )
    const isProtected = workspace.emailProtection !== 'none'
    return accept(request, parts, {
      kind: 'track_user',
      context: sealedEmail ? { sealedEmail } : {},
      events: 0,
      partitionKey: userKey(workspace, body),
      ...(isProtected && { body: toBytes(workspace, body, attributes) }),
    })
  },
})

/** The body written anew, with only those members that are read, so that no address slips by in a member that nobody reads. */
function toBytes(
  { identityResolution }: Workspace,
  { type, customer_id, user_identifiers }: Readonly<Record<string, unknown>>,
  attributes: object,
): Uint8Array {
  const identifiers = identityResolution.length > 0 ? { user_identifiers } : {}
  return Buffer.from(JSON.stringify({ type, customer_id, ...identifiers, attributes }))
}
