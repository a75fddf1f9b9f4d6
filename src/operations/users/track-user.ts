// Track User: appends the attributes of one user to the log. The pipeline applies them.
import { Type, type Static } from 'typebox'
import { NAME_LENGTH_MAX } from '../../core/attributes.ts'
import { effectiveAttributes, userAttributeFaults, userAttributeWarnings } from '../../core/users/user-attributes.ts'
import {
  USER_ATTRIBUTES_LENGTH_MAX,
  userKey,
  userReferenceFaults,
  userReferenceWarnings,
} from '../../core/users/user.ts'
import type { Workspace } from '../../core/workspace.ts'
import { accept } from '../accept.ts'
import { protectEmail } from '../../actions/email-protection.ts'
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
          'An email address. Null clears it; an empty string changes nothing. Only this attribute, in lower case, is the ' +
          "user's address and may be tokenized or encrypted. Other attributes are stored as sent.",
      }),
    ),
    mobile: Type.Optional(
      Type.Unsafe<string | number | null>({
        type: ['string', 'integer', 'null'],
        maxLength: NAME_LENGTH_MAX,
        format: 'text',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'A telephone number. A whole number is stored as a string.',
      }),
    ),
    locale: Type.Optional(TextOrNull('A language or locale, such as `de` or `pt-BR`.')),
    timezone: Type.Optional(TextOrNull('An IANA time zone, such as `Europe/Berlin`. An empty string changes nothing.')),
  },
  {
    additionalProperties: true,
    description:
      'Attributes of the user: those named here and any other name/value pairs, up to 500, nested up to 10 levels. ' +
      'Names must not start with `svc_`. Attributes you do not send stay unchanged. The attributes of one user can ' +
      `total ${USER_ATTRIBUTES_LENGTH_MAX / 1024 ** 2} Mi characters of JSON. Attributes beyond that are not stored, and ` +
      `the request status says so. ${ATTRIBUTE_NUMBERS}`,
  },
)

export const trackUser = defineOperation({
  name: 'track_user',
  summary: 'Track User',
  description:
    'Creates or updates one user. The server responds once the request is durable and processes it within a second. For ' +
    'each attribute, the value received last wins. If the workspace tokenizes emails, `email` is dropped and never ' +
    'stored. If it encrypts emails, only the encrypted address is stored. Unknown fields are ignored.',
  group: 'Events and users',
  method: 'POST',
  isFrequent: true,
  url: '/v1/customer/:Workspace_ID',
  requires: 'users.write',
  takesAppKey: false,
  takesIdempotencyKey: true,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  // Accepts unknown parameters: real clients add their own.
  query: Type.Object({}),
  // Accepts unknown members, as Track Events does.
  body: Type.Object({
    type: Type.Literal('customer'),
    customer_id: Type.Optional(TrackedCustomerId),
    attributes: Type.Optional(
      Type.Unsafe<Static<typeof UserAttributes> | null>({ ...UserAttributes, type: ['object', 'null'] }),
    ),
    user_identifiers: Type.Optional(
      Type.Unknown({ description: 'Configured identifiers as name/value pairs, if identity resolution is on.' }),
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
      effectiveAttributes(body.attributes ?? {}),
      parts.emailVault,
    )
    const isProtected = workspace.emailProtection !== 'none'
    return accept(request, parts, {
      kind: 'track_user',
      context: sealedEmail ? { sealedEmail } : {},
      events: 0,
      partitionKey: userKey(workspace, body),
      warnings: [
        ...userReferenceWarnings(body, workspace.identityResolution),
        ...userAttributeWarnings(body.attributes ?? {}),
      ],
      ...(isProtected && { body: toBytes(workspace, body, attributes) }),
    })
  },
})

/** Serializes only the members that the pipeline reads, so that no other member can carry an address into the log. */
function toBytes(
  { identityResolution }: Workspace,
  { type, customer_id, user_identifiers }: Readonly<Record<string, unknown>>,
  attributes: object,
): Uint8Array {
  const identifiers = identityResolution.length > 0 ? { user_identifiers } : {}
  return Buffer.from(JSON.stringify({ type, customer_id, ...identifiers, attributes }))
}
