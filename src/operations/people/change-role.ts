// Change role: gives a person another role in the workspace.
import { recordChange } from '../../actions/audit/record-change.ts'
import { ROLES } from '../../core/accounts/role.ts'
import { giveRole } from '../../actions/accounts/change-roles.ts'
import { lockPeople } from '../../store/accounts/people.ts'
import { NoFields, OneOf, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { MemberPath, PersonIdOutput, refuseRoleEverywhere, requireMember, subjectOf } from './require-member.ts'

export const changeRole = defineOperation({
  name: 'change_role',
  summary: 'Change the role of a person',
  description:
    'Gives a person another role in the workspace, from their next request on. A workspace always keeps an owner.',
  group: 'People and sessions',
  method: 'PATCH',
  url: '/v1/workspaces/:Workspace_ID/people/:person_id',
  requires: 'people.write',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: MemberPath,
  query: NoFields,
  body: Strict({ role: OneOf(ROLES) }),
  example: { role: 'analyst' },
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: PersonIdOutput,
  async handle(request, { database }) {
    const { workspace, path, body } = request
    await database.write(async (store) => {
      await lockPeople(store)
      const member = await requireMember(store, workspace.id, path.person_id)
      refuseRoleEverywhere(member)
      await giveRole(store, member.person, { workspaceId: workspace.id, role: body.role })
      const bodies = { before: { role: member.role }, after: { role: body.role } }
      await recordChange(store, request, { ...subjectOf(member), action: 'change_role', ...bodies })
    })
    return { person_id: path.person_id }
  },
})
