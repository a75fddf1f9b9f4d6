// What one may change of a template, as its form holds it, and what of it a request sends.
import type { AnswerOf, AskedOf } from '../../../data/contracts.ts'

export type TemplateAnswer = AnswerOf<'GET', '/v1.0/custom-templates/email/:external_template_id'>
type CreateBody = AskedOf<'POST', '/v1.0/custom-templates/email'>['body']
type UpdateBody = AskedOf<'PUT', '/v1.0/custom-templates/email'>['body']

export type UpdateParts = Pick<UpdateBody, 'basic_details' | 'meta_info'>

/** '' stands for a group, locale or variation that the template does not have. */
export interface TemplateFields {
  readonly template_name: string
  readonly template_id: string
  readonly template_version: string
  readonly template_type: 'CUSTOM' | 'PRE_BUILT'
  readonly group_id: string
  readonly locale: string
  readonly variation: string
  readonly subject: string
  readonly sender_name: string
  readonly thumbnail_url: string
  readonly attachments: readonly { readonly name: string; readonly url: string }[]
  readonly email_content: string
}

export type FieldName = keyof TemplateFields

/** What somebody changes of a template, and the version that they began with. */
export interface TemplateDraft {
  readonly version: number
  readonly fields: TemplateFields
}

/** The key of that draft on the page of its template. */
export const TEMPLATE_DRAFT = 'template'

/** In the order in which differences are listed. The second member says which part of a body has it. */
export const PART_OF = {
  template_name: 'meta_info',
  template_id: 'meta_info',
  template_version: 'meta_info',
  template_type: 'meta_info',
  group_id: 'meta_info',
  locale: 'meta_info',
  variation: 'meta_info',
  subject: 'basic_details',
  sender_name: 'basic_details',
  thumbnail_url: 'basic_details',
  attachments: 'basic_details',
  email_content: 'basic_details',
} as const satisfies { readonly [name in FieldName]: 'basic_details' | 'meta_info' }

const FIELD_NAMES = Object.keys(PART_OF) as FieldName[]
/** Null takes them away. */
const REMOVABLE: readonly FieldName[] = ['group_id', 'locale', 'variation']

export const NEW_FIELDS: TemplateFields = {
  template_name: '',
  template_id: '',
  template_version: '1.0',
  template_type: 'CUSTOM',
  group_id: '',
  locale: '',
  variation: '',
  subject: '',
  sender_name: '',
  thumbnail_url: '',
  attachments: [],
  email_content: '',
}

/** The default template of a group belongs to it without naming it. */
export function toFields({ basic_details, meta_info, is_default_template_of_group: isDefault }: TemplateAnswer) {
  const { created_by: _createdBy, group_id: group = '', locale = '', variation = '', ...meta } = meta_info
  const fields: TemplateFields = { ...meta, ...basic_details, group_id: isDefault ? '' : group, locale, variation }
  return fields
}

export function toCreateBody(fields: TemplateFields, createdBy: string): CreateBody {
  const { group_id, locale, variation, template_name, template_id, template_version, template_type, ...details } =
    fields
  return {
    basic_details: { ...details, attachments: [...details.attachments] },
    meta_info: {
      template_id,
      template_name,
      template_version,
      template_type,
      created_by: createdBy,
      ...(group_id !== '' && { group_id }),
      ...(locale !== '' && { locale }),
      ...(variation !== '' && { variation }),
    },
  }
}

export function changedFields(before: TemplateFields, after: TemplateFields): FieldName[] {
  return FIELD_NAMES.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
}

/** Only what differs, so that a version of somebody else keeps its other fields. */
export function toUpdateParts(before: TemplateFields, after: TemplateFields): UpdateParts {
  const parts: Record<'basic_details' | 'meta_info', Record<string, unknown>> = { basic_details: {}, meta_info: {} }
  for (const name of changedFields(before, after)) {
    const value = after[name]
    parts[PART_OF[name]][name] = value === '' && REMOVABLE.includes(name) ? null : value
  }
  return parts
}

/** `theirs` with what somebody else changed since `base`. */
export function mergeFields(base: TemplateFields, mine: TemplateFields, theirs: TemplateFields): TemplateFields {
  const changed = changedFields(base, mine).map((name) => [name, mine[name]])
  return { ...theirs, ...(Object.fromEntries(changed) as Partial<TemplateFields>) }
}

/** An id for a new template, made from its name: `welcome-mail`. */
export function idOfName(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/[\u0300-\u036f]/g, '')
  return plain
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
}
