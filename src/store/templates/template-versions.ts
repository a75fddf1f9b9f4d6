// The table of all versions of email templates, each written once, and deleted with its template. `templates.ts` has the current
// state of each template.
import type { Selectable, SelectQueryBuilder } from 'kysely'
import type {
  TemplateDetails,
  TemplateMeta,
  TemplateSource,
  TemplateType,
  TemplateVersion,
} from '../../core/templates/template.ts'
import type { Sort, SortKey, SortOrder } from '../../core/templates/template-search.ts'
import type { SqlTypes, Store } from '../store.ts'
import type { Tables } from '../tables.ts'

interface TemplateVersionRow {
  workspace_id: string
  external_template_id: string
  version: number
  template_id: string
  template_name: string
  template_version: string
  template_type: string
  template_source: string
  created_by: string
  created_at: number
  updated_by: string
  updated_at: number
  /** The parent that this version names. */
  group_id: string | null
  locale: string | null
  variation: string | null
  /** JSON of `TemplateDetails`. Last, because SQLite reads a row up to the last selected column. */
  details: string
}

declare module '../tables.ts' {
  interface Tables {
    template_versions: TemplateVersionRow
  }
}

/** One version of one template, without its content. */
export interface VersionKey {
  readonly externalTemplateId: string
  readonly version: number
}

export interface OffsetPage {
  readonly offset: number
  readonly limit: number
}

/** The column of each sort key, in both tables of templates. */
export const SORT_COLUMNS = {
  template_name: 'template_name',
  last_modified_date: 'updated_at',
  last_modified_by: 'updated_by',
} as const satisfies { [key in SortKey]: keyof TemplateVersionRow }

export async function createTemplateVersions({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('template_versions')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('external_template_id', text, (column) => column.notNull())
    .addColumn('version', integer, (column) => column.notNull())
    .addColumn('template_id', text, (column) => column.notNull())
    .addColumn('template_name', text, (column) => column.notNull())
    .addColumn('template_version', text, (column) => column.notNull())
    .addColumn('template_type', text, (column) => column.notNull())
    .addColumn('template_source', text, (column) => column.notNull())
    .addColumn('created_by', text, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('updated_by', text, (column) => column.notNull())
    .addColumn('updated_at', integer, (column) => column.notNull())
    .addColumn('group_id', text)
    .addColumn('locale', text)
    .addColumn('variation', text)
    .addColumn('details', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('template_versions_key', ['workspace_id', 'external_template_id', 'version'])
    .execute()
}

/** Deletes all versions of a template. */
export async function removeTemplateVersions({ query }: Store, workspaceId: string, id: string): Promise<void> {
  await query
    .deleteFrom('template_versions')
    .where('workspace_id', '=', workspaceId)
    .where('external_template_id', '=', id)
    .execute()
}

/** Adds a version. Throws StoreError `unique` if the template has a version with this number. */
export async function addTemplateVersion({ query }: Store, workspaceId: string, made: TemplateVersion): Promise<void> {
  const row: TemplateVersionRow = {
    workspace_id: workspaceId,
    external_template_id: made.externalTemplateId,
    version: made.version,
    ...toMetaRow(made.meta),
    template_source: made.source,
    created_at: made.createdAt,
    updated_by: made.updatedBy,
    updated_at: made.updatedAt,
    details: JSON.stringify(made.details),
  }
  await query.insertInto('template_versions').values(row).execute()
}

/**
 * The most bytes of content that one statement reads, except for a single larger version: other reads of the embedded store wait
 * for each statement.
 */
const DETAILS_BYTES_AT_ONCE_MAX = 1024 * 1024

/**
 * Versions with their content, in the order of `keys`; versions that do not exist are left out. Reads large ones with several
 * statements, which is safe because versions never change until their template is deleted.
 */
export async function findTemplateVersions(
  store: Store,
  workspaceId: string,
  keys: readonly VersionKey[],
): Promise<TemplateVersion[]> {
  const found = new Map<string, Selectable<TemplateVersionRow>>()
  for (const portion of await cutBySize(store, workspaceId, keys)) {
    const rows = await versionsNamed(store, workspaceId, portion).selectAll('made').execute()
    for (const row of rows) found.set(keyOf(row.external_template_id, row.version), row)
  }
  return keys.flatMap(({ externalTemplateId, version }) => {
    const row = found.get(keyOf(externalTemplateId, version))
    return row ? [toTemplateVersion(row)] : []
  })
}

/** Those of the named versions that exist, in portions that one statement may read. */
async function cutBySize(store: Store, workspaceId: string, keys: readonly VersionKey[]): Promise<VersionKey[][]> {
  if (keys.length <= 1) return keys.map((key) => [key])
  const sizes = await versionsNamed(store, workspaceId, keys)
    .select(['made.external_template_id as externalTemplateId', 'made.version'])
    .select(({ fn }) => fn<number>('octet_length', ['made.details']).as('bytes'))
    .execute()
  const portions: VersionKey[][] = []
  let room = -1
  for (const { bytes, ...key } of sizes) {
    if (bytes > room) {
      portions.push([])
      room = DETAILS_BYTES_AT_ONCE_MAX
    }
    portions.at(-1)?.push(key)
    room -= bytes
  }
  return portions
}

/** A version of a template in any workspace. */
interface StoredVersion {
  readonly workspaceId: string
  readonly made: TemplateVersion
}

/** Up to `max` versions of all workspaces behind a version, in the order of workspaces, templates and versions. For migrations. */
export async function listVersionsAfter(
  { query }: Store,
  after: StoredVersion | undefined,
  max: number,
): Promise<StoredVersion[]> {
  const all = query.selectFrom('template_versions').selectAll()
  const later = after
    ? all.where((row) =>
        row(
          row.refTuple('workspace_id', 'external_template_id', 'version'),
          '>',
          row.tuple(after.workspaceId, after.made.externalTemplateId, after.made.version),
        ),
      )
    : all
  const ordered = later.orderBy('workspace_id').orderBy('external_template_id').orderBy('version')
  const rows = await ordered.limit(max).execute()
  return rows.map((row) => ({ workspaceId: row.workspace_id, made: toTemplateVersion(row) }))
}

/** A page of those of the named versions that exist, sorted by their own columns. */
export async function listNamedVersions(
  store: Store,
  workspaceId: string,
  keys: readonly VersionKey[],
  { sort, offset, limit }: OffsetPage & { readonly sort: Sort },
): Promise<VersionKey[]> {
  const named = versionsNamed(store, workspaceId, keys).select(['made.external_template_id', 'made.version'])
  const sorted = sort.reduce(
    (query, { key, order }) => query.orderBy(`made.${SORT_COLUMNS[key]}`, toDirection(order)),
    named,
  )
  const rows = await sorted
    .orderBy('made.external_template_id', tieDirection(sort))
    .orderBy('made.version', tieDirection(sort))
    .offset(offset)
    .limit(limit)
    .execute()
  return rows.map((row) => ({ externalTemplateId: row.external_template_id, version: row.version }))
}

/** The number of the named versions that exist. */
export async function countNamedVersions(
  store: Store,
  workspaceId: string,
  keys: readonly VersionKey[],
): Promise<number> {
  const named = versionsNamed(store, workspaceId, keys)
  const { count } = await named.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  return count
}

export function toDirection(order: SortOrder): 'asc' | 'desc' {
  return order === 'ASCENDING' ? 'asc' : 'desc'
}

/** The template id breaks ties in the direction of the last key, so that one index serves both directions of a sort. */
export function tieDirection(sort: Sort): 'asc' | 'desc' {
  return toDirection((sort.at(-1) ?? sort[0]).order)
}

type NamedVersions = SelectQueryBuilder<Tables & { made: TemplateVersionRow }, 'made', object>

/**
 * Looks each version up by its key; one that is named twice counts once. SQLite executes a cross join in the written order; in an
 * inner join it would read all versions of the workspace and look each up in the list.
 */
function versionsNamed(store: Store, workspaceId: string, keys: readonly VersionKey[]): NamedVersions {
  const distinct = new Map(keys.map((key) => [keyOf(key.externalTemplateId, key.version), key]))
  const wanted = store.rowsOf(
    'wanted',
    { external_template_id: 'text', version: 'integer' },
    [...distinct.values()].map((key) => ({ external_template_id: key.externalTemplateId, version: key.version })),
  )
  return store.query
    .selectFrom(wanted)
    .crossJoin('template_versions as made')
    .where('made.workspace_id', '=', workspaceId)
    .whereRef('made.external_template_id', '=', 'wanted.external_template_id')
    .whereRef('made.version', '=', 'wanted.version')
}

function keyOf(externalTemplateId: string, version: number): string {
  return `${version} ${externalTemplateId}`
}

function toMetaRow(meta: TemplateMeta) {
  return {
    template_id: meta.templateId,
    template_name: meta.templateName,
    template_version: meta.templateVersion,
    template_type: meta.templateType,
    created_by: meta.createdBy,
    group_id: meta.groupId,
    locale: meta.locale,
    variation: meta.variation,
  }
}

function toTemplateVersion(row: Selectable<TemplateVersionRow>): TemplateVersion {
  return {
    externalTemplateId: row.external_template_id,
    version: row.version,
    details: JSON.parse(row.details) as TemplateDetails,
    meta: {
      templateId: row.template_id,
      templateName: row.template_name,
      templateVersion: row.template_version,
      templateType: row.template_type as TemplateType,
      createdBy: row.created_by,
      groupId: row.group_id,
      locale: row.locale,
      variation: row.variation,
    },
    source: row.template_source as TemplateSource,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    updatedBy: row.updated_by,
  }
}
