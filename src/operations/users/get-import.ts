// Get import: returns how far an import is.
import { AppError } from '../../core/app-error.ts'
import { findImport } from '../../store/users/imports.ts'
import { NoFields, Strict, Text, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { ImportOutput, toImportBody } from './import-body.ts'

const IMPORT_ID_LENGTH_MAX = 64

export const getImport = defineOperation({
  name: 'get_import',
  summary: 'Get import',
  description: 'Returns how far an import is, for 30 days.',
  group: 'Events and users',
  method: 'GET',
  url: '/v1/customer/:Workspace_ID/import/:import_id',
  requires: 'users.write',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: Strict({
    ...WorkspacePath.properties,
    import_id: Text(1, IMPORT_ID_LENGTH_MAX, 'The `import_id` of the response.'),
  }),
  query: NoFields,
  body: null,
  refusals: ['not_found'],
  successStatus: 200,
  output: ImportOutput,
  async handle({ path, workspace }, { database, clock }) {
    const stored = await findImport(database, workspace.id, path.import_id)
    if (stored) return toImportBody(stored, clock())
    throw new AppError('not_found', 'The workspace has no import with this id, or it is older than 30 days.')
  },
})
