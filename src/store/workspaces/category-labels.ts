// The table of category labels: what recipients read in place of a category's name, in each language.
import type { CategoryLabels } from '../../core/workspaces/category-labels.ts'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'

interface CategoryLabelRow {
  workspace_id: string
  category: string
  /** A BCP 47 tag in its usual spelling, such as `pt-BR`. */
  language: string
  label: string
}

declare module '../tables.ts' {
  interface Tables {
    category_labels: CategoryLabelRow
  }
}

const NO_LABELS: CategoryLabels = {}

export async function createCategoryLabels({ query }: Store, { text, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('category_labels')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('category', text, (column) => column.notNull())
    .addColumn('language', text, (column) => column.notNull())
    .addColumn('label', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('category_labels_key', ['workspace_id', 'category', 'language'])
    .modifyEnd(clustered)
    .execute()
  await query.schema
    .createIndex('category_labels_by_language')
    .on('category_labels')
    .columns(['workspace_id', 'language'])
    .execute()
}

const COLUMNS = { workspace_id: 'text', category: 'text', language: 'text', label: 'text' } as const

/** Replaces all labels of a category. The caller holds `lockWorkspaces`. */
export async function saveLabels(
  store: Store,
  { workspaceId, category }: { readonly workspaceId: string; readonly category: string },
  labels: CategoryLabels,
): Promise<void> {
  const own = store.query.deleteFrom('category_labels').where('workspace_id', '=', workspaceId)
  await own.where('category', '=', category).execute()
  const rows = Object.entries(labels).map(([language, label]) => {
    return { workspace_id: workspaceId, category, language, label }
  })
  if (rows.length > 0) await insertRows(store, 'category_labels', { columns: COLUMNS, rows }).execute()
}

/** Category → its labels, for those of a few categories that have any. */
export async function findLabels(
  store: Store,
  workspaceId: string,
  categories: readonly string[],
): Promise<ReadonlyMap<string, CategoryLabels>> {
  if (categories.length === 0) return new Map()
  const labels = labelRows(store, workspaceId).where('category', 'in', categories)
  // SQLite would read all labels of the workspace in an order that begins with the language.
  return byCategory(await labels.orderBy('category').orderBy('language').execute())
}

/** The same for all categories, but only with the labels in a language such as `pt`, those for its countries included. */
export async function findLabelsIn(
  store: Store,
  workspaceId: string,
  language: string,
): Promise<ReadonlyMap<string, CategoryLabels>> {
  // The sign after the one that divides a tag.
  const end = `${language}.`
  const labels = labelRows(store, workspaceId).where('language', '>=', language).where('language', '<', end)
  return byCategory(await labels.orderBy('language').execute())
}

function labelRows({ query }: Store, workspaceId: string) {
  return query
    .selectFrom('category_labels')
    .select(['category', 'language', 'label'])
    .where('workspace_id', '=', workspaceId)
}

function byCategory(rows: readonly Omit<CategoryLabelRow, 'workspace_id'>[]): ReadonlyMap<string, CategoryLabels> {
  const labels = new Map<string, CategoryLabels>()
  for (const { category, language, label } of rows) {
    labels.set(category, { ...(labels.get(category) ?? NO_LABELS), [language]: label })
  }
  return labels
}
