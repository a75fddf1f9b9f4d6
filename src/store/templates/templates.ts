// The table of email templates in their current state, one row each, without content: the table that searches read. It also stores
// groups, because a template becomes the default of a group when another template names it as its parent.
import {
  expressionBuilder,
  type Expression,
  type OperandValueExpressionOrList,
  type Selectable,
  type SelectQueryBuilder,
  type SqlBool,
} from 'kysely'
import type { Fault } from '../../core/app-error.ts'
import {
  groupFault,
  type CurrentTemplate,
  type GroupRole,
  type TemplateVersion,
} from '../../core/templates/template.ts'
import {
  TEMPLATE_FILTERS,
  type TemplateFilter,
  type TemplateFilters,
  type TemplateSearch,
} from '../../core/templates/template-search.ts'
import type { SqlTypes, Store } from '../store.ts'
import type { Tables } from '../tables.ts'
import { SORT_COLUMNS, tieDirection, toDirection, type OffsetPage, type VersionKey } from './template-versions.ts'

interface TemplateRow {
  workspace_id: string
  external_template_id: string
  /** The latest version; its content is in the table of `template-versions.ts`. */
  version: number
  template_id: string
  template_name: string
  template_version: string
  template_type: string
  template_source: string
  created_by: string
  updated_by: string
  updated_at: number
  /** The group it belongs to: its parent's id, or its own if it is the default template of a group. */
  group_id: string | null
  /** 1 where another template is its parent. */
  is_child: number
  locale: string | null
  variation: string | null
}

declare module '../tables.ts' {
  interface Tables {
    templates: TemplateRow
  }
}

/** A template found by a search. */
export interface FoundTemplate extends VersionKey {
  readonly role: GroupRole
}

/** Counts of a whole group, its default template included. */
export interface GroupCounts {
  readonly locales: number
  readonly variations: number
  readonly templates: number
}

/** The columns that a search returns; the first breaks ties. */
const FOUND = ['external_template_id', 'version', 'group_id', 'is_child'] as const

/** Columns in which most templates may be equal, so that a filter by them matches many. */
const COMMON = ['template_source', 'template_type', 'template_version', 'created_by'] as const

/**
 * The first three serve the sorts. After their key and the id they hold every other column that a filter or a page needs, so that a
 * scan reads no rows: past 100,000 templates of which none matches it takes some 25 ms, and 200 ms otherwise. None of them holds
 * the template id, because PostgreSQL limits an index entry to 2,704 bytes. The next three serve filters in the default order, the
 * last one the filter by group and the counts of groups.
 */
const INDEXES: { readonly [name: string]: readonly (keyof TemplateRow)[] } = {
  templates_sorted_by_date: ['updated_at', ...FOUND, ...COMMON, 'template_name', 'updated_by'],
  templates_sorted_by_name: ['template_name', ...FOUND, ...COMMON, 'updated_at', 'updated_by'],
  templates_sorted_by_updater: ['updated_by', ...FOUND, ...COMMON, 'updated_at', 'template_name'],
  templates_by_version: ['template_version', 'updated_at', ...FOUND],
  templates_by_creator: ['created_by', 'updated_at', ...FOUND],
  templates_by_updater: ['updated_by', 'updated_at', ...FOUND],
  templates_by_group: ['group_id', 'is_child', 'locale', 'variation'],
}

export async function createTemplates({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('templates')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('external_template_id', text, (column) => column.notNull())
    .addColumn('version', integer, (column) => column.notNull())
    .addColumn('template_id', text, (column) => column.notNull())
    .addColumn('template_name', text, (column) => column.notNull())
    .addColumn('template_version', text, (column) => column.notNull())
    .addColumn('template_type', text, (column) => column.notNull())
    .addColumn('template_source', text, (column) => column.notNull())
    .addColumn('created_by', text, (column) => column.notNull())
    .addColumn('updated_by', text, (column) => column.notNull())
    .addColumn('updated_at', integer, (column) => column.notNull())
    .addColumn('group_id', text)
    .addColumn('is_child', integer, (column) => column.notNull())
    .addColumn('locale', text)
    .addColumn('variation', text)
    .addPrimaryKeyConstraint('templates_key', ['workspace_id', 'external_template_id'])
    .execute()
  for (const [name, columns] of Object.entries(INDEXES)) {
    await query.schema
      .createIndex(name)
      .on('templates')
      .columns(['workspace_id', ...columns])
      .execute()
  }
  await query.schema
    .createIndex('templates_by_template_id')
    .unique()
    .on('templates')
    .columns(['workspace_id', 'template_id', 'template_version'])
    .execute()
}

/** Locks the templates of a workspace until this transaction ends. Call it before any read. */
export async function lockTemplates(store: Store, workspaceId: string): Promise<void> {
  await store.lock(`templates ${workspaceId}`)
}

/** The latest versions of templates and their roles in their groups; unknown ids are left out. */
export async function findTemplates(
  { query }: Store,
  workspaceId: string,
  ids: readonly string[],
): Promise<FoundTemplate[]> {
  if (ids.length === 0) return []
  // Whole rows, for the reason at `matchingTemplates`.
  const rows = await query
    .selectFrom('templates')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('external_template_id', 'in', ids)
    .execute()
  return rows.map(toFound)
}

/** Why a template cannot join a group; undefined if it can. Without `current`, the template is new. */
export async function findGroupFault(
  store: Store,
  workspaceId: string,
  groupId: string | null,
  current?: CurrentTemplate,
): Promise<Fault | undefined> {
  const [parent] = groupId === null ? [] : await findTemplates(store, workspaceId, [groupId])
  return groupFault(groupId, parent?.role, current)
}

/**
 * The id of the template whose latest version has this template id and template version, both of the client; undefined if none has.
 */
export async function findTemplateHolding(
  { query }: Store,
  workspaceId: string,
  { templateId, templateVersion }: TemplateVersion['meta'],
): Promise<string | undefined> {
  const row = await query
    .selectFrom('templates')
    .select('external_template_id')
    .where('workspace_id', '=', workspaceId)
    .where('template_id', '=', templateId)
    .where('template_version', '=', templateVersion)
    .executeTakeFirst()
  return row?.external_template_id
}

/** Makes a version the latest of its template, and puts the template into the group `groupId`. */
export async function saveLatest(
  { query }: Store,
  workspaceId: string,
  latest: TemplateVersion,
  groupId: string | null,
): Promise<void> {
  const { meta } = latest
  const row = {
    version: latest.version,
    template_id: meta.templateId,
    template_name: meta.templateName,
    template_version: meta.templateVersion,
    template_type: meta.templateType,
    template_source: latest.source,
    created_by: meta.createdBy,
    updated_by: latest.updatedBy,
    updated_at: latest.updatedAt,
    group_id: groupId,
    is_child: meta.groupId === null ? 0 : 1,
    locale: meta.locale,
    variation: meta.variation,
  }
  await query
    .insertInto('templates')
    .values({ workspace_id: workspaceId, external_template_id: latest.externalTemplateId, ...row })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'external_template_id']).doUpdateSet(row))
    .execute()
}

/** Makes a parent the default template of its group. */
export async function openGroup({ query }: Store, workspaceId: string, parentId: string): Promise<void> {
  await query
    .updateTable('templates')
    .set({ group_id: parentId })
    .where('workspace_id', '=', workspaceId)
    .where('external_template_id', '=', parentId)
    .execute()
}

/** Takes a parent out of its group if no other template names it. */
export async function closeGroupIfEmpty({ query }: Store, workspaceId: string, parentId: string): Promise<void> {
  const members = query
    .selectFrom('templates as member')
    .select('member.is_child')
    .where('member.workspace_id', '=', workspaceId)
    .where('member.group_id', '=', parentId)
    .where('member.is_child', '=', 1)
  await query
    .updateTable('templates')
    .set({ group_id: null })
    .where('workspace_id', '=', workspaceId)
    .where('external_template_id', '=', parentId)
    .where((row) => row.not(row.exists(members)))
    .execute()
}

/** The counts of the groups of these parents; a template that is not a parent has none. */
export function countsOfGroups(
  { query }: Store,
  workspaceId: string,
  parentIds: OperandValueExpressionOrList<Tables, 'templates', 'group_id'>,
) {
  return query
    .selectFrom('templates')
    .select(({ fn }) => [
      'group_id as parent',
      fn.count<number>('locale').distinct().as('locales'),
      fn.count<number>('variation').distinct().as('variations'),
      fn.countAll<number>().as('templates'),
    ])
    .where('workspace_id', '=', workspaceId)
    .where('group_id', 'in', parentIds)
    .groupBy('group_id')
}

/**
 * One page of a search.
 *
 * Pages are numbered, so a page is found by OFFSET. That counts index entries without reading rows, and takes 15 to 30 ms for
 * 90,000 of them (up to 0.5 s when sorted by several keys); a workspace may search 100 times a minute ("Limits").
 */
export function pageOfTemplates(
  store: Store,
  workspaceId: string,
  search: TemplateSearch,
  { offset, limit }: OffsetPage,
) {
  const sortedBy = search.sort.map(({ key }) => SORT_COLUMNS[key])
  const sorted = search.sort.reduce(
    (query, { key, order }) => query.orderBy(SORT_COLUMNS[key], toDirection(order)),
    matchingTemplates(store, workspaceId, search).select([...FOUND, ...sortedBy]),
  )
  return sorted.orderBy('external_template_id', tieDirection(search.sort)).offset(offset).limit(limit)
}

/** The number of templates that a search finds on all pages. */
export function countOfTemplates(store: Store, workspaceId: string, search: TemplateSearch) {
  return matchingTemplates(store, workspaceId, search).select(({ fn }) => fn.countAll<number>().as('count'))
}

/** The columns of a template that a search returns. */
export type FoundRow = Pick<Selectable<TemplateRow>, (typeof FOUND)[number]>
type Matching = SelectQueryBuilder<Tables & { found: TemplateRow }, 'found', object>

const FILTER_COLUMNS = {
  externalTemplateId: 'external_template_id',
  groupId: 'group_id',
  templateId: 'template_id',
  templateName: 'template_name',
  templateVersion: 'template_version',
  templateType: 'template_type',
  templateSource: 'template_source',
  createdBy: 'created_by',
  updatedBy: 'updated_by',
} as const satisfies { readonly [filter in TemplateFilter]: keyof TemplateRow }

/** Filters that name a template or its group, and so match few templates. */
const NARROW: readonly TemplateFilter[] = ['externalTemplateId', 'groupId', 'templateId', 'templateName']
const OTHERS = TEMPLATE_FILTERS.filter((filter) => !NARROW.includes(filter))

function isNarrow({ filters }: TemplateSearch): boolean {
  return NARROW.some((filter) => filters[filter] !== undefined)
}

/**
 * The templates that match a search, before sorting and paging. Narrow filters are applied first, in a query of their own: without
 * planner statistics SQLite would choose the index of a common filter, or scan all templates in the order of the sort, or, unless
 * it selects whole rows, scan any index that has the columns.
 */
function matchingTemplates({ query }: Store, workspaceId: string, search: TemplateSearch): Matching {
  const found: Matching = isNarrow(search)
    ? query
        .with(
          (name) => name('found').materialized(),
          () =>
            query
              .selectFrom('templates')
              .selectAll()
              .where(conditions(workspaceId, NARROW, search.filters)),
        )
        .selectFrom('found')
    : query.selectFrom('templates as found')
  const matching = found.where(conditions(workspaceId, OTHERS, search.filters))
  return search.isGrouped ? matching.where('is_child', '=', 0) : matching
}

function conditions(
  workspaceId: string,
  names: readonly TemplateFilter[],
  filters: TemplateFilters,
): Expression<SqlBool> {
  const row = expressionBuilder<Tables, 'templates'>()
  const all = names.flatMap((name) => {
    const column = FILTER_COLUMNS[name]
    const [value, ...others] = filters[name] ?? []
    if (value === undefined) return []
    // A single value is compared with `=`, which keeps the order of the index columns after it.
    return others.length > 0 ? row(column, 'in', [value, ...others]) : row(column, '=', value)
  })
  return row.and([row('workspace_id', '=', workspaceId), ...all])
}

export function toFound(row: FoundRow): FoundTemplate {
  const { external_template_id, version, group_id, is_child } = row
  const role = is_child === 1 ? 'child' : group_id === null ? 'single' : 'default'
  return { externalTemplateId: external_template_id, version, role }
}
