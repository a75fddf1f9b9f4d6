// Update category: replaces the labels of an email preference category.
import { labelCategory } from '../../actions/workspaces/change-categories.ts'
import { parseLabels } from '../../core/workspaces/category-labels.ts'
import { NoFields, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { CategoryOutput, CategoryPath, LabelsInput } from './category-body.ts'

export const updateCategory = defineOperation({
  name: 'update_category',
  summary: 'Update category',
  description:
    'Replaces all labels of a category: a language that you leave out has no label any more, and recipients read the name. ' +
    'The name stays, because campaigns, requests and proofs of consent use it.',
  group: 'Workspace',
  method: 'PATCH',
  url: '/v1/workspaces/:Workspace_ID/categories/:name',
  requires: 'categories.write',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: CategoryPath,
  query: NoFields,
  body: Strict({ labels: LabelsInput }),
  example: { labels: { de: 'Angebote', 'pt-BR': 'Ofertas' } },
  faults: ({ body }) => parseLabels(body?.labels ?? {}).faults,
  refusals: ['not_found'],
  successStatus: 200,
  output: CategoryOutput,
  async handle(request, { database }) {
    const { path, body } = request
    const { name } = path
    const { labels } = parseLabels(body.labels)
    await database.write((store) => labelCategory(store, { name, by: request }, labels))
    return { name, labels }
  },
})
