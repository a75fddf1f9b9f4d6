// Restore email template: shows an archived template in searches again.
import { AppError } from '../../core/app-error.ts'
import type { Store } from '../../store/store.ts'
import {
  findTemplates,
  lockTemplates,
  saveTemplateArchivedAt,
  type FoundTemplate,
} from '../../store/templates/templates.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireTemplate, TemplatePath } from './require-template.ts'

export const restoreTemplate = defineOperation({
  name: 'restore_template',
  summary: 'Restore email template',
  description:
    'Shows an archived template in searches again. If the default template of its group is archived, restore that first: ' +
    '409 before. Restoring a template that is not archived changes nothing. Needs no body.',
  group: 'Email templates',
  method: 'PUT',
  url: '/v1.0/custom-templates/email/:external_template_id/restore',
  requires: 'data',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: TemplatePath,
  query: NoFields,
  body: null,
  refusals: ['not_found', 'conflict'],
  successStatus: 204,
  output: null,
  async handle({ workspace, path }, { database }) {
    await database.write(async (store) => {
      await lockTemplates(store, workspace.id)
      const template = await requireTemplate(store, workspace, path.external_template_id)
      await refuseArchivedGroup(store, workspace.id, template)
      await saveTemplateArchivedAt(store, workspace.id, { id: template.externalTemplateId, archivedAt: null })
    })
  },
})

async function refuseArchivedGroup(store: Store, workspaceId: string, { role, groupId }: FoundTemplate): Promise<void> {
  if (role !== 'child' || groupId === null) return
  const [parent] = await findTemplates(store, workspaceId, [groupId])
  if (!parent || parent.archivedAt === null) return
  throw new AppError('conflict', `The default template of its group, ${groupId}, is archived. Restore that first.`)
}
