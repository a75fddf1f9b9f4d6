// Lists email templates in their current state, last changed first, for people who look through them. It finds parts of names, to
// which no index leads, so it examines templates one after another, a bounded number for each call.
import { sql } from 'kysely'
import { toAsciiCapitals } from '../../core/ascii-capitals.ts'
import type { TemplateMeta, TemplateSource, TemplateType } from '../../core/templates/template.ts'
import { containsPattern } from '../like-pattern.ts'
import type { Store } from '../store.ts'
import { allTemplates, findTemplateRows, toFound, type FoundTemplate } from './templates.ts'

/** What to list. A filter that is undefined matches every template. */
export interface TemplateListFilters {
  /** A part of the name; case is ignored in ASCII letters. */
  readonly namePart: string | undefined
  readonly groupId: string | undefined
  readonly locale: string | undefined
  readonly variation: string | undefined
  readonly source: TemplateSource | undefined
  /** Who made the latest version. */
  readonly updatedBy: string | undefined
  /** Whether to list only templates that are not archived, only archived ones, or both. */
  readonly archived: boolean | 'all'
}

/** The place of a template in the list. */
export interface TemplatePlace {
  readonly updatedAt: number
  readonly id: string
}

interface TemplateRange {
  /** Only templates behind this place; undefined: from the beginning. */
  readonly after: TemplatePlace | undefined
  /** The most templates to find, and the most to examine. */
  readonly max: number
  readonly examinedMax: number
}

/** The places of the templates that were found, and the last one that was examined; undefined at the end of the list. */
interface ListedPlaces {
  readonly places: readonly TemplatePlace[]
  readonly examinedTo: TemplatePlace | undefined
}

/** Examined by one statement. Takes some 10 ms, while other requests wait. */
const EXAMINED_AT_ONCE = 20_000

/** Ends with the template that makes the range full, or when all of it is examined. */
export async function listTemplatePlaces(
  store: Store,
  workspaceId: string,
  filters: TemplateListFilters,
  { after, max, examinedMax }: TemplateRange,
): Promise<ListedPlaces> {
  const places: TemplatePlace[] = []
  let examinedTo = after
  for (let examined = 0; examined < examinedMax; examined += EXAMINED_AT_ONCE) {
    const count = Math.min(EXAMINED_AT_ONCE, examinedMax - examined)
    const last = await lastOfPortion(store, workspaceId, { after: examinedTo, count })
    const portion = { after: examinedTo, last, max: max - places.length }
    places.push(...(await findInPortion(store, workspaceId, filters, portion)))
    if (places.length === max) return { places, examinedTo: places.at(-1) }
    if (!last) return { places, examinedTo: undefined }
    examinedTo = last
  }
  return { places, examinedTo }
}

/** The place of the last template of a portion; undefined if fewer are left. */
async function lastOfPortion(
  store: Store,
  workspaceId: string,
  { after, count }: { readonly after: TemplatePlace | undefined; readonly count: number },
): Promise<TemplatePlace | undefined> {
  const walk = walkTemplates(store, workspaceId, { after, last: undefined })
  return walk
    .offset(count - 1)
    .limit(1)
    .executeTakeFirst()
}

async function findInPortion(
  store: Store,
  workspaceId: string,
  filters: TemplateListFilters,
  { max, ...portion }: Portion & { readonly max: number },
): Promise<TemplatePlace[]> {
  const { namePart, archived } = filters
  const wanted = [
    ['group_id', filters.groupId],
    ['locale', filters.locale],
    ['variation', filters.variation],
    ['template_source', filters.source],
    ['updated_by', filters.updatedBy],
  ] as const
  let walk = walkTemplates(store, workspaceId, portion)
  for (const [column, value] of wanted) if (value !== undefined) walk = walk.where(column, '=', value)
  if (archived !== 'all') walk = walk.where('archived_at', archived ? 'is not' : 'is', null)
  if (namePart !== undefined) {
    const pattern = containsPattern(toAsciiCapitals(namePart))
    walk = walk.where(sql<boolean>`upper(template_name) like ${pattern} escape '\\'`)
  }
  return walk.limit(max).execute()
}

interface Portion {
  readonly after: TemplatePlace | undefined
  /** Undefined: to the end of the list. */
  readonly last: TemplatePlace | undefined
}

/** The places of all templates of a portion, in order. */
function walkTemplates(store: Store, workspaceId: string, { after, last }: Portion) {
  let walk = allTemplates(store)
    .select(['updated_at as updatedAt', 'external_template_id as id'])
    .where('workspace_id', '=', workspaceId)
  for (const [place, operator] of [
    [after, '<'],
    [last, '>='],
  ] as const) {
    if (!place) continue
    walk = walk.where((row) =>
      row(row.refTuple('updated_at', 'external_template_id'), operator, row.tuple(place.updatedAt, place.id)),
    )
  }
  return walk.orderBy('updated_at', 'desc').orderBy('external_template_id', 'desc')
}

/** A template as a list shows it. */
export interface ListedTemplate extends FoundTemplate {
  readonly meta: TemplateMeta
  readonly source: TemplateSource
  readonly updatedAt: number
  readonly updatedBy: string
}

/** Templates by their ids, in that order; those that do not exist are left out. */
export async function findListedTemplates(
  store: Store,
  workspaceId: string,
  ids: readonly string[],
): Promise<ListedTemplate[]> {
  const rows = await findTemplateRows(store, workspaceId, ids)
  const found = new Map(rows.map((row) => [row.external_template_id, toListed(row)]))
  return ids.flatMap((id) => found.get(id) ?? [])
}

function toListed(row: Awaited<ReturnType<typeof findTemplateRows>>[number]): ListedTemplate {
  return {
    ...toFound(row),
    meta: {
      templateId: row.template_id,
      templateName: row.template_name,
      templateVersion: row.template_version,
      templateType: row.template_type as TemplateType,
      createdBy: row.created_by,
      groupId: row.is_child === 1 ? row.group_id : null,
      locale: row.locale,
      variation: row.variation,
    },
    source: row.template_source as TemplateSource,
    updatedAt: row.updated_at,
    updatedBy: row.updated_by,
  }
}
