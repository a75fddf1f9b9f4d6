// A change of a template, as the audit trail records it.
import type { RecordedChange } from '../../actions/audit/record-change.ts'
import type { CurrentTemplate } from '../../core/templates/template.ts'
import { toIso } from '../../core/time-value.ts'
import { toDetailsBody } from './template-body.ts'

/** At least one. Without `before` the template is new, without `after` it is deleted. */
interface TemplateStates {
  readonly before?: CurrentTemplate | undefined
  readonly after?: CurrentTemplate | undefined
}

export function toTemplateChange(action: string, { before, after }: TemplateStates): RecordedChange {
  const { externalTemplateId: id, meta } = ((after ?? before) as CurrentTemplate).latest
  return { kind: 'template', id, name: meta.templateName, action, before: toBody(before), after: toBody(after) }
}

function toBody(template: CurrentTemplate | undefined) {
  if (!template) return null
  const { latest, archivedAt } = template
  const { details, meta } = latest
  return {
    version: latest.version,
    updated_by: latest.updatedBy,
    archived_at: archivedAt === null ? null : toIso(archivedAt),
    basic_details: toDetailsBody(details),
    meta_info: {
      template_id: meta.templateId,
      template_name: meta.templateName,
      template_version: meta.templateVersion,
      template_type: meta.templateType,
      created_by: meta.createdBy,
      group_id: meta.groupId,
      locale: meta.locale,
      variation: meta.variation,
    },
  }
}
