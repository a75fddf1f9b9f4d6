// Email preference categories on the wire: schemas of the members in requests and responses.
import { Type } from 'typebox'
import { CATEGORY_LABEL_LENGTH_MAX, LABELS_MAX, type CategoryLabels } from '../../core/workspaces/category-labels.ts'
import { Strict, Text, WorkspacePath } from '../fields.ts'

export const CATEGORY_LENGTH_MAX = 256

export const CategoryName = Text(1, CATEGORY_LENGTH_MAX, 'The name, which identifies the category in requests.')

export const CategoryPath = Strict({ ...WorkspacePath.properties, name: CategoryName })

export const LabelsInput = Type.Unsafe<CategoryLabels>({
  type: 'object',
  additionalProperties: Text(1, CATEGORY_LABEL_LENGTH_MAX),
  description:
    'Language tag (BCP 47), such as `de` or `pt-BR` → what recipients read in place of the name, in up to ' +
    `${LABELS_MAX} languages.`,
})

export const CategoryOutput = Type.Object({
  name: Type.String(),
  labels: Type.Record(Type.String(), Type.String(), {
    description: 'Language tag → what recipients read in place of the name.',
  }),
})
