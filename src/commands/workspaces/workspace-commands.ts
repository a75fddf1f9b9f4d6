// `workspace create|list|show|set`: creates workspaces, and shows and changes their settings. Keys are printed only once.
import { findClosest } from '../../app/closest-name.ts'
import type { Config } from '../../app/config.ts'
import { AppError, type Fault } from '../../core/app-error.ts'
import { toIso } from '../../core/time-value.ts'
import {
  changeSettings,
  DEFAULT_SETTINGS,
  SETTING_KEYS,
  WORKSPACE_ID,
  type Workspace,
  type WorkspaceSettings,
} from '../../core/workspace.ts'
import { createWorkspace, type NewWorkspace } from '../../actions/create-workspace.ts'
import type { Database, Store } from '../../store/store.ts'
import { listWorkspaces, lockWorkspaces, saveSettings } from '../../store/workspaces/workspaces.ts'
import type { Command } from '../command.ts'
import { findFixedFaults, prepareFixedFaults } from './fixed-settings.ts'
import { UnappliedEntries } from './unapplied-entries.ts'
import { requireWorkspace, withPreparedStore, withStore } from '../with-store.ts'

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
    const made = await withPreparedStore(config, (database) => createWorkspace(database, id, settings, Date.now()))
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
  const idFaults = WORKSPACE_ID.test(id) ? [] : [{ field: 'ID', problem: 'must be 1 to 64 letters, digits, _ and -' }]
  if (faults.length + idFaults.length === 0) return settings
  throw new AppError('invalid_request', 'The workspace cannot be created.', [...idFaults, ...faults])
}

interface Assigned {
  readonly id: string
  readonly assignments: readonly string[]
}

/**
 * Scans the log before the transaction if the change depends on it: pipelines wait for the transaction, and the log may be across a
 * network.
 */
async function setSettings(database: Database, config: Config, assigned: Assigned): Promise<Workspace> {
  const unapplied = new UnappliedEntries(config, assigned.id)
  try {
    const { workspace } = await requireWorkspace(database, assigned.id)
    const { settings } = changeSettings(workspace, readAssignments(assigned.assignments).texts)
    await prepareFixedFaults(database, unapplied, { before: workspace, after: settings })
    return await database.write((store) => saveAssigned(store, { ...assigned, config, unapplied }))
  } finally {
    await unapplied.close()
  }
}

/** Changes settings in one transaction that excludes other changes of workspaces. */
async function saveAssigned(
  store: Store,
  { id, assignments, config, unapplied }: Assigned & { readonly config: Config; readonly unapplied: UnappliedEntries },
): Promise<Workspace> {
  await lockWorkspaces(store)
  const { workspace } = await requireWorkspace(store, id)
  const { texts, faults } = readAssignments(assignments)
  const changed = changeSettings(workspace, texts)
  faults.push(
    ...changed.faults,
    ...(await findFixedFaults(store, unapplied, { before: workspace, after: changed.settings })),
  )
  const encryptsNow = changed.settings.emailProtection === 'encrypted' && workspace.emailProtection !== 'encrypted'
  if (encryptsNow && !config.piiKey) {
    faults.push({ field: 'email_protection', problem: 'can be encrypted only when PII_KEY is set' })
  }
  if (faults.length > 0) throw new AppError('invalid_request', 'The values are invalid; nothing was changed.', faults)
  await saveSettings(store, id, changed.settings)
  return { ...workspace, ...changed.settings }
}

function readAssignments(assignments: readonly string[]): { texts: Record<string, string>; faults: Fault[] } {
  const texts = new Map<string, string>()
  const faults: Fault[] = []
  for (const assignment of assignments) {
    const [, key, text] = /^([^=]+)=(.*)$/s.exec(assignment) ?? []
    if (key === undefined || text === undefined) faults.push({ field: assignment, problem: 'must be KEY=VALUE' })
    else if (!SETTING_KEYS.includes(key)) faults.push({ field: key, problem: unknownProblem(key) })
    else if (texts.has(key)) faults.push({ field: key, problem: 'can be given only once' })
    else texts.set(key, text)
  }
  return { texts: Object.fromEntries(texts), faults }
}

function unknownProblem(key: string): string {
  const closest = findClosest(key, SETTING_KEYS)
  return closest === undefined ? 'is not a workspace setting' : `is not a workspace setting; did you mean ${closest}?`
}

function toSettingsBody(workspace: Workspace) {
  return {
    workspace_id: workspace.id,
    name: workspace.name,
    timezone: workspace.timezone,
    suspended: workspace.suspended,
    email_protection: workspace.emailProtection,
    identity_resolution: workspace.identityResolution,
    joined_customer_ids_max: workspace.joinedCustomerIdsMax,
    project_codes: workspace.projectCodes,
    categories: workspace.categories,
    clock_skew_seconds: workspace.clockSkewSeconds,
    retention_days: { events: workspace.eventRetentionDays },
    limits: workspace.limits,
    created_at: toIso(workspace.createdAt),
  }
}

/** One setting per line, as `workspace set` takes it, lists with commas; also fixed properties such as the id. */
function toSettingsText(workspace: Workspace): string {
  const { limits, retention_days: retention, ...settings } = toSettingsBody(workspace)
  const rows = [
    ...Object.entries(settings).map(([key, value]) => `${key}=${String(value)}\n`),
    `retention_days.events=${retention.events ?? 'off'}\n`,
    ...Object.entries(limits).map(([name, units]) => `limits.${name}=${units}\n`),
  ]
  return rows.join('')
}
