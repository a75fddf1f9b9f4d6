// Get email template: returns one template with its content, in its latest or an earlier version.
import { Type } from 'typebox'
import { AppError } from '../../core/app-error.ts'
import { TEMPLATE_SOURCES } from '../../core/templates/template.ts'
import { findTemplateVersions } from '../../store/templates/template-versions.ts'
import { OneOf, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireTemplate, TemplatePath } from './require-template.ts'
import { TemplateOutput, toTemplateBody } from './template-body.ts'

export const getTemplate = defineOperation({
  name: 'get_template',
  summary: 'Get email template',
  description:
    'Returns one template, archived or not, as Search Email Template shows it: its latest version, or the one that `version` names. ' +
    'Contents are exactly what was sent. To restore an earlier version, send its `basic_details` and `meta_info` to Update email ' +
    'template.',
  group: 'Email templates',
  method: 'GET',
  url: '/v1.0/custom-templates/email/:external_template_id',
  requires: 'templates.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: TemplatePath,
  query: Strict({
    version: Type.Optional(
      Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Default: the latest version.' }),
    ),
  }),
  body: null,
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({
    ...TemplateOutput.properties,
    template_source: OneOf(TEMPLATE_SOURCES, 'Where the template was created.'),
    latest_version: Type.Integer(),
  }),
  async handle({ workspace, path, query }, { database }) {
    const found = await requireTemplate(database, workspace, path.external_template_id)
    const key = { ...found, version: query.version ?? found.version }
    const [version] = await findTemplateVersions(database, workspace.id, [key])
    if (!version) throw new AppError('not_found', `The template has no version ${key.version}.`)
    return {
      ...toTemplateBody(version, found, undefined),
      template_source: version.source,
      latest_version: found.version,
    }
  },
})
