// Remove category: people can no longer decide about a category. What they chose stays on record.
import { removeNamedCategory } from '../../actions/workspaces/change-categories.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { CategoryPath } from './category-body.ts'

export const removeCategory = defineOperation({
  name: 'remove_category',
  summary: 'Remove category',
  description:
    'Removes a category with its labels. The choices of users and the proofs of them stay, and hold again if the category ' +
    'is added again.',
  group: 'Workspace',
  method: 'DELETE',
  url: '/v1/workspaces/:Workspace_ID/categories/:name',
  requires: 'categories.write',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: CategoryPath,
  query: NoFields,
  body: null,
  refusals: ['not_found'],
  successStatus: 204,
  output: null,
  async handle(request, { database }) {
    const { name } = request.path
    await database.write((store) => removeNamedCategory(store, { name, by: request }))
  },
})
