// List email templates: returns a page of templates without their contents, last changed first. Pages neither overlap nor skip.
import { Type } from 'typebox'
import type { Fault } from '../../core/app-error.ts'
import { inDigits } from '../../core/in-digits.ts'
import {
  LOCALE_LENGTH_MAX,
  TEMPLATE_NAME_LENGTH_MAX,
  TEMPLATE_SOURCES,
  TEMPLATE_USER_LENGTH_MAX,
  VARIATION_LENGTH_MAX,
  type TemplateSource,
} from '../../core/templates/template.ts'
import type { Store } from '../../store/store.ts'
import {
  findListedTemplates,
  listTemplatePlaces,
  type TemplateListFilters,
  type TemplatePlace,
} from '../../store/templates/template-list.ts'
import { findTemplateSummaries } from '../../store/templates/template-summaries.ts'
import { NoFields, Nullable, OneOf, Strict, Text } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { ListedTemplateOutput, toListedBody } from './template-body.ts'
import { MetaInfo } from './template-fields.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 500
/** The most templates that one request examines. */
export const TEMPLATES_EXAMINED_MAX = 100_000
/** The values of `archived`. */
const ARCHIVED = { false: false, true: true, all: 'all' } as const
/** A letter for the kind of list, then the instant and the id of the last template. */
const CURSOR = /^t([0-9a-z]{1,11})-(.{1,64})$/
const CURSOR_LENGTH_MAX = 80
const RADIX = 36

export const listTemplates = defineOperation({
  name: 'list_templates',
  summary: 'List email templates',
  description:
    'Returns the templates of the workspace that match all filters, last changed first: as Search Email Template shows them, but of ' +
    '`basic_details` only the `subject`, and with `template_source`. `search` finds a part of the name; case is ignored in ASCII ' +
    'letters. Send the `next_before` of a page as `before` to get the next page; it is null on the last page. A request examines at ' +
    `most ${inDigits(TEMPLATES_EXAMINED_MAX)} templates: a page may have fewer than \`limit\`, even none, and still a \`next_before\`. ` +
    'A template that is changed meanwhile moves to the front.',
  group: 'Email templates',
  method: 'GET',
  url: '/v1.0/custom-templates/email',
  requires: 'templates.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: Strict({
    search: Type.Optional(Text(1, TEMPLATE_NAME_LENGTH_MAX, 'A part of the name.')),
    group_id: Type.Optional(MetaInfo.properties.group_id),
    locale: Type.Optional(Text(1, LOCALE_LENGTH_MAX, 'Templates with this locale.')),
    variation: Type.Optional(Text(1, VARIATION_LENGTH_MAX, 'Templates with this variation.')),
    source: Type.Optional(OneOf(TEMPLATE_SOURCES, 'Templates that were created there.')),
    by: Type.Optional(Text(1, TEMPLATE_USER_LENGTH_MAX, 'Who made the latest version: its `updated_by`.')),
    archived: Type.Optional(
      OneOf(['false', 'true', 'all'], 'Whether to return archived templates: none (the default), only these, or all.'),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT, description: 'Templates per page.' }),
    ),
    before: Type.Optional(Text(1, CURSOR_LENGTH_MAX, 'The `next_before` of the previous page, of the same filters.')),
  }),
  body: null,
  faults: ({ query: { before } }) => beforeFaults(before),
  successStatus: 200,
  output: Type.Object({ data: Type.Array(ListedTemplateOutput), next_before: Nullable(Type.String()) }),
  // As searches: one at a time for each workspace, or one workspace could block all others.
  handle({ workspace, query }, { database, queue }) {
    const work = () => list(database, workspace.id, query)
    return queue.run(`templates ${workspace.id}`, work, workspace.limits.management_per_minute)
  },
})

interface Query {
  readonly search?: string
  readonly group_id?: string
  readonly locale?: string
  readonly variation?: string
  readonly source?: TemplateSource
  readonly by?: string
  readonly archived?: keyof typeof ARCHIVED
  readonly limit?: number
  readonly before?: string
}

async function list(store: Store, workspaceId: string, query: Query) {
  const { limit = LIMIT_DEFAULT, before } = query
  const after = before === undefined ? undefined : parseCursor(before)
  // One more than requested shows whether another page follows.
  const range = { after, max: limit + 1, examinedMax: TEMPLATES_EXAMINED_MAX }
  const { places, examinedTo } = await listTemplatePlaces(store, workspaceId, toFilters(query), range)
  const shown = places.slice(0, limit)
  // Continues behind the last template that is shown, or behind all that were examined.
  const last = places.length > limit ? shown.at(-1) : examinedTo
  return { data: await readBodies(store, workspaceId, shown), next_before: last ? writeCursor(last) : null }
}

/** A template that was deleted meanwhile is left out. */
async function readBodies(store: Store, workspaceId: string, places: readonly TemplatePlace[]) {
  const ids = places.map(({ id }) => id)
  const templates = await findListedTemplates(store, workspaceId, ids)
  const summaries = await findTemplateSummaries(store, workspaceId, templates)
  const subjects = new Map(summaries.map(({ externalTemplateId, subject }) => [externalTemplateId, subject]))
  return templates.flatMap((template) => {
    const subject = subjects.get(template.externalTemplateId)
    return subject === undefined ? [] : [toListedBody(template, subject)]
  })
}

function toFilters(query: Query): TemplateListFilters {
  return {
    namePart: query.search,
    groupId: query.group_id,
    locale: query.locale,
    variation: query.variation,
    source: query.source,
    updatedBy: query.by,
    archived: ARCHIVED[query.archived ?? 'false'],
  }
}

/** Undefined if the text is no cursor. */
function parseCursor(text: string): TemplatePlace | undefined {
  const [, instant = '', id = ''] = CURSOR.exec(text) ?? []
  const updatedAt = Number.parseInt(instant, RADIX)
  return Number.isSafeInteger(updatedAt) ? { updatedAt, id } : undefined
}

function writeCursor({ updatedAt, id }: TemplatePlace): string {
  return `t${updatedAt.toString(RADIX)}-${id}`
}

function beforeFaults(before: string | undefined): Fault[] {
  if (before === undefined || parseCursor(before)) return []
  return [{ field: 'query.before', problem: 'must be the next_before of an earlier page' }]
}
