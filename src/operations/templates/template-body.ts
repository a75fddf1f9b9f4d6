// Email templates in responses: with all that a version holds, or as lists show them, without content.
import { Type, type Static } from 'typebox'
import {
  TEMPLATE_SOURCES,
  type TemplateDetails,
  type TemplateMeta,
  type TemplateVersion,
} from '../../core/templates/template.ts'
import { toIso } from '../../core/time-value.ts'
import type { ListedTemplate } from '../../store/templates/template-list.ts'
import type { FoundTemplate, GroupCounts } from '../../store/templates/templates.ts'
import { IsoTime, OneOf } from '../fields.ts'
import { BasicDetails, MetaInfo } from './template-fields.ts'

const Count = Type.Optional(Type.Integer({ description: 'In grouped responses, for default templates.' }))

const OUTPUT_FIELDS = {
  external_template_id: Type.String({
    description: 'Id of the template. For a default template, also the id of its group.',
  }),
  version: Type.Integer(),
  updated_at: IsoTime,
  updated_by: Type.String(),
  archived_at: Type.Optional(
    Type.String({ format: 'date-time', description: 'Absent if the template is not archived.' }),
  ),
  is_default_template_of_group: Type.Optional(Type.Boolean({ description: 'Absent if the template is in no group.' })),
  meta_info: Type.Object({
    ...MetaInfo.properties,
    group_id: Type.Optional(MetaInfo.properties.group_id),
    locale: Type.Optional(MetaInfo.properties.locale),
    variation: Type.Optional(MetaInfo.properties.variation),
  }),
}

export const TemplateOutput = Type.Object({
  ...OUTPUT_FIELDS,
  created_at: IsoTime,
  unique_locale_count: Count,
  unique_variation_count: Count,
  total_templates_in_group: Count,
  basic_details: BasicDetails,
})

export const ListedTemplateOutput = Type.Object({
  ...OUTPUT_FIELDS,
  template_source: OneOf(TEMPLATE_SOURCES, 'Where the template was created.'),
  basic_details: Type.Object({ subject: BasicDetails.properties.subject }),
})

/** `counts`: those of its group, in grouped responses. */
export function toTemplateBody(
  { externalTemplateId, version, details, meta, ...made }: TemplateVersion,
  found: FoundTemplate,
  counts: GroupCounts | undefined,
): Static<typeof TemplateOutput> {
  return {
    external_template_id: externalTemplateId,
    version,
    created_at: toIso(made.createdAt),
    updated_at: toIso(made.updatedAt),
    updated_by: made.updatedBy,
    ...toGroupMembers(meta, found),
    ...(counts && {
      unique_locale_count: counts.locales,
      unique_variation_count: counts.variations,
      total_templates_in_group: counts.templates,
    }),
    basic_details: toDetailsBody(details),
    meta_info: toMetaBody(meta, found),
  }
}

export function toDetailsBody(details: TemplateDetails): Static<typeof TemplateOutput>['basic_details'] {
  return {
    email_content: details.emailContent,
    subject: details.subject,
    attachments: [...details.attachments],
    thumbnail_url: details.thumbnailUrl,
    sender_name: details.senderName,
  }
}

export function toListedBody(template: ListedTemplate, subject: string): Static<typeof ListedTemplateOutput> {
  const { externalTemplateId, version, meta, source, updatedAt, updatedBy } = template
  return {
    external_template_id: externalTemplateId,
    version,
    updated_at: toIso(updatedAt),
    updated_by: updatedBy,
    ...toGroupMembers(meta, template),
    template_source: source,
    basic_details: { subject },
    meta_info: toMetaBody(meta, template),
  }
}

function toGroupMembers(meta: TemplateMeta, found: FoundTemplate) {
  const { archivedAt } = found
  return {
    ...(archivedAt !== null && { archived_at: toIso(archivedAt) }),
    ...(groupOf(meta, found) !== null && { is_default_template_of_group: isDefault(meta, found) }),
  }
}

function toMetaBody(meta: TemplateMeta, found: FoundTemplate): Static<typeof TemplateOutput>['meta_info'] {
  const groupId = groupOf(meta, found)
  return {
    template_id: meta.templateId,
    template_name: meta.templateName,
    template_version: meta.templateVersion,
    created_by: meta.createdBy,
    template_type: meta.templateType,
    ...(groupId !== null && { group_id: groupId }),
    ...(meta.locale !== null && { locale: meta.locale }),
    ...(meta.variation !== null && { variation: meta.variation }),
  }
}

function isDefault(meta: TemplateMeta, { role }: FoundTemplate): boolean {
  return meta.groupId === null && role === 'default'
}

/** The parent that the version names, or the template itself if it is the default of a group. */
function groupOf(meta: TemplateMeta, found: FoundTemplate): string | null {
  return isDefault(meta, found) ? found.externalTemplateId : meta.groupId
}
