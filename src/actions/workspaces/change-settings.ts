// Changes settings of a workspace by texts: all of them, or none. Finds every fault, also those that depend on what is stored.
import type { ChangeContext } from '../../core/accounts/audit.ts'
import { AppError, type Fault } from '../../core/app-error.ts'
import { isFeedbackSetting, type SealFeedbackKey } from '../../core/delivery/delivery-settings.ts'
import { changeSettings, listChangedSettings, type SettingTexts, type Workspace } from '../../core/workspace.ts'
import { toSettingValues } from '../../core/workspaces/setting-values.ts'
import type { SecretVault } from '../../store/secret-vault.ts'
import { findSender, keepSenders } from '../../store/senders/senders.ts'
import type { Database, Store } from '../../store/store.ts'
import { sealFeedbackKey } from '../../store/workspaces/feedback-keys.ts'
import { lockWorkspaces, saveSettings, type StoredWorkspace } from '../../store/workspaces/workspaces.ts'
import { recordChange } from '../audit/record-change.ts'
import { findFixedFaults, lockForFixed, prepareFixedFaults, type SettingsChange } from './fixed-settings.ts'
import { requireWorkspace } from './require-workspace.ts'
import { UnappliedEntries, type OpenLog } from './unapplied-entries.ts'

export interface WantedSettings {
  /** Who changes the settings of which workspace. */
  readonly by: ChangeContext
  /** By the keys of `SETTING_KEYS`. */
  readonly texts: SettingTexts
  /** What the caller found wrong in its input. Reported with all other faults. */
  readonly faults: readonly Fault[]
  /** The revision of the workspace that the caller knows; undefined: it does not matter. */
  readonly ifRevision?: number | undefined
  /** The error for faults, whose `field` is a key. */
  readonly refuse: (faults: readonly Fault[]) => AppError
}

/** What settings need of the server. */
export interface SettingsNeeds {
  /** Undefined: keys of feedback cannot be stored. */
  readonly vault: SecretVault | undefined
  /** Whether there is a PII_KEY. */
  readonly canEncryptEmails: boolean
  readonly openLog: OpenLog
}

export interface ChangedSettings {
  readonly before: StoredWorkspace
  readonly after: StoredWorkspace
}

/**
 * Throws the error of `refuse`, AppError `conflict` for another revision, and `not_found` without the workspace. Scans the log before
 * the transaction if the change depends on it: pipelines wait for the transaction, and the log may be across a network.
 */
export async function changeStoredSettings(
  database: Database,
  wanted: WantedSettings,
  needs: SettingsNeeds,
): Promise<ChangedSettings> {
  const { id } = wanted.by.workspace
  const unapplied = new UnappliedEntries(needs.openLog, id)
  const { workspace } = await requireWorkspace(database, id)
  const { settings } = changeSettings(workspace, wanted.texts)
  await prepareFixedFaults(database, unapplied, { before: workspace, after: settings })
  return database.write((store) => saveWanted(store, wanted, { needs, unapplied }))
}

/** Changes settings in one transaction that excludes other changes of workspaces. */
async function saveWanted(
  store: Store,
  { by, texts, faults, ifRevision, refuse }: WantedSettings,
  { needs, unapplied }: { readonly needs: SettingsNeeds; readonly unapplied: UnappliedEntries },
): Promise<ChangedSettings> {
  const { id } = by.workspace
  await lockWorkspaces(store)
  const before = await requireWorkspace(store, id)
  if (ifRevision !== undefined && ifRevision !== before.revision) throw changedMeanwhile(before)
  const changed = changeSettings(before.workspace, texts, sealFor(id, needs.vault))
  const change = { before: before.workspace, after: changed.settings }
  await lockForFixed(store, change)
  // A sender that is deleted at the same moment waits for this transaction, and is then refused.
  if (namesNewSender(change)) await keepSenders(store)
  const stored = await findStoredFaults(store, change, { ...needs, unapplied })
  const found = [...faults, ...changed.faults, ...stored]
  if (found.length > 0) throw refuse(found)
  await saveSettings(store, id, changed.settings)
  const after = await requireWorkspace(store, id)
  await recordSettings(store, by, { before: before.workspace, after: after.workspace })
  return { before, after }
}

/** Of keys of feedback, the trail says only that there is one, and that it was replaced. */
async function recordSettings(
  store: Store,
  by: ChangeContext,
  { before, after }: { readonly before: Workspace; readonly after: Workspace },
): Promise<void> {
  const [earlier, later] = [toSettingValues(before), toSettingValues(after)]
  const secrets = listChangedSettings(before, after).filter(
    (key) => isFeedbackSetting(key) && earlier[key] === later[key],
  )
  const change = { kind: 'workspace', id: after.id, name: after.name, action: 'update_workspace' } as const
  await recordChange(store, by, { ...change, before: earlier, after: later, secrets })
}

/** The faults that only the store and the server's own settings show. Outside of a transaction, they may be others later. */
export async function findStoredFaults(
  store: Store,
  change: SettingsChange,
  { canEncryptEmails, unapplied }: Pick<SettingsNeeds, 'canEncryptEmails'> & { readonly unapplied: UnappliedEntries },
): Promise<Fault[]> {
  const { before, after } = change
  const faults = [...(await findFixedFaults(store, unapplied, change)), ...(await findSenderFaults(store, change))]
  const encryptsNow = after.emailProtection === 'encrypted' && before.emailProtection !== 'encrypted'
  if (!encryptsNow || canEncryptEmails) return faults
  return [...faults, { field: 'email_protection', problem: 'can be encrypted only when PII_KEY is set' }]
}

/** Undefined without a vault: then keys of feedback are refused. */
export function sealFor(workspaceId: string, vault: SecretVault | undefined): SealFeedbackKey | undefined {
  return vault && ((key, text) => sealFeedbackKey(vault, workspaceId, key, text))
}

async function findSenderFaults(store: Store, change: SettingsChange): Promise<Fault[]> {
  const { before, after } = change
  if (!namesNewSender(change) || (await findSender(store, before.id, after.alertSenderId ?? ''))) return []
  return [{ field: 'alert_sender_id', problem: 'must be the id of a sender in the workspace, or off' }]
}

function namesNewSender({ before, after }: SettingsChange): boolean {
  return after.alertSenderId !== null && after.alertSenderId !== before.alertSenderId
}

function changedMeanwhile({ revision }: StoredWorkspace): AppError {
  const details = [{ field: 'if_revision', problem: `must be ${revision}, the current revision` }]
  return new AppError('conflict', 'The workspace has changed since you read it; nothing was saved.', details)
}
