// Settings on which stored data depends: they stay as they are once there is some.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { Fault } from '../core/app-error.ts'
import type { Workspace, WorkspaceSettings } from '../core/workspace.ts'
import { openSqliteLogReader } from '../log/sqlite-log-reader.ts'
import { findCursor, PIPELINE_CURSOR } from '../store/cursors.ts'
import { LOG_FILE } from '../store/open-database.ts'
import { hasStatistics } from '../store/statistics.ts'
import type { Store } from '../store/store.ts'
import { hasUsers } from '../store/users.ts'

interface FixedSetting {
  readonly key: string
  readonly setting: keyof WorkspaceSettings
  readonly isFixed: (store: Store, workspaceId: string, config: Config) => Promise<boolean>
  readonly since: string
}

const FIXED_SETTINGS: readonly FixedSetting[] = [
  { key: 'timezone', setting: 'timezone', isFixed: hasStatistics, since: 'once there are statistics' },
  { key: 'email_protection', setting: 'emailProtection', isFixed: hasUsersOrEntries, since: 'once there are users' },
]

/** Faults of a change that the data of a workspace no longer allows. To be asked in the transaction of the change. */
export async function findFixedFaults(
  store: Store,
  config: Config,
  { before, after }: { readonly before: Workspace; readonly after: WorkspaceSettings },
): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const { key, setting, isFixed, since } of FIXED_SETTINGS) {
    if (before[setting] === after[setting] || !(await isFixed(store, before.id, config))) continue
    faults.push({ field: key, problem: `cannot be changed ${since}` })
  }
  return faults
}

/** Users whose first request is still in the log count too: it holds their addresses as they were protected then. */
async function hasUsersOrEntries(store: Store, workspaceId: string, { dataDir }: Config): Promise<boolean> {
  if (await hasUsers(store, workspaceId)) return true
  const path = join(dataDir, LOG_FILE)
  return existsSync(path) && hasEntries(path, workspaceId, await findCursor(store, PIPELINE_CURSOR))
}

const READ_BOUNDS = { entries: 1_000, bytes: 4 * 1024 * 1024 }

async function hasEntries(logPath: string, workspaceId: string, after: number): Promise<boolean> {
  const log = openSqliteLogReader(logPath)
  try {
    for (let position = after; ;) {
      const entries = await log.read(position, READ_BOUNDS)
      if (entries.some((entry) => entry.workspaceId === workspaceId)) return true
      const last = entries.at(-1)
      if (!last) return false
      position = last.position
    }
  } finally {
    await log.close()
  }
}
