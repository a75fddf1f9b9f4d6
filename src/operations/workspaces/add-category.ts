// Add category: adds an email preference category, about which people can decide at once.
import { Type } from 'typebox'
import { addNamedCategory } from '../../actions/workspaces/change-categories.ts'
import { AppError, type Fault } from '../../core/app-error.ts'
import { appendCategory, CATEGORIES_MAX } from '../../core/workspace.ts'
import { parseLabels } from '../../core/workspaces/category-labels.ts'
import { lockWorkspaces } from '../../store/workspaces/workspaces.ts'
import { createOnce } from '../create-once.ts'
import { NoFields, Strict, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { CategoryName, CategoryOutput, LabelsInput } from './category-body.ts'

export const addCategory = defineOperation({
  name: 'add_category',
  summary: 'Add category',
  description:
    'Adds an email preference category behind the others. Requests that name it are accepted at once, and the preference ' +
    `page shows it. A workspace has at most ${CATEGORIES_MAX}. A name that is taken is 409.`,
  group: 'Workspace',
  method: 'POST',
  url: '/v1/workspaces/:Workspace_ID/categories',
  requires: 'categories.write',
  takesAppKey: false,
  takesIdempotencyKey: true,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: NoFields,
  body: Strict({ name: CategoryName, labels: Type.Optional(LabelsInput) }),
  example: { name: 'Offers', labels: { de: 'Angebote', fr: 'Offres' } },
  faults({ workspace, body }) {
    const problem = body?.name === undefined ? undefined : appendCategory(workspace.categories, body.name)
    const faults: Fault[] = typeof problem === 'string' ? [{ field: 'name', problem }] : []
    return [...faults, ...parseLabels(body?.labels ?? {}).faults]
  },
  refusals: ['conflict'],
  successStatus: 201,
  output: CategoryOutput,
  handle(request, parts) {
    const { body } = request
    const { name } = body
    const { labels } = parseLabels(body.labels ?? {})
    return createOnce(request, parts, {
      operation: 'add_category',
      lock: lockWorkspaces,
      async create(store) {
        const { isNew } = await addNamedCategory(store, { name, by: request }, labels)
        if (!isNew) throw new AppError('conflict', `The category ${JSON.stringify(name)} already exists.`)
        return { name, labels }
      },
    })
  },
})
