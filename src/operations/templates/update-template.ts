// Update email template: stores the next version of a template. Earlier versions never change.
import { Type, type Static, type TString } from 'typebox'
import { recordChange } from '../../actions/audit/record-change.ts'
import { AppError } from '../../core/app-error.ts'
import {
  nextVersion,
  type CurrentTemplate,
  type TemplateDetails,
  type TemplateMeta,
} from '../../core/templates/template.ts'
import { toIso } from '../../core/time-value.ts'
import { checkGroup, findCurrentTemplate, saveTemplate } from '../../actions/save-template.ts'
import { findGroupFault, lockTemplates } from '../../store/templates/templates.ts'
import { createOnce } from '../create-once.ts'
import { NoFields, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { toTemplateChange } from './template-change.ts'
import { BasicDetails, ExternalTemplateId, MetaInfo, SavedTemplate, UpdatedBy } from './template-fields.ts'

const ChangedDetails = Strict(Type.Partial(BasicDetails).properties)
const ChangedMeta = Strict({
  ...Type.Partial(MetaInfo).properties,
  group_id: Type.Optional(orNull(MetaInfo.properties.group_id)),
  locale: Type.Optional(orNull(MetaInfo.properties.locale)),
  variation: Type.Optional(orNull(MetaInfo.properties.variation)),
})

export const updateTemplate = defineOperation({
  name: 'update_template',
  summary: 'Update email template',
  description:
    'Creates a new version of an email template with the fields of `basic_details` and `meta_info` that you send. ' +
    'Other fields stay unchanged; null removes `group_id`, `locale` or `variation`. Searches return the new version at ' +
    'once; find earlier versions by `external_template_ids`. The default template of a group cannot join another ' +
    'group. An archived template is rejected with 409: restore it first. With `if_version`, so is a template that has ' +
    'another version by now, which the response names.',
  group: 'Email templates',
  method: 'PUT',
  url: '/v1.0/custom-templates/email',
  requires: 'templates.write',
  takesAppKey: true,
  takesIdempotencyKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: NoFields,
  body: Strict({
    external_template_id: ExternalTemplateId,
    updated_by: UpdatedBy,
    if_version: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The version that you changed. If the template has another one meanwhile, the response is 409.',
      }),
    ),
    basic_details: Type.Optional(ChangedDetails),
    meta_info: Type.Optional(ChangedMeta),
  }),
  example: {
    external_template_id: '019a3b5c-7d2e-7f10-8a4b-5c6d7e8f9a0b',
    updated_by: 'ben@example.com',
    basic_details: { subject: 'Welcome on board' },
    meta_info: { template_version: '1.1' },
  },
  async storedFaults({ workspace, body }, store) {
    const { external_template_id: id, meta_info: meta } = body ?? {}
    if (meta?.group_id === undefined) return []
    const current = id === undefined ? undefined : await findCurrentTemplate(store, workspace.id, id)
    const fault = await findGroupFault(store, workspace.id, meta.group_id, current)
    return fault ? [fault] : []
  },
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: SavedTemplate,
  handle(request, parts) {
    const { body, workspace, now } = request
    const id = body.external_template_id
    const change = { details: toDetails(body.basic_details ?? {}), meta: toMeta(body.meta_info ?? {}) }
    return createOnce(request, parts, {
      operation: 'update_template',
      lock: (store) => lockTemplates(store, workspace.id),
      async create(store) {
        const current = await findCurrentTemplate(store, workspace.id, id)
        if (!current) throw notFound()
        if (current.archivedAt !== null) throw archived()
        refuseOtherVersion(current, body.if_version)
        if (change.meta.groupId !== undefined) await checkGroup(store, workspace.id, change.meta.groupId, current)
        const made = nextVersion(current, change, { updatedBy: body.updated_by, now })
        await saveTemplate(store, workspace.id, made, current)
        const states = { before: current, after: { ...current, latest: made } }
        await recordChange(store, request, toTemplateChange('update_template', states))
        return { external_template_id: id, version: made.version }
      },
    })
  },
})

/** One schema with two types instead of a union of two schemas, which would report the faults of both. */
function orNull(text: TString) {
  return Type.Unsafe<string | null>({ ...text, type: ['string', 'null'] })
}

function notFound(): AppError {
  const details = [{ field: 'external_template_id', problem: 'is not the id of a template in the workspace' }]
  return new AppError('not_found', 'The workspace has no template with this id.', details)
}

function archived(): AppError {
  const details = [{ field: 'external_template_id', problem: 'is the id of an archived template' }]
  return new AppError('conflict', 'The template is archived. Restore it first.', details)
}

/** Throws AppError `conflict` if somebody made another version than the one that the request changes. */
function refuseOtherVersion({ latest }: CurrentTemplate, wanted: number | undefined): void {
  if (wanted === undefined || wanted === latest.version) return
  const details = [{ field: 'if_version', problem: `must be ${latest.version}, the current version` }]
  const made = `version ${latest.version} by ${latest.updatedBy}, saved at ${toIso(latest.updatedAt)}`
  throw new AppError('conflict', `The template has a newer version: ${made}.`, details)
}

function toDetails(body: Static<typeof ChangedDetails>): Partial<TemplateDetails> {
  return given<TemplateDetails>({
    emailContent: body.email_content,
    subject: body.subject,
    attachments: body.attachments,
    thumbnailUrl: body.thumbnail_url,
    senderName: body.sender_name,
  })
}

function toMeta(body: Static<typeof ChangedMeta>): Partial<TemplateMeta> {
  return given<TemplateMeta>({
    templateId: body.template_id,
    templateName: body.template_name,
    templateVersion: body.template_version,
    templateType: body.template_type,
    createdBy: body.created_by,
    groupId: body.group_id,
    locale: body.locale,
    variation: body.variation,
  })
}

/** Drops the members that the request did not send. */
function given<Members>(members: { readonly [Key in keyof Members]: Members[Key] | undefined }): Partial<Members> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<Members>
}
