// List versions of an email template: returns a page of them, newest first, with what each changed.
import { Type } from 'typebox'
import { toIso } from '../../core/time-value.ts'
import { listTemplateSummaries } from '../../store/templates/template-summaries.ts'
import { IsoTime, Nullable, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireTemplate, TemplatePath } from './require-template.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 500

export const listTemplateVersions = defineOperation({
  name: 'list_template_versions',
  summary: 'List versions of an email template',
  description:
    'Returns the versions of a template without their contents, newest first. Send the `next_before` of a page as `before` to get the ' +
    'next page; it is null on the last page. Get email template returns the content of a version.',
  group: 'Email templates',
  method: 'GET',
  url: '/v1.0/custom-templates/email/:external_template_id/versions',
  requires: 'templates.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: TemplatePath,
  query: Strict({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT, description: 'Versions per page.' }),
    ),
    before: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The `next_before` of a page, or any version. Returns the versions before it.',
      }),
    ),
  }),
  body: null,
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        version: Type.Integer(),
        updated_at: IsoTime,
        updated_by: Type.String(),
        subject: Type.String(),
        changed: Type.Array(Type.String(), {
          description:
            'The fields that differ from the version before, such as `basic_details.subject`. Empty for the first version.',
        }),
      }),
    ),
    next_before: Nullable(Type.Integer({ description: 'The last version on this page.' })),
  }),
  async handle({ workspace, path, query: { limit = LIMIT_DEFAULT, before } }, { database }) {
    const { externalTemplateId: id } = await requireTemplate(database, workspace, path.external_template_id)
    // One more than requested shows whether another page follows.
    const summaries = await listTemplateSummaries(database, workspace.id, { id, before, max: limit + 1 })
    const data = summaries.slice(0, limit).map(({ version, updatedAt, updatedBy, subject, changed }) => {
      return { version, updated_at: toIso(updatedAt), updated_by: updatedBy, subject, changed }
    })
    return { data, next_before: summaries.length > limit ? (data.at(-1)?.version ?? null) : null }
  },
})
