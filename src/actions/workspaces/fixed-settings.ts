// The settings that cannot change once stored data depends on them.
import type { Fault } from '../../core/app-error.ts'
import type { Workspace, WorkspaceSettings } from '../../core/workspace.ts'
import { PIPELINE_CURSOR } from '../../store/entries/cursors.ts'
import { hasParkedEntries } from '../../store/entries/parked-entries.ts'
import { hasStatistics } from '../../store/statistics/series-counts.ts'
import type { Store } from '../../store/store.ts'
import { hasUsers } from '../../store/users/user-counts.ts'
import type { UnappliedEntries } from './unapplied-entries.ts'

interface FixedSetting {
  readonly key: string
  readonly setting: keyof WorkspaceSettings
  /** Why it cannot be changed, as a phrase that follows "cannot be changed"; undefined if it can. */
  readonly findObstacle: (store: Store, workspaceId: string, unapplied: UnappliedEntries) => Promise<string | undefined>
}

const FIXED_SETTINGS: readonly FixedSetting[] = [
  { key: 'timezone', setting: 'timezone', findObstacle: findZoneObstacle },
  { key: 'email_protection', setting: 'emailProtection', findObstacle: findProtectionObstacle },
]

export interface SettingsChange {
  readonly before: Workspace
  readonly after: WorkspaceSettings
}

/** Reads the log ahead of `findFixedFaults`, which makes pipelines wait while it reads. Call it before the transaction. */
export async function prepareFixedFaults(
  store: Store,
  unapplied: UnappliedEntries,
  { before, after }: SettingsChange,
): Promise<void> {
  if (before.emailProtection === after.emailProtection || (await hasUsers(store, before.id))) return
  await unapplied.scanAhead(store)
}

/** Waits for a batch that is being applied with the old settings. Call it in the transaction, before `findFixedFaults`. */
export async function lockForFixed(store: Store, { before, after }: SettingsChange): Promise<void> {
  if (FIXED_SETTINGS.some(({ setting }) => before[setting] !== after[setting])) await store.lock(PIPELINE_CURSOR)
}

/** The changed settings that the data of a workspace fixes. */
export async function findFixedFaults(
  store: Store,
  unapplied: UnappliedEntries,
  { before, after }: SettingsChange,
): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const { key, setting, findObstacle } of FIXED_SETTINGS) {
    if (before[setting] === after[setting]) continue
    const obstacle = await findObstacle(store, before.id, unapplied)
    if (obstacle !== undefined) faults.push({ field: key, problem: `cannot be changed ${obstacle}` })
  }
  return faults
}

async function findZoneObstacle(store: Store, workspaceId: string): Promise<string | undefined> {
  return (await hasStatistics(store, workspaceId)) ? 'once the workspace has statistics' : undefined
}

/** Entries in the log and parked entries hold addresses too, protected by the setting at that time. */
async function findProtectionObstacle(
  store: Store,
  workspaceId: string,
  unapplied: UnappliedEntries,
): Promise<string | undefined> {
  if ((await hasUsers(store, workspaceId)) || (await unapplied.exist(store))) return 'once the workspace has users'
  const isParked = await hasParkedEntries(store, workspaceId)
  return isParked ? 'while entries are parked: replay or drop them first' : undefined
}
