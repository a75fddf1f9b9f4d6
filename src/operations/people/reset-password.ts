// Reset password: makes a link with which a person chooses a new password.
import { recordChange } from '../../actions/audit/record-change.ts'
import { Type } from 'typebox'
import { AppError } from '../../core/app-error.ts'
import { roleIn } from '../../core/accounts/person.ts'
import { toIso } from '../../core/time-value.ts'
import { makeAccessLink } from '../../actions/accounts/access-links.ts'
import { lockPeople } from '../../store/accounts/people.ts'
import { listGrants } from '../../store/accounts/person-roles.ts'
import { requireCaller } from '../accounts/person-of.ts'
import { IsoTime, NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { MemberPath, requireMember, subjectOf } from './require-member.ts'

export const resetPassword = defineOperation({
  name: 'reset_password',
  summary: 'Let a person choose a new password',
  description:
    'Returns a link with which the person chooses a new password. It works once, for 30 minutes, and not after the person has ' +
    'got another role or changed the password. You must be an owner wherever the person has a role: otherwise the link would let ' +
    'you into workspaces that are not yours.',
  group: 'People and sessions',
  method: 'POST',
  url: '/v1/workspaces/:Workspace_ID/people/:person_id/reset',
  requires: 'people.write',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: MemberPath,
  query: NoFields,
  body: null,
  refusals: ['not_found', 'conflict'],
  successStatus: 201,
  output: Type.Object({
    path: Type.String({ description: 'The link, to be put behind the address of the server. A secret.' }),
    expires_at: IsoTime,
  }),
  async handle(request, { database }) {
    const { workspace, path, credential, now } = request
    const link = await database.write(async (store) => {
      await lockPeople(store)
      const { person, grants } = await requireMember(store, workspace.id, path.person_id)
      const caller = await requireCaller(store, credential)
      if (person.number === caller.number) {
        throw new AppError('conflict', 'This is your own account. Use your current password to choose a new one.')
      }
      const own = await listGrants(store, caller.number)
      if (grants.some(({ workspaceId }) => roleIn(own, workspaceId) !== 'owner')) {
        throw new AppError('conflict', 'This person has a role in a workspace that you do not own. Ask its owner.')
      }
      const wanted = { kind: 'reset', email: person.email, role: null, workspaceId: null, now } as const
      const made = await makeAccessLink(store, wanted)
      const bodies = {
        before: { reset_link_expires_at: null },
        after: { reset_link_expires_at: toIso(made.expiresAt) },
      }
      await recordChange(store, request, { ...subjectOf({ person }), action: 'reset_password', ...bodies })
      return made
    })
    return { path: link.path, expires_at: toIso(link.expiresAt) }
  },
})
