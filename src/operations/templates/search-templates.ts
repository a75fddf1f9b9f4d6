// Search Email Template: returns a page of templates, in their latest versions or in exactly the requested versions.
import { Type, type Static } from 'typebox'
import { AppError } from '../../core/app-error.ts'
import { TEMPLATE_TYPES, type TemplateVersion } from '../../core/templates/template.ts'
import {
  alternatives,
  meansExactVersions,
  SORT_KEYS,
  SORT_ORDERS,
  toSort,
  type TemplateFilters,
} from '../../core/templates/template-search.ts'
import type { Store } from '../../store/store.ts'
import { findTemplatesPage, type TemplatesPage } from '../../store/templates/template-pages.ts'
import {
  countNamedVersions,
  findTemplateVersions,
  listNamedVersions,
  type OffsetPage,
} from '../../store/templates/template-versions.ts'
import { findTemplates, type FoundTemplate } from '../../store/templates/templates.ts'
import { NoFields, OneOf, Strict, Text } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { TemplateOutput, toTemplateBody } from './template-body.ts'
import { ExternalTemplateId } from './template-fields.ts'

const ENTRIES_MAX = 15
/** Alternatives of one filter. */
const FILTER_VALUES_MAX = 500
const FILTER_LENGTH_MAX = 256
/** There are three keys. Further items can only repeat keys, which has no effect. */
const SORT_PARAMS_MAX = 10
/** How often a page is read if its templates are deleted meanwhile. */
const READ_TRIES_MAX = 3

const FilterText = (description: string) => Type.Optional(Text(0, FILTER_LENGTH_MAX, description))
const FilterTexts = (description: string) => {
  return Type.Optional(Type.Array(Text(0, FILTER_LENGTH_MAX), { maxItems: FILTER_VALUES_MAX, description }))
}
const Order = Type.Optional(OneOf(SORT_ORDERS))

const SearchBody = Strict({
  page: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Page number, from 1. Past the last page, `data` is empty.',
  }),
  entries: Type.Integer({ minimum: 1, maximum: ENTRIES_MAX, description: 'Entries per page.' }),
  template_name: FilterText('Templates with exactly this name.'),
  template_source: FilterTexts('Where templates were created: API, DASHBOARD.'),
  template_version: FilterText('Templates with this `template_version`.'),
  template_id: FilterText('Templates with this `template_id`.'),
  template_type: Type.Optional(Type.Array(OneOf([...TEMPLATE_TYPES, '']), { maxItems: FILTER_VALUES_MAX })),
  created_by: FilterTexts('Creator user identifiers.'),
  updated_by: FilterTexts('Updater user identifiers. Before the first update, the creator.'),
  sort_params: Type.Optional(
    Type.Array(Strict({ template_name: Order, last_modified_date: Order, last_modified_by: Order }), {
      maxItems: SORT_PARAMS_MAX,
      description:
        `Keys: ${SORT_KEYS.join(', ')}. The first item takes precedence, and within an item the first key. The ` +
        'template id breaks ties, in the direction of the last key. Default: `last_modified_date` DESCENDING.',
    }),
  ),
  external_template_ids: Type.Optional(
    Type.Array(
      Strict({
        external_template_id: ExternalTemplateId,
        version: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
      }),
      {
        maxItems: FILTER_VALUES_MAX,
        description:
          'Templates to return. Without other filters, exactly these versions, also of archived templates; a missing ' +
          '`version` means the latest. With other filters, the latest versions.',
      },
    ),
  ),
  group_id: FilterText('Templates in the group with this id.'),
  is_grouped_response: Type.Optional(
    Type.Boolean({
      description:
        'If true, returns only default templates of groups, with counts of their groups, and templates in no group.',
    }),
  ),
  include_archived: Type.Optional(
    Type.Boolean({ description: 'If true, also returns archived templates, and counts of groups include them.' }),
  ),
  is_count_required: Type.Optional(
    Type.Boolean({ description: 'If true, also returns `total_count`, the number of items on all pages.' }),
  ),
})

export const searchTemplates = defineOperation({
  name: 'search_templates',
  summary: 'Search Email Template',
  description:
    'Returns a page of email templates. `page` and `entries` are required. A template must match all filters, and for ' +
    'each filter any of its values. An empty array or string is no filter. If you send only `external_template_ids`, ' +
    'the response has the versions you specify, which may be older. Otherwise it has the latest version of each ' +
    'template, without archived templates unless you send `include_archived`.',
  group: 'Email templates',
  method: 'POST',
  isReadOnly: true,
  url: '/v1.0/custom-templates/email/search',
  requires: 'templates.read',
  takesAppKey: false,
  limits: ['search_templates_per_minute'],
  path: NoFields,
  query: NoFields,
  body: SearchBody,
  example: {
    page: 1,
    entries: 15,
    template_type: ['CUSTOM'],
    sort_params: [{ template_name: 'ASCENDING', last_modified_date: 'DESCENDING' }],
    is_count_required: true,
  },
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(TemplateOutput),
    total_count: Type.Optional(Type.Integer({ description: 'With `is_count_required`.' })),
  }),
  // A search through many templates takes 500 ms. So each workspace gets one at a time: otherwise one workspace could block all
  // others.
  handle({ body, workspace }, { database, queue }) {
    const work = () => search(database, workspace.id, body)
    return queue.run(`templates ${workspace.id}`, work, workspace.limits.search_templates_per_minute)
  },
})

type SearchBody = Static<typeof SearchBody>

/** First finds the templates of the page and their counts, then reads their content; starts over if one was deleted in between. */
async function search(store: Store, workspaceId: string, body: SearchBody) {
  for (let tries = 0; tries < READ_TRIES_MAX; tries++) {
    const found = await find(store, workspaceId, body)
    const versions = await findTemplateVersions(store, workspaceId, found.page)
    if (versions.length === found.page.length) return toAnswer(found, versions)
  }
  throw new AppError('unavailable', 'Templates are being deleted. Retry after 1 second.', [], 1)
}

function toAnswer(found: TemplatesPage, versions: readonly TemplateVersion[]) {
  const templates = new Map(found.page.map((template) => [template.externalTemplateId, template]))
  const data = versions.map((version) => {
    const id = version.externalTemplateId
    return toTemplateBody(version, templates.get(id) as FoundTemplate, found.groups?.get(id))
  })
  return { data, ...(found.count !== undefined && { total_count: found.count }) }
}

async function find(store: Store, workspaceId: string, body: SearchBody): Promise<TemplatesPage> {
  const search = {
    filters: toFilters(body),
    isGrouped: body.is_grouped_response === true,
    includesArchived: body.include_archived === true,
    sort: sortOf(body),
  }
  // The product may exceed the integers of a database.
  const offset = Math.min((body.page - 1) * body.entries, Number.MAX_SAFE_INTEGER)
  const page = { offset, limit: body.entries }
  if (meansExactVersions(search)) return findExact(store, workspaceId, body, page)
  return findTemplatesPage(store, workspaceId, search, { ...page, isCounted: body.is_count_required === true })
}

/** Finds exactly the versions in `external_template_ids`, which was sent without other filters ("Latest or older"). */
async function findExact(
  store: Store,
  workspaceId: string,
  body: SearchBody,
  page: OffsetPage,
): Promise<TemplatesPage> {
  const named = body.external_template_ids ?? []
  const ids = named.map(({ external_template_id }) => external_template_id)
  const templates = await findTemplates(store, workspaceId, [...new Set(ids)])
  const current = new Map(templates.map((template) => [template.externalTemplateId, template]))
  const keys = named.flatMap(({ external_template_id, version }) => {
    const template = current.get(external_template_id)
    return template ? [{ ...template, version: version ?? template.version }] : []
  })
  const versions = await listNamedVersions(store, workspaceId, keys, { ...page, sort: sortOf(body) })
  return {
    page: versions.flatMap((key) => {
      const template = current.get(key.externalTemplateId)
      return template ? [{ ...template, version: key.version }] : []
    }),
    count: body.is_count_required ? await countNamedVersions(store, workspaceId, keys) : undefined,
  }
}

function sortOf(body: SearchBody) {
  return toSort(body.sort_params ?? [])
}

function toFilters(body: SearchBody): TemplateFilters {
  return {
    externalTemplateId: alternatives(body.external_template_ids?.map((item) => item.external_template_id)),
    groupId: alternatives([body.group_id]),
    templateId: alternatives([body.template_id]),
    templateName: alternatives([body.template_name]),
    templateVersion: alternatives([body.template_version]),
    templateType: alternatives(body.template_type),
    templateSource: alternatives(body.template_source),
    createdBy: alternatives(body.created_by),
    updatedBy: alternatives(body.updated_by),
  }
}
