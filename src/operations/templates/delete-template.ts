// Delete email template: removes a template with all its versions while nothing refers to it.
import { recordChange } from '../../actions/audit/record-change.ts'
import { AppError } from '../../core/app-error.ts'
import { inDigits } from '../../core/in-digits.ts'
import { listCampaignsUsing } from '../../store/delivery/deliveries.ts'
import type { Store } from '../../store/store.ts'
import { removeTemplateSummaries } from '../../store/templates/template-summaries.ts'
import { removeTemplateVersions } from '../../store/templates/template-versions.ts'
import { closeGroupIfEmpty, countMembers, lockTemplates, removeTemplate } from '../../store/templates/templates.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireCurrentTemplate, TemplatePath } from './require-template.ts'
import { toTemplateChange } from './template-change.ts'

/** The most campaigns that an error names. */
const NAMED_CAMPAIGNS_MAX = 5

export const deleteTemplate = defineOperation({
  name: 'delete_template',
  summary: 'Delete email template',
  description:
    'Deletes a template and all its versions for good. While other templates, archived or not, have it as their ' +
    '`group_id`, or a campaign that is not over sends it, the response is 409.',
  group: 'Email templates',
  method: 'DELETE',
  url: '/v1.0/custom-templates/email/:external_template_id',
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
      await refuseIfUsed(store, workspace.id, id)
      await removeTemplate(store, workspace.id, id)
      await removeTemplateVersions(store, workspace.id, id)
      await removeTemplateSummaries(store, workspace.id, id)
      if (meta.groupId !== null) await closeGroupIfEmpty(store, workspace.id, meta.groupId)
      await recordChange(store, request, toTemplateChange('delete_template', { before }))
    })
  },
})

/** Throws AppError `conflict` while something refers to the template. */
async function refuseIfUsed(store: Store, workspaceId: string, id: string): Promise<void> {
  const members = await countMembers(store, workspaceId, id)
  if (members.all > 0) throw isGroup(members.all)
  const campaigns = await listCampaignsUsing(store, { workspaceId, kind: 'template', id }, { max: NAMED_CAMPAIGNS_MAX })
  if (campaigns.length > 0) throw isSent(campaigns)
}

function isGroup(count: number): AppError {
  const members = count === 1 ? 'one other template' : `${inDigits(count)} other templates`
  return new AppError(
    'conflict',
    `The template is the group_id of ${members}. Delete those or change their group first.`,
  )
}

function isSent(campaigns: readonly string[]): AppError {
  return new AppError('conflict', `Campaigns that are not over use the template: ${campaigns.join(', ')}.`)
}
