// Settings on which stored data depends: they stay as they are once there is some.
import type { Fault } from '../core/app-error.ts'
import type { Workspace, WorkspaceSettings } from '../core/workspace.ts'
import { PIPELINE_CURSOR } from '../store/cursors.ts'
import { hasStatistics } from '../store/series-counts.ts'
import type { Store } from '../store/store.ts'
import { hasUsers } from '../store/users.ts'
import type { UnappliedEntries } from './unapplied-entries.ts'

interface FixedSetting {
  readonly key: string
  readonly setting: keyof WorkspaceSettings
  readonly isFixed: (store: Store, workspaceId: string, unapplied: UnappliedEntries) => Promise<boolean>
  readonly since: string
}

const FIXED_SETTINGS: readonly FixedSetting[] = [
  { key: 'timezone', setting: 'timezone', isFixed: hasStatistics, since: 'once there are statistics' },
  { key: 'email_protection', setting: 'emailProtection', isFixed: hasUsersOrEntries, since: 'once there are users' },
]

export interface SettingsChange {
  readonly before: Workspace
  readonly after: WorkspaceSettings
}

/** Reads what `findFixedFaults` would have to read while pipelines wait. To be called before the transaction. */
export async function prepareFixedFaults(
  store: Store,
  unapplied: UnappliedEntries,
  { before, after }: SettingsChange,
): Promise<void> {
  if (before.emailProtection === after.emailProtection || (await hasUsers(store, before.id))) return
  await unapplied.lookAhead(store)
}

/** Faults of a change that the data of a workspace no longer allows. To be asked in the transaction of the change. */
export async function findFixedFaults(
  store: Store,
  unapplied: UnappliedEntries,
  { before, after }: SettingsChange,
): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const { key, setting, isFixed, since } of FIXED_SETTINGS) {
    if (before[setting] === after[setting]) continue
    // A batch that is being applied with the settings of before is waited for.
    await store.lock(PIPELINE_CURSOR)
    if (!(await isFixed(store, before.id, unapplied))) continue
    faults.push({ field: key, problem: `cannot be changed ${since}` })
  }
  return faults
}

/** Users whose first request is still in the log count too: it holds their addresses as they were protected then. */
async function hasUsersOrEntries(store: Store, workspaceId: string, unapplied: UnappliedEntries): Promise<boolean> {
  return (await hasUsers(store, workspaceId)) || (await unapplied.areThere(store))
}
