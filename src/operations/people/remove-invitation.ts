// Remove invitation: the link of an invitation stops working.
import { recordChange } from '../../actions/audit/record-change.ts'
import { AppError } from '../../core/app-error.ts'
import { EMAIL_LENGTH_MAX } from '../../core/users/email-address.ts'
import { removeAccessLinks } from '../../store/accounts/access-links.ts'
import { NoFields, Strict, Text, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'

export const removeInvitation = defineOperation({
  name: 'remove_invitation',
  summary: 'Revoke an invitation',
  description: 'The link of the invitation stops working.',
  group: 'People and sessions',
  method: 'DELETE',
  url: '/v1/workspaces/:Workspace_ID/invitations/:email',
  requires: 'people.write',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: Strict({ ...WorkspacePath.properties, email: Text(1, EMAIL_LENGTH_MAX, 'Whom the invitation is for.') }),
  query: NoFields,
  body: null,
  refusals: ['not_found'],
  successStatus: 204,
  output: null,
  async handle(request, { database }) {
    const { workspace, path } = request
    const { email } = path
    await database.write(async (store) => {
      const removed = await removeAccessLinks(store, { kind: 'invitation', email, workspaceId: workspace.id })
      if (removed === 0) throw new AppError('not_found', 'No invitation is open for this address.')
      const bodies = { before: { is_invited: true }, after: undefined }
      await recordChange(store, request, {
        kind: 'person',
        id: email,
        name: email,
        action: 'remove_invitation',
        ...bodies,
      })
    })
  },
})
