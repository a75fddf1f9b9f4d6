// Changes settings of a workspace by `KEY=VALUE` texts: all of them, or none.
import { findClosest } from '../../app/closest-name.ts'
import type { Config } from '../../app/config.ts'
import { openSecretVault } from '../../app/settings/secret-key.ts'
import { AppError, type Fault } from '../../core/app-error.ts'
import { isFeedbackSetting, type SealFeedbackKey } from '../../core/delivery/delivery-settings.ts'
import { changeSettings, SETTING_KEYS, type SettingTexts, type Workspace } from '../../core/workspace.ts'
import { findSender, keepSenders } from '../../store/senders/senders.ts'
import type { Database, Store } from '../../store/store.ts'
import { sealFeedbackKey } from '../../store/workspaces/feedback-keys.ts'
import { lockWorkspaces, saveSettings } from '../../store/workspaces/workspaces.ts'
import { requireWorkspace } from '../with-store.ts'
import { findFixedFaults, prepareFixedFaults, type SettingsChange } from './fixed-settings.ts'
import { UnappliedEntries } from './unapplied-entries.ts'

export interface Assigned {
  readonly id: string
  readonly assignments: readonly string[]
}

/**
 * Scans the log before the transaction if the change depends on it: pipelines wait for the transaction, and the log may be across a
 * network.
 */
export async function setSettings(database: Database, config: Config, assigned: Assigned): Promise<Workspace> {
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
  const changed = changeSettings(workspace, texts, toSeal(config, id, texts))
  faults.push(
    ...changed.faults,
    ...(await findFixedFaults(store, unapplied, { before: workspace, after: changed.settings })),
    ...(await findSenderFaults(store, { before: workspace, after: changed.settings })),
  )
  const encryptsNow = changed.settings.emailProtection === 'encrypted' && workspace.emailProtection !== 'encrypted'
  if (encryptsNow && !config.piiKey) {
    faults.push({ field: 'email_protection', problem: 'can be encrypted only when PII_KEY is set' })
  }
  if (faults.length > 0) throw new AppError('invalid_request', 'The values are invalid; nothing was changed.', faults)
  await saveSettings(store, id, changed.settings)
  return { ...workspace, ...changed.settings }
}

/** Undefined if there is nothing to encrypt, or no key: so a store gets one only when it needs one. */
function toSeal(config: Config, id: string, texts: SettingTexts): SealFeedbackKey | undefined {
  const vault = Object.keys(texts).some(isFeedbackSetting) ? openSecretVault(config) : undefined
  return vault && ((key, text) => sealFeedbackKey(vault, id, key, text))
}

/** A sender that is deleted at the same moment waits for this transaction, and is then refused. */
async function findSenderFaults(store: Store, { before, after }: SettingsChange): Promise<Fault[]> {
  const { alertSenderId: id } = after
  if (id === null || id === before.alertSenderId) return []
  await keepSenders(store)
  if (await findSender(store, before.id, id)) return []
  return [{ field: 'alert_sender_id', problem: 'must be the id of a sender in the workspace, or off' }]
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
