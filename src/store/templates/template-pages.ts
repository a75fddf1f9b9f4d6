// Reads a page of a template search together with its counts in one statement. With two, a change between them could show a default
// template without the counts of its group.
import { sql } from 'kysely'
import type { TemplateSearch } from '../../core/templates/template-search.ts'
import type { Store } from '../store.ts'
import { SORT_COLUMNS, tieDirection, toDirection, type OffsetPage } from './template-versions.ts'
import {
  countOfTemplates,
  countsOfGroups,
  pageOfTemplates,
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
export async function listTemplates(
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
    .select(['page.external_template_id', 'page.version', 'page.group_id', 'page.is_child', 'total.count'])
    .$if(search.isGrouped, (grouped) =>
      grouped
        .leftJoin(
          (from) => {
            const parents = from.selectFrom('page').select('external_template_id')
            return countsOfGroups(store, workspaceId, parents).as('counts')
          },
          (join) => join.onRef('counts.parent', '=', 'page.external_template_id'),
        )
        .select(['counts.locales', 'counts.variations', 'counts.templates']),
    )
  return search.sort
    .reduce((query, { key, order }) => query.orderBy(`page.${SORT_COLUMNS[key]}`, toDirection(order)), counted)
    .orderBy('page.external_template_id', tieDirection(search.sort))
}
