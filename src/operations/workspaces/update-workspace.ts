// Update workspace: changes settings of the workspace, all that the request names or none.
import { Type, type Static } from 'typebox'
import { changeStoredSettings, findStoredFaults, sealFor } from '../../actions/workspaces/change-settings.ts'
import { UnappliedEntries } from '../../actions/workspaces/unapplied-entries.ts'
import type { Fault } from '../../core/app-error.ts'
import { changeSettings, type Workspace } from '../../core/workspace.ts'
import type { Store } from '../../store/store.ts'
import { NoFields, Strict, WorkspacePath } from '../fields.ts'
import { defineOperation, type Partially, type Parts } from '../operation.ts'
import {
  inSettings,
  readSettings,
  refuseSettings,
  SettingsInput,
  toWorkspaceBody,
  WorkspaceOutput,
} from './settings-body.ts'

type SentSettings = Partially<Static<typeof SettingsInput>> | undefined
type SettingParts = Pick<Parts, 'secretVault' | 'emailVault' | 'logReader'>

export const updateWorkspace = defineOperation({
  name: 'update_workspace',
  summary: 'Update workspace',
  description:
    'Changes the settings you send, all of them or none, and returns all settings. A setting that the response shows may ' +
    'be sent back as it is; `set` leaves a key of feedback alone. All servers apply a change within 5 seconds. With ' +
    '`if_revision`, the response is 409 if the workspace has another revision.',
  group: 'Workspace',
  method: 'PATCH',
  url: '/v1/workspaces/:Workspace_ID',
  requires: 'settings.write',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: NoFields,
  body: Strict({
    settings: SettingsInput,
    if_revision: Type.Optional(
      Type.Integer({ minimum: 0, description: 'The `revision` that the caller has read. Null is not taken.' }),
    ),
  }),
  example: { settings: { name: 'Example Shop', 'retention_days.events': 365, 'limits.management_per_minute': 2_000 } },
  faults: ({ workspace, body }) => inSettings(findOwnFaults(workspace, body?.settings)),
  async storedFaults({ workspace, body }, store, parts) {
    return inSettings(await findOtherFaults(store, workspace, { sent: body?.settings, parts }))
  },
  refusals: ['conflict'],
  successStatus: 200,
  output: WorkspaceOutput,
  async handle(request, parts) {
    const { body } = request
    const { texts, faults } = readSettings(body.settings)
    const wanted = { by: request, texts, faults, ifRevision: body.if_revision, refuse: refuseSettings }
    return toWorkspaceBody((await changeStoredSettings(parts.database, wanted, needsOf(parts))).after)
  },
})

/** The faults of the values themselves. Keys of feedback are only checked here, not encrypted. */
function findOwnFaults(workspace: Workspace, sent: SentSettings): Fault[] {
  const { texts, faults } = readSettings(sent)
  return [...faults, ...changeSettings(workspace, texts, (_key, text) => text).faults]
}

/** All other faults. */
async function findOtherFaults(
  store: Store,
  workspace: Workspace,
  { sent, parts }: { readonly sent: SentSettings; readonly parts: SettingParts },
): Promise<Fault[]> {
  const needs = needsOf(parts)
  const changed = changeSettings(workspace, readSettings(sent).texts, sealFor(workspace.id, needs.vault))
  const own = new Set(findOwnFaults(workspace, sent).map(({ field }) => field))
  const unapplied = new UnappliedEntries(needs.openLog, workspace.id)
  const change = { before: workspace, after: changed.settings }
  const stored = await findStoredFaults(store, change, { ...needs, unapplied })
  return [...changed.faults.filter(({ field }) => !own.has(field)), ...stored]
}

function needsOf({ secretVault, emailVault, logReader }: SettingParts) {
  return { vault: secretVault, canEncryptEmails: emailVault !== undefined, openLog: async () => logReader }
}
