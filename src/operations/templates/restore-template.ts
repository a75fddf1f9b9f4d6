// Restore email template: shows an archived template in searches again.
import { recordChange } from '../../actions/audit/record-change.ts'
import { AppError } from '../../core/app-error.ts'
import type { Store } from '../../store/store.ts'
import { findTemplates, lockTemplates, saveTemplateArchivedAt } from '../../store/templates/templates.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireCurrentTemplate, TemplatePath } from './require-template.ts'
import { toTemplateChange } from './template-change.ts'

export const restoreTemplate = defineOperation({
  name: 'restore_template',
  summary: 'Restore email template',
  description:
    'Shows an archived template in searches again. If the default template of its group is archived, restore that first: ' +
    '409 before. Restoring a template that is not archived changes nothing. Needs no body.',
  group: 'Email templates',
  method: 'PUT',
  url: '/v1.0/custom-templates/email/:external_template_id/restore',
  requires: 'templates.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: TemplatePath,
  query: NoFields,
  body: null,
  refusals: ['not_found', 'conflict'],
  successStatus: 204,
  output: null,
  async handle(request, { database }) {
    const { workspace, path } = request
    await database.write(async (store) => {
      await lockTemplates(store, workspace.id)
      const before = await requireCurrentTemplate(store, workspace, path.external_template_id)
      const { externalTemplateId: id, meta } = before.latest
      await refuseArchivedGroup(store, workspace.id, meta.groupId)
      await saveTemplateArchivedAt(store, workspace.id, { id, archivedAt: null })
      const states = { before, after: { ...before, archivedAt: null } }
      await recordChange(store, request, toTemplateChange('restore_template', states))
    })
  },
})

async function refuseArchivedGroup(store: Store, workspaceId: string, groupId: string | null): Promise<void> {
  if (groupId === null) return
  const [parent] = await findTemplates(store, workspaceId, [groupId])
  if (!parent || parent.archivedAt === null) return
  throw new AppError('conflict', `The default template of its group, ${groupId}, is archived. Restore that first.`)
}
