// Searches email templates. Reads a page together with its counts in one statement: with two, a change between them could show a
// default template without the counts of its group.
import { expressionBuilder, sql, type Expression, type SelectQueryBuilder, type SqlBool } from 'kysely'
import {
  TEMPLATE_FILTERS,
  type TemplateFilter,
  type TemplateFilters,
  type TemplateSearch,
} from '../../core/templates/template-search.ts'
import type { Store } from '../store.ts'
import type { Tables } from '../tables.ts'
import { SORT_COLUMNS, tieDirection, toDirection, type OffsetPage } from './template-versions.ts'
import {
  allTemplates,
  allTemplatesAsFound,
  countsOfGroups,
  RETURNED,
  toFound,
  type FoundRow,
  type FoundTemplate,
  type GroupCounts,
} from './templates.ts'

export interface TemplatesPage {
  readonly page: readonly FoundTemplate[]
  /** The number of templates on all pages, if the caller wants it. */
  readonly count?: number | undefined
  /** In grouped searches, by the ids of the default templates of the page. */
  readonly groups?: ReadonlyMap<string, GroupCounts>
}

/** One page of a search; with `isCounted`, also the number of templates on all pages. */
export async function findTemplatesPage(
  store: Store,
  workspaceId: string,
  search: TemplateSearch,
  { isCounted, ...page }: OffsetPage & { readonly isCounted: boolean },
): Promise<TemplatesPage> {
  if (!isCounted && !search.isGrouped) {
    return { page: (await pageOfTemplates(store, workspaceId, search, page).execute()).map(toFound) }
  }
  const rows = await countedPage(store, workspaceId, search, { ...page, isCounted }).execute()
  const found = rows.filter(({ external_template_id: id }) => id !== null) as (FoundRow & Partial<GroupCounts>)[]
  return {
    page: found.map(toFound),
    count: rows[0]?.count ?? undefined,
    groups: new Map(found.flatMap((row) => (row.templates ? [[row.external_template_id, row as GroupCounts]] : []))),
  }
}

/** A row for each template of the page, with the count of all pages; for an empty page, one row without a template. */
function countedPage(
  store: Store,
  workspaceId: string,
  search: TemplateSearch,
  { isCounted, ...page }: OffsetPage & { readonly isCounted: boolean },
) {
  const total = isCounted
    ? countOfTemplates(store, workspaceId, search)
    : store.query.selectNoFrom(sql<number>`null`.as('count'))
  const counted = store.query
    .with(
      (name) => name('page').materialized(),
      () => pageOfTemplates(store, workspaceId, search, page),
    )
    .selectFrom(total.as('total'))
    .leftJoin('page', (join) => join.onTrue())
    .select(['page.external_template_id', 'page.version', 'page.group_id', 'page.is_child', 'page.archived_at'])
    .select('total.count')
    .$if(search.isGrouped, (grouped) =>
      grouped
        .leftJoin(
          (from) => {
            const parentIds = from.selectFrom('page').select('external_template_id')
            const { includesArchived } = search
            return countsOfGroups(store, workspaceId, { parentIds, includesArchived }).as('counts')
          },
          (join) => join.onRef('counts.parent', '=', 'page.external_template_id'),
        )
        .select(['counts.locales', 'counts.variations', 'counts.templates']),
    )
  return search.sort
    .reduce((query, { key, order }) => query.orderBy(`page.${SORT_COLUMNS[key]}`, toDirection(order)), counted)
    .orderBy('page.external_template_id', tieDirection(search.sort))
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
    matchingTemplates(store, workspaceId, search).select([...RETURNED, ...sortedBy]),
  )
  return sorted.orderBy('external_template_id', tieDirection(search.sort)).offset(offset).limit(limit)
}

/** The number of templates that a search finds on all pages. */
export function countOfTemplates(store: Store, workspaceId: string, search: TemplateSearch) {
  return matchingTemplates(store, workspaceId, search).select(({ fn }) => fn.countAll<number>().as('count'))
}

type Matching = SelectQueryBuilder<Tables & { found: Tables['templates'] }, 'found', object>

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
} as const satisfies { readonly [filter in TemplateFilter]: keyof Tables['templates'] }

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
function matchingTemplates(store: Store, workspaceId: string, search: TemplateSearch): Matching {
  const found: Matching = isNarrow(search)
    ? store.query
        .with(
          (name) => name('found').materialized(),
          () =>
            allTemplates(store)
              .selectAll()
              .where(conditions(workspaceId, NARROW, search.filters)),
        )
        .selectFrom('found')
    : allTemplatesAsFound(store)
  const matching = found.where(conditions(workspaceId, OTHERS, search.filters))
  const shown = search.includesArchived ? matching : matching.where('archived_at', 'is', null)
  return search.isGrouped ? shown.where('is_child', '=', 0) : shown
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
