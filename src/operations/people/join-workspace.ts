// Join workspace: uses an invitation up for the person who is signed in. An invitation alone would not do: who has the account need not
// be whom the owner of the workspace gave the link to.
import { AppError } from '../../core/app-error.ts'
import { roleIn } from '../../core/accounts/person.ts'
import { normalizeEmail } from '../../core/users/email-address.ts'
import { giveRole } from '../../actions/accounts/change-roles.ts'
import { hashToken } from '../../actions/accounts/secret-token.ts'
import { takeAccessLink } from '../../store/accounts/access-links.ts'
import { lockPeople } from '../../store/accounts/people.ts'
import { listGrants } from '../../store/accounts/person-roles.ts'
import { NoFields, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { personOf, requireCaller } from '../accounts/person-of.ts'
import { LinkToken, noSuchLink, requireAccessLink } from '../accounts/require-access-link.ts'
import { readSessionBody, SessionOutput } from '../accounts/session-body.ts'

export const joinWorkspace = defineOperation({
  name: 'join_workspace',
  summary: 'Join a workspace',
  description:
    'Uses an invitation up for the person who is signed in, who gets its role. The invitation must be for the address of their ' +
    'account. Somebody who has no account uses `POST /v1/access-links/accept`.',
  group: 'People and sessions',
  method: 'POST',
  url: '/v1/access-links/join',
  requires: 'session',
  takesAppKey: false,
  limits: [],
  path: NoFields,
  query: NoFields,
  body: Strict({ token: LinkToken }),
  example: { token: 'k3Xv…' },
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: SessionOutput,
  async handle({ body, credential, now, isSecure }, { database }) {
    const { sessionId, personId } = personOf(credential)
    await database.write(async (store) => {
      await lockPeople(store)
      const person = await requireCaller(store, credential)
      const { kind, email, role, workspaceId } = await requireAccessLink(store, body.token, now)
      if (kind !== 'invitation' || email === null || role === null || workspaceId === null) throw noSuchLink()
      if (normalizeEmail(email) !== normalizeEmail(person.email)) {
        throw new AppError('forbidden', 'The invitation is for a different email address.')
      }
      if (roleIn(await listGrants(store, person.number), workspaceId)) {
        throw new AppError('conflict', 'You already have a role in this workspace.')
      }
      // Somebody may have taken the invitation back since it was read.
      if (!(await takeAccessLink(store, hashToken(body.token)))) throw noSuchLink()
      await giveRole(store, person, { workspaceId, role })
    })
    return readSessionBody(database, { sessionId, personId, isSecure })
  },
})
