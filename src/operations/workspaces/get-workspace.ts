// Get workspace: returns the settings of the workspace, without secrets.
import { requireWorkspace } from '../../actions/workspaces/require-workspace.ts'
import { NoFields, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { toWorkspaceBody, WorkspaceOutput } from './settings-body.ts'

export const getWorkspace = defineOperation({
  name: 'get_workspace',
  summary: 'Get workspace',
  description:
    'Returns all settings of the workspace. Keys of feedback are shown only as `set`, or null. Categories have operations ' +
    'of their own.',
  group: 'Workspace',
  method: 'GET',
  url: '/v1/workspaces/:Workspace_ID',
  requires: 'settings.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: NoFields,
  body: null,
  successStatus: 200,
  output: WorkspaceOutput,
  async handle({ workspace }, { database }) {
    return toWorkspaceBody(await requireWorkspace(database, workspace.id))
  },
})
