// Create email template: stores the first version of a new template.
import { Type, type Static } from 'typebox'
import { v7 as newTemplateId } from 'uuid'
import { recordChange } from '../../actions/audit/record-change.ts'
import {
  firstVersion,
  templateSourceOf,
  type TemplateDetails,
  type TemplateMeta,
} from '../../core/templates/template.ts'
import { checkGroup, saveTemplate } from '../../actions/save-template.ts'
import { findGroupFault, lockTemplates } from '../../store/templates/templates.ts'
import { createOnce } from '../create-once.ts'
import { NoFields, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { toTemplateChange } from './template-change.ts'
import { BasicDetails, MetaInfo, SavedTemplate } from './template-fields.ts'

const NewDetails = Strict({
  ...Type.Partial(BasicDetails).properties,
  email_content: BasicDetails.properties.email_content,
})

const { group_id, locale, variation, template_type, ...identity } = MetaInfo.properties
const NewMeta = Strict({
  ...identity,
  template_type: Type.Optional(template_type),
  group_id: Type.Optional(group_id),
  locale: Type.Optional(locale),
  variation: Type.Optional(variation),
})

export const createTemplate = defineOperation({
  name: 'create_template',
  summary: 'Create email template',
  description:
    'Creates an email template. Searches find it at once. A `template_id` that another template already has with the ' +
    'same `template_version` is rejected with 409. To group templates, send the `external_template_id` of one of them ' +
    'as the `group_id` of the others. That template becomes the default template of the group. It must not be archived. ' +
    'Groups cannot be nested.',
  group: 'Email templates',
  method: 'POST',
  url: '/v1.0/custom-templates/email',
  requires: 'templates.write',
  takesAppKey: true,
  takesIdempotencyKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: NoFields,
  body: Strict({ basic_details: NewDetails, meta_info: NewMeta }),
  example: {
    basic_details: {
      email_content: '<h1>Welcome aboard!</h1>',
      subject: 'Welcome aboard',
      attachments: [{ name: 'terms.pdf', url: 'https://files.example.com/terms.pdf' }],
      thumbnail_url: 'https://files.example.com/welcome.png',
      sender_name: 'The Example Team',
    },
    meta_info: {
      template_id: 'welcome',
      template_name: 'Welcome mail',
      template_version: '1.0',
      created_by: 'anna@example.com',
    },
  },
  async storedFaults({ workspace, body }, store) {
    const fault = await findGroupFault(store, workspace.id, body?.meta_info?.group_id ?? null)
    return fault ? [fault] : []
  },
  refusals: ['conflict'],
  successStatus: 200,
  output: SavedTemplate,
  handle(request, parts) {
    const { body, workspace, credential, now } = request
    const source = templateSourceOf(credential)
    const content = { details: toDetails(body.basic_details), meta: toMeta(body.meta_info), source }
    const made = firstVersion(newTemplateId(), content, now)
    return createOnce(request, parts, {
      operation: 'create_template',
      lock: (store) => lockTemplates(store, workspace.id),
      async create(store) {
        await checkGroup(store, workspace.id, made.meta.groupId)
        await saveTemplate(store, workspace.id, made)
        const after = { latest: made, role: 'single', archivedAt: null } as const
        await recordChange(store, request, toTemplateChange('create_template', { after }))
        return { external_template_id: made.externalTemplateId, version: made.version }
      },
    })
  },
})

function toDetails(body: Static<typeof NewDetails>): TemplateDetails {
  return {
    emailContent: body.email_content,
    subject: body.subject ?? '',
    attachments: body.attachments ?? [],
    thumbnailUrl: body.thumbnail_url ?? '',
    senderName: body.sender_name ?? '',
  }
}

function toMeta(body: Static<typeof NewMeta>): TemplateMeta {
  return {
    templateId: body.template_id,
    templateName: body.template_name,
    templateVersion: body.template_version,
    templateType: body.template_type ?? 'CUSTOM',
    createdBy: body.created_by,
    groupId: body.group_id ?? null,
    locale: body.locale ?? null,
    variation: body.variation ?? null,
  }
}
