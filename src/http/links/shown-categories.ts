// Finds what pages call the categories of a workspace, in the language of their reader.
import { chooseLabel } from '../../core/workspaces/category-labels.ts'
import { findLabelsIn } from '../../store/workspaces/category-labels.ts'
import type { Store } from '../../store/store.ts'
import type { LinkPerson } from './decide-by-link.ts'
import type { ShownCategory } from './pages/preference-page.ts'

/** The categories in their order. One without a label in the language of the page is called by its name. */
export async function labelCategories(
  store: Store,
  { workspaceId, categories }: { readonly workspaceId: string; readonly categories: readonly string[] },
  { language, locale }: Pick<LinkPerson, 'language' | 'locale'>,
): Promise<ShownCategory[]> {
  const labels = await findLabelsIn(store, workspaceId, language)
  return categories.map((name) => ({ name, label: chooseLabel(labels.get(name) ?? {}, language, locale) ?? name }))
}
