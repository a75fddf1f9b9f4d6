// Remove person: takes the role in the workspace away. Somebody without any other role loses the account.
import { recordChange } from '../../actions/audit/record-change.ts'
import { takeRole } from '../../actions/accounts/change-roles.ts'
import { lockPeople } from '../../store/accounts/people.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { MemberPath, refuseRoleEverywhere, requireMember, subjectOf } from './require-member.ts'

export const removePerson = defineOperation({
  name: 'remove_person',
  summary: 'Remove a person from the workspace',
  description:
    'Takes the role in the workspace away, from the next request on. Somebody who has no role in another workspace loses the ' +
    'account and its sessions. A workspace always keeps an owner.',
  group: 'People and sessions',
  method: 'DELETE',
  url: '/v1/workspaces/:Workspace_ID/people/:person_id',
  requires: 'people.write',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: MemberPath,
  query: NoFields,
  body: null,
  refusals: ['not_found', 'conflict'],
  successStatus: 204,
  output: null,
  async handle(request, { database }) {
    const { workspace, path } = request
    await database.write(async (store) => {
      await lockPeople(store)
      const member = await requireMember(store, workspace.id, path.person_id)
      refuseRoleEverywhere(member)
      await takeRole(store, member.person, workspace.id)
      const bodies = { before: { role: member.role }, after: undefined }
      await recordChange(store, request, { ...subjectOf(member), action: 'remove_person', ...bodies })
    })
  },
})
