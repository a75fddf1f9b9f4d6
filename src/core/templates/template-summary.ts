// What lists show of a version of an email template without its content: the subject, who made it, and which fields it changed.
import type { Attachment, TemplateDetails, TemplateMeta, TemplateVersion } from './template.ts'

export interface TemplateSummary {
  readonly externalTemplateId: string
  readonly version: number
  readonly subject: string
  readonly updatedAt: number
  readonly updatedBy: string
  /** The fields that differ from the version before, as requests name them; empty for the first version. */
  readonly changed: readonly string[]
}

const DETAILS: { readonly [Member in keyof TemplateDetails]: string } = {
  subject: 'basic_details.subject',
  emailContent: 'basic_details.email_content',
  senderName: 'basic_details.sender_name',
  attachments: 'basic_details.attachments',
  thumbnailUrl: 'basic_details.thumbnail_url',
}

const META: { readonly [Member in keyof TemplateMeta]: string } = {
  templateId: 'meta_info.template_id',
  templateName: 'meta_info.template_name',
  templateVersion: 'meta_info.template_version',
  templateType: 'meta_info.template_type',
  createdBy: 'meta_info.created_by',
  groupId: 'meta_info.group_id',
  locale: 'meta_info.locale',
  variation: 'meta_info.variation',
}

/** `before`: the version before; undefined for the first one. */
export function summarize(made: TemplateVersion, before: TemplateVersion | undefined): TemplateSummary {
  const { externalTemplateId, version, details, updatedAt, updatedBy } = made
  const changed = before
    ? [...changedFields(DETAILS, before.details, details), ...changedFields(META, before.meta, made.meta)]
    : []
  return { externalTemplateId, version, subject: details.subject, updatedAt, updatedBy, changed }
}

function changedFields<Members extends object>(
  fields: { readonly [Member in keyof Members]: string },
  before: Members,
  after: Members,
): string[] {
  const members = Object.keys(fields) as (keyof Members)[]
  return members.filter((member) => !isSame(before[member], after[member])).map((member) => fields[member])
}

function isSame(left: unknown, right: unknown): boolean {
  return left === right || (Array.isArray(left) && Array.isArray(right) && areSameFiles(left, right))
}

/** Their members may stand in another order. */
function areSameFiles(left: readonly Attachment[], right: readonly Attachment[]): boolean {
  return (
    left.length === right.length && left.every(({ name, url }, at) => name === right[at]?.name && url === right[at].url)
  )
}
