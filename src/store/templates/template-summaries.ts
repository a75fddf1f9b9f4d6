// The table of what lists show of each version of an email template. Written with the version and deleted with its template. Without
// it, a list would read the contents too, which may have a megabyte each.
import type { Selectable } from 'kysely'
import { summarize, type TemplateSummary } from '../../core/templates/template-summary.ts'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'
import { listVersionsAfter, type VersionKey } from './template-versions.ts'

interface TemplateSummaryRow {
  workspace_id: string
  external_template_id: string
  version: number
  subject: string
  updated_at: number
  updated_by: string
  /** JSON of a list of fields. */
  changed: string
}

declare module '../tables.ts' {
  interface Tables {
    template_summaries: TemplateSummaryRow
  }
}

const COLUMNS = {
  workspace_id: 'text',
  external_template_id: 'text',
  version: 'integer',
  subject: 'text',
  updated_at: 'integer',
  updated_by: 'text',
  changed: 'text',
} as const

/** Versions that the migration reads at once: each may have a megabyte. */
const VERSIONS_AT_ONCE = 20

/** Creates the table, and summarizes the versions that are stored already. */
export async function createTemplateSummaries(store: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await store.query.schema
    .createTable('template_summaries')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('external_template_id', text, (column) => column.notNull())
    .addColumn('version', integer, (column) => column.notNull())
    .addColumn('subject', text, (column) => column.notNull())
    .addColumn('updated_at', integer, (column) => column.notNull())
    .addColumn('updated_by', text, (column) => column.notNull())
    .addColumn('changed', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('template_summaries_key', ['workspace_id', 'external_template_id', 'version'])
    .modifyEnd(clustered)
    .execute()
  await summarizeStoredVersions(store)
}

async function summarizeStoredVersions(store: Store): Promise<void> {
  let last: Awaited<ReturnType<typeof listVersionsAfter>>[number] | undefined
  for (;;) {
    const versions = await listVersionsAfter(store, last, VERSIONS_AT_ONCE)
    const rows: TemplateSummaryRow[] = []
    for (const { workspaceId, made } of versions) {
      // Versions have no gap, so the version before the second one is the first one, and so on.
      rows.push(toRow(workspaceId, summarize(made, made.version > 1 ? last?.made : undefined)))
      last = { workspaceId, made }
    }
    if (rows.length === 0) return
    await insertRows(store, 'template_summaries', { columns: COLUMNS, rows }).execute()
  }
}

export async function addTemplateSummary(
  { query }: Store,
  workspaceId: string,
  summary: TemplateSummary,
): Promise<void> {
  await query.insertInto('template_summaries').values(toRow(workspaceId, summary)).execute()
}

/** Deletes the summaries of all versions of a template. */
export async function removeTemplateSummaries({ query }: Store, workspaceId: string, id: string): Promise<void> {
  await query
    .deleteFrom('template_summaries')
    .where('workspace_id', '=', workspaceId)
    .where('external_template_id', '=', id)
    .execute()
}

/** Those of the named versions that exist, in no particular order. */
export async function findTemplateSummaries(
  store: Store,
  workspaceId: string,
  keys: readonly VersionKey[],
): Promise<TemplateSummary[]> {
  const wanted = store.rowsOf(
    'wanted',
    { external_template_id: 'text', version: 'integer' },
    keys.map((key) => ({ external_template_id: key.externalTemplateId, version: key.version })),
  )
  // In an inner join, SQLite might read all summaries of the workspace.
  const rows = await store.query
    .selectFrom(wanted)
    .crossJoin('template_summaries as summary')
    .selectAll('summary')
    .where('summary.workspace_id', '=', workspaceId)
    .whereRef('summary.external_template_id', '=', 'wanted.external_template_id')
    .whereRef('summary.version', '=', 'wanted.version')
    .execute()
  return rows.map(toSummary)
}

/** Up to `max` versions of a template, the newest first; with `before`, only those with a lower number. */
export async function listTemplateSummaries(
  { query }: Store,
  workspaceId: string,
  { id, before, max }: { readonly id: string; readonly before: number | undefined; readonly max: number },
): Promise<TemplateSummary[]> {
  const all = query.selectFrom('template_summaries').selectAll().where('workspace_id', '=', workspaceId)
  const own = all.where('external_template_id', '=', id)
  const earlier = before === undefined ? own : own.where('version', '<', before)
  return (await earlier.orderBy('version', 'desc').limit(max).execute()).map(toSummary)
}

function toRow(workspaceId: string, summary: TemplateSummary): TemplateSummaryRow {
  return {
    workspace_id: workspaceId,
    external_template_id: summary.externalTemplateId,
    version: summary.version,
    subject: summary.subject,
    updated_at: summary.updatedAt,
    updated_by: summary.updatedBy,
    changed: JSON.stringify(summary.changed),
  }
}

function toSummary(row: Selectable<TemplateSummaryRow>): TemplateSummary {
  return {
    externalTemplateId: row.external_template_id,
    version: row.version,
    subject: row.subject,
    updatedAt: row.updated_at,
    updatedBy: row.updated_by,
    changed: JSON.parse(row.changed) as string[],
  }
}
