// Invite person: makes a link with which somebody gets a role in the workspace, and creates an account if they have none.
import { recordChange } from '../../actions/audit/record-change.ts'
import { Type } from 'typebox'
import { AppError, type Fault } from '../../core/app-error.ts'
import { INVITATIONS_MAX } from '../../core/accounts/access-link.ts'
import { personEmailProblem, roleIn } from '../../core/accounts/person.ts'
import { ROLES } from '../../core/accounts/role.ts'
import { toIso } from '../../core/time-value.ts'
import { EMAIL_LENGTH_MAX } from '../../core/users/email-address.ts'
import { makeAccessLink } from '../../actions/accounts/access-links.ts'
import { listInvitations } from '../../store/accounts/access-links.ts'
import { findPersonByEmail, lockPeople } from '../../store/accounts/people.ts'
import { listGrants } from '../../store/accounts/person-roles.ts'
import { IsoTime, NoFields, OneOf, Strict, Text, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'

export const invitePerson = defineOperation({
  name: 'invite_person',
  summary: 'Invite a person',
  description:
    'Returns a link with which somebody gets the role in the workspace. Give it to them yourself: Tidings sends no mail here. ' +
    'They create an account with it or, if the address has one, sign in and join. The link works once, for seven days, and ' +
    'replaces an earlier one for the same address.',
  group: 'People and sessions',
  method: 'POST',
  url: '/v1/workspaces/:Workspace_ID/people',
  requires: 'people.write',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: NoFields,
  body: Strict({ email: Text(1, EMAIL_LENGTH_MAX), role: OneOf(ROLES) }),
  example: { email: 'grace@example.com', role: 'marketer' },
  faults: ({ body }) => emailFaults(body?.email),
  refusals: ['conflict'],
  successStatus: 201,
  output: Type.Object({
    path: Type.String({ description: 'The link, to be put behind the address of the server. A secret.' }),
    expires_at: IsoTime,
  }),
  async handle(request, { database }) {
    const { workspace, body, now } = request
    const { email, role } = body
    const workspaceId = workspace.id
    return database.write(async (store) => {
      await lockPeople(store)
      const person = await findPersonByEmail(store, email)
      if (person && roleIn(await listGrants(store, person.number), workspaceId)) {
        throw new AppError('conflict', 'This person already has a role in the workspace.')
      }
      const link = await makeAccessLink(store, { kind: 'invitation', email, role, workspaceId, now })
      if ((await listInvitations(store, workspaceId, now)).length > INVITATIONS_MAX) {
        throw new AppError('conflict', `A workspace has at most ${INVITATIONS_MAX} open invitations.`)
      }
      const bodies = { before: undefined, after: { invited_as: role } }
      await recordChange(store, request, { kind: 'person', id: email, name: email, action: 'invite_person', ...bodies })
      return { path: link.path, expires_at: toIso(link.expiresAt) }
    })
  },
})

function emailFaults(email: string | undefined): Fault[] {
  const problem = email === undefined ? undefined : personEmailProblem(email)
  return problem === undefined ? [] : [{ field: 'email', problem }]
}
