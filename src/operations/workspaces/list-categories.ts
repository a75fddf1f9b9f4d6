// List categories: returns a page of the email preference categories of the workspace, with their labels.
import { Type } from 'typebox'
import { requireWorkspace } from '../../actions/workspaces/require-workspace.ts'
import { invalidRequest, type Fault } from '../../core/app-error.ts'
import { CATEGORIES_MAX } from '../../core/workspace.ts'
import type { Store } from '../../store/store.ts'
import { findLabels } from '../../store/workspaces/category-labels.ts'
import { findCategories } from '../../store/workspaces/workspaces.ts'
import { Nullable, Strict, Text, WorkspacePath } from '../fields.ts'
import { JsonText } from '../json-text.ts'
import { defineOperation } from '../operation.ts'
import { PAGE_SIZE_LIMIT, readPage } from '../read-page.ts'
import { CATEGORY_LENGTH_MAX, CategoryOutput } from './category-body.ts'

const UNKNOWN_AFTER: Fault = { field: 'query.after', problem: 'is not a category of the workspace' }

export const listCategories = defineOperation({
  name: 'list_categories',
  summary: 'List categories',
  description:
    'Returns the email preference categories of the workspace in their order, which is that of the preference page. A ' +
    `workspace has at most ${CATEGORIES_MAX}. A page ends early if it would exceed ${PAGE_SIZE_LIMIT} as JSON: send its ` +
    '`next_after` as `after` to get the next one. It is null on the last page.',
  group: 'Workspace',
  method: 'GET',
  url: '/v1/workspaces/:Workspace_ID/categories',
  requires: 'categories.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: Strict({
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: CATEGORIES_MAX,
        default: CATEGORIES_MAX,
        description: 'Categories per page.',
      }),
    ),
    after: Type.Optional(Text(1, CATEGORY_LENGTH_MAX, 'The name of a category: the page begins behind it.')),
  }),
  body: null,
  async storedFaults({ workspace, query: { after } }, store) {
    return after === undefined || (await findCategories(store, workspace.id)).has(after) ? [] : [UNKNOWN_AFTER]
  },
  successStatus: 200,
  output: Type.Object({ data: Type.Array(CategoryOutput), next_after: Nullable(Type.String()) }),
  // A page with many labels takes megabytes of memory, so each workspace gets one page at a time.
  handle: ({ workspace: { id, limits }, query }, { database, queue }) =>
    queue.run(`categories ${id}`, () => list(database, id, query), limits.management_per_minute),
})

interface Query {
  readonly limit?: number
  readonly after?: string
}

/** A category by its place in the list. */
interface Place {
  readonly index: number
}

async function list(store: Store, workspaceId: string, query: Query): Promise<JsonText> {
  const { categories } = (await requireWorkspace(store, workspaceId)).workspace
  const { limit = CATEGORIES_MAX, after } = query
  const index = after === undefined ? -1 : categories.indexOf(after)
  if (after !== undefined && index < 0) throw invalidRequest([UNKNOWN_AFTER])
  const { items, last } = await readPage({
    before: { index },
    limit,
    async read({ before, max }: { readonly before: Place | undefined; readonly max: number }) {
      const start = (before?.index ?? -1) + 1
      const names = categories.slice(start, start + max)
      const labels = await findLabels(store, workspaceId, names)
      return names.map((name, offset) => ({ index: start + offset, name, labels: labels.get(name) ?? {} }))
    },
    write: ({ name, labels }) => JSON.stringify({ name, labels }),
  })
  return JsonText.objectBeginningWith('data', items, { next_after: last?.name ?? null })
}
