// Archive email template: hides a template from searches that do not ask for it.
import { recordChange } from '../../actions/audit/record-change.ts'
import { AppError } from '../../core/app-error.ts'
import { inDigits } from '../../core/in-digits.ts'
import { countMembers, lockTemplates, saveTemplateArchivedAt } from '../../store/templates/templates.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireCurrentTemplate, TemplatePath } from './require-template.ts'
import { toTemplateChange } from './template-change.ts'

export const archiveTemplate = defineOperation({
  name: 'archive_template',
  summary: 'Archive email template',
  description:
    'Hides a template from searches, except those with `include_archived` and those that name it by ' +
    '`external_template_ids` alone. It cannot be updated until it is restored, and keeps its `template_id` and ' +
    '`template_version`. The default template of a group can be archived only after the other templates of the group: ' +
    '409 before. Archiving it again changes nothing. Needs no body.',
  group: 'Email templates',
  method: 'PUT',
  url: '/v1.0/custom-templates/email/:external_template_id/archive',
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
    const { workspace, path, now } = request
    await database.write(async (store) => {
      await lockTemplates(store, workspace.id)
      const before = await requireCurrentTemplate(store, workspace, path.external_template_id)
      const id = before.latest.externalTemplateId
      if (before.archivedAt !== null) return
      const { current } = await countMembers(store, workspace.id, id)
      if (current > 0) throw hasMembers(current)
      await saveTemplateArchivedAt(store, workspace.id, { id, archivedAt: now })
      const states = { before, after: { ...before, archivedAt: now } }
      await recordChange(store, request, toTemplateChange('archive_template', states))
    })
  },
})

function hasMembers(count: number): AppError {
  const others = count === 1 ? 'one template that is' : `${inDigits(count)} templates that are`
  return new AppError(
    'conflict',
    `The template is the default of a group with ${others} not archived. Archive those first.`,
  )
}
