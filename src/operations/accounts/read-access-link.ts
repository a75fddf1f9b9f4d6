// Read access link: says what a link is for, so that a page can ask for what it needs.
import { Type } from 'typebox'
import { ACCESS_LINK_KINDS } from '../../core/accounts/access-link.ts'
import { ROLES } from '../../core/accounts/role.ts'
import { toIso } from '../../core/time-value.ts'
import { findPersonByEmail } from '../../store/accounts/people.ts'
import { IsoTime, NoFields, Nullable, OneOf, Strict } from '../fields.ts'
import { defineOperation, STRANGERS_BODY_BYTES_MAX } from '../operation.ts'
import { LinkToken, requireAccessLink } from './require-access-link.ts'

export const readAccessLink = defineOperation({
  name: 'read_access_link',
  summary: 'Read an access link',
  description:
    'Returns what a link is for: the set-up of the server, an invitation, or a new password. A link works once, and for a ' +
    'limited time. The token is the part of the link after `#`.',
  group: 'People and sessions',
  method: 'POST',
  isReadOnly: true,
  url: '/v1/access-links/read',
  requires: 'nothing',
  takesAppKey: false,
  limits: [],
  path: NoFields,
  query: NoFields,
  bodyBytesMax: STRANGERS_BODY_BYTES_MAX,
  body: Strict({ token: LinkToken }),
  example: { token: 'k3Xv…' },
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({
    kind: OneOf(ACCESS_LINK_KINDS),
    email: Nullable(Type.String({ description: 'Null for the set-up, where the person writes one.' })),
    role: Nullable(OneOf(ROLES)),
    has_account: Type.Boolean({
      description: 'Whether the address has an account: then the person signs in to use an invitation.',
    }),
    workspace_id: Nullable(Type.String({ description: '`*` for every workspace; null for a new password.' })),
    expires_at: IsoTime,
  }),
  async handle({ body, now }, { database }) {
    const { kind, email, role, workspaceId, expiresAt } = await requireAccessLink(database, body.token, now)
    const person = email === null ? undefined : await findPersonByEmail(database, email)
    const has_account = person !== undefined
    return { kind, email, role, has_account, workspace_id: workspaceId, expires_at: toIso(expiresAt) }
  },
})
