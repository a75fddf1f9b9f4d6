// Adds, labels and removes the email preference categories of a workspace. What people chose stays on record, with the name.
import type { ChangeContext } from '../../core/accounts/audit.ts'
import { AppError } from '../../core/app-error.ts'
import type { CategoryLabels } from '../../core/workspaces/category-labels.ts'
import { appendCategory } from '../../core/workspace.ts'
import type { Store } from '../../store/store.ts'
import { findLabels, saveLabels } from '../../store/workspaces/category-labels.ts'
import { lockWorkspaces, saveSettings } from '../../store/workspaces/workspaces.ts'
import { recordChange, type RecordedChange } from '../audit/record-change.ts'
import { requireWorkspace } from './require-workspace.ts'

/** A category of the workspace of a change. */
export interface NamedCategory {
  readonly name: string
  readonly by: ChangeContext
}

/**
 * Adds a category behind the others. Returns all, and whether it is new: one that exists stays as it is. Throws AppError
 * `invalid_request` if the name cannot be added. Needs a transaction, as all changes below.
 */
export async function addNamedCategory(
  store: Store,
  category: NamedCategory,
  labels: CategoryLabels = {},
): Promise<{ readonly categories: readonly string[]; readonly isNew: boolean }> {
  const { name, by } = category
  const { workspace } = await lockWorkspace(store, by)
  const categories = appendCategory(workspace.categories, name)
  if (typeof categories === 'string') {
    const details = [{ field: 'name', problem: categories }]
    throw new AppError('invalid_request', 'The category cannot be added; nothing was changed.', details)
  }
  if (categories === workspace.categories) return { categories, isNew: false }
  await saveSettings(store, workspace.id, { ...workspace, categories })
  await saveLabels(store, { workspaceId: workspace.id, category: name }, labels)
  await recordCategory(store, category, { action: 'add_category', after: { name, labels } })
  return { categories, isNew: true }
}

/** Replaces all labels of a category. Throws AppError `not_found` if there is no such category. */
export async function labelCategory(store: Store, category: NamedCategory, labels: CategoryLabels): Promise<void> {
  const { name, by } = category
  const { workspace } = await lockWorkspace(store, by)
  requireCategory(workspace.categories, name)
  const before = await labelsOf(store, category)
  await saveLabels(store, { workspaceId: workspace.id, category: name }, labels)
  const bodies = { before: { name, labels: before }, after: { name, labels } }
  await recordCategory(store, category, { action: 'update_category', ...bodies })
}

/** Removes a category with its labels, and returns the others. Throws AppError `not_found` if there is no such category. */
export async function removeNamedCategory(store: Store, category: NamedCategory): Promise<readonly string[]> {
  const { name, by } = category
  const { workspace } = await lockWorkspace(store, by)
  requireCategory(workspace.categories, name)
  const categories = workspace.categories.filter((other) => other !== name)
  const before = { name, labels: await labelsOf(store, category) }
  await saveSettings(store, workspace.id, { ...workspace, categories })
  await saveLabels(store, { workspaceId: workspace.id, category: name }, {})
  await recordCategory(store, category, { action: 'remove_category', before })
  return categories
}

async function lockWorkspace(store: Store, { workspace }: ChangeContext) {
  await lockWorkspaces(store)
  return requireWorkspace(store, workspace.id)
}

async function labelsOf(store: Store, { name, by }: NamedCategory): Promise<CategoryLabels> {
  return (await findLabels(store, by.workspace.id, [name])).get(name) ?? {}
}

function recordCategory(
  store: Store,
  { name, by }: NamedCategory,
  change: Pick<RecordedChange, 'action' | 'before' | 'after'>,
): Promise<void> {
  return recordChange(store, by, { kind: 'category', id: name, name, ...change })
}

function requireCategory(categories: readonly string[], name: string): void {
  if (categories.includes(name)) return
  throw new AppError('not_found', `The category ${JSON.stringify(name)} does not exist.`)
}
