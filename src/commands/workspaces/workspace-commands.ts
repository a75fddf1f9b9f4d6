// `workspace create|list|show|set`: creates workspaces, and shows and changes their settings. Keys are printed only once.
import { requireWorkspace } from '../../actions/workspaces/require-workspace.ts'
import { AppError } from '../../core/app-error.ts'
import { changeSettings, DEFAULT_SETTINGS, type WorkspaceSettings } from '../../core/workspace.ts'
import { workspaceIdProblem } from '../../core/workspaces/workspace-id.ts'
import { createWorkspace, type NewWorkspace } from '../../actions/create-workspace.ts'
import { listWorkspaces } from '../../store/workspaces/workspaces.ts'
import { changedByCommand } from '../audit/changed-by-command.ts'
import type { Command } from '../command.ts'
import { withPreparedStore, withStore } from '../with-store.ts'
import { setSettings } from './set-settings.ts'
import { toSettingsBody, toSettingsText } from './shown-settings.ts'

const create: Command = {
  name: 'workspace create',
  operands: ['ID'],
  options: {
    name: { value: 'N', summary: 'Display name. Default: the id.' },
    timezone: { value: 'ZONE', summary: 'IANA time zone for its calendar days. Default: UTC.' },
  },
  summary: 'Creates a workspace and prints its keys, which are shown only once.',
  details: 'ID: 1 to 64 letters, digits, _ and -. A running server can use the workspace at once.',
  async run({ config, operands: [id = ''], option, print }) {
    const settings = initialSettings(id, { name: option('name'), timezone: option('timezone') })
    const made = await withPreparedStore(config, (database) =>
      createWorkspace(database, id, settings, Date.now(), changedByCommand(id)),
    )
    print({ json: toKeysBody(made), text: `${toKeysText(made)}\n`, ifUnwritten: ifKeysUnwritten(made) })
  },
}

const list: Command = {
  name: 'workspace list',
  operands: [],
  options: {},
  summary: 'Lists all workspaces with their settings.',
  async run({ config, print }) {
    const stored = await withStore(config, listWorkspaces)
    const lines = stored.map(
      ({ workspace }) => `${workspace.id}  ${workspace.name}${workspace.suspended ? '  (suspended)' : ''}\n`,
    )
    print({ json: { workspaces: stored.map(({ workspace }) => toSettingsBody(workspace)) }, text: lines.join('') })
  },
}

const show: Command = {
  name: 'workspace show',
  operands: ['ID'],
  options: {},
  summary: 'Shows the settings of a workspace.',
  async run({ config, operands: [id = ''], print }) {
    const { workspace } = await withStore(config, (database) => requireWorkspace(database, id))
    print({ json: toSettingsBody(workspace), text: toSettingsText(workspace) })
  },
}

const set: Command = {
  name: 'workspace set',
  operands: ['ID', 'KEY=VALUE…'],
  options: {},
  summary: 'Changes settings, all or none. A running server applies them within 5 seconds.',
  details: [
    'Settings: name, timezone, suspended (true, false), email_protection (none, tokenized, encrypted),',
    'identity_resolution and project_codes (comma-separated; empty turns them off), joined_customer_ids_max,',
    'clock_skew_seconds, retention_days.events (older events are deleted; off keeps them), limits.NAME.',
    'For campaigns that Tidings sends: global_control_percent (0 to 15), frequency_caps (such as 1/1d,3/7d),',
    'alert_sender_id (the sender of alerts; off), and the keys of feedback that mail services send, which are stored',
    'encrypted: feedback.sendgrid_key, feedback.mailgun_key, feedback.postmark_key (USER:PASSWORD), feedback.ses_topic',
    '(ARNs, comma-separated). off removes one.',
    '`workspace show` prints all settings.',
  ].join('\n'),
  async run({ config, operands: [id = '', ...assignments], print }) {
    const workspace = await withStore(config, (database) => setSettings(database, config, { id, assignments }))
    print({ json: toSettingsBody(workspace), text: toSettingsText(workspace) })
  },
}

export const workspaceCommands: readonly Command[] = [create, list, show, set]

/** The keys as `workspace create` and the first start print them. */
export function toKeysBody({ id, dataKey, reportsKey }: NewWorkspace) {
  return { workspace_id: id, data_key: dataKey, reports_key: reportsKey }
}

export function toKeysText({ id, dataKey, reportsKey }: NewWorkspace): string {
  return [`workspace id  ${id}`, `data key      ${dataKey}`, `reports key   ${reportsKey}`].join('\n')
}

/** What to do if nobody has read the keys. */
export function ifKeysUnwritten({ id }: NewWorkspace): string {
  return `The keys of the workspace ${id} are lost: replace them with \`tidings key generate\`.`
}

function initialSettings(id: string, given: Readonly<Record<string, string | undefined>>): WorkspaceSettings {
  const texts = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const { settings, faults } = changeSettings({ ...DEFAULT_SETTINGS, name: id }, Object.fromEntries(texts))
  const problem = workspaceIdProblem(id)
  const idFaults = problem === undefined ? [] : [{ field: 'ID', problem }]
  if (faults.length + idFaults.length === 0) return settings
  throw new AppError('invalid_request', 'The workspace cannot be created.', [...idFaults, ...faults])
}
