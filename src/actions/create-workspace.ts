// Creates a workspace with a key for each tile. Returns the keys; the store keeps only their hashes.
import { AppError } from '../core/app-error.ts'
import { DEFAULT_SETTINGS, type WorkspaceSettings } from '../core/workspace.ts'
import { generateKey, hashKey } from '../store/workspaces/api-key.ts'
import { isUniqueViolation, type Database, type Store } from '../store/store.ts'
import { addWorkspace, listWorkspaces, lockWorkspaces, type AddedWorkspace } from '../store/workspaces/workspaces.ts'

export interface NewWorkspace {
  readonly id: string
  readonly dataKey: string
  readonly reportsKey: string
}

/** The caller has checked the id. Throws AppError `conflict` if it is taken. */
export async function createWorkspace(
  database: Database,
  id: string,
  settings: Partial<WorkspaceSettings>,
  now: number,
): Promise<NewWorkspace> {
  const workspace = { ...DEFAULT_SETTINGS, name: id, ...settings, id, createdAt: now }
  try {
    return await database.write((store) => addWithKeys(store, workspace))
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('conflict', `The workspace ${id} already exists.`)
    throw error
  }
}

/** Creates a workspace if there is none; otherwise undefined. Safe in two processes at once. */
export async function createFirstWorkspace(
  database: Database,
  id: string,
  now: number,
): Promise<NewWorkspace | undefined> {
  if (await hasWorkspaces(database)) return undefined
  return database.write(async (store) => {
    await lockWorkspaces(store)
    if (await hasWorkspaces(store)) return undefined
    return addWithKeys(store, { ...DEFAULT_SETTINGS, name: id, id, createdAt: now })
  })
}

async function addWithKeys(store: Store, workspace: AddedWorkspace): Promise<NewWorkspace> {
  const made = { id: workspace.id, dataKey: generateKey('data'), reportsKey: generateKey('reports') }
  await addWorkspace(store, workspace, { data: hashKey(made.dataKey), reports: hashKey(made.reportsKey) })
  return made
}

async function hasWorkspaces(store: Store): Promise<boolean> {
  return (await listWorkspaces(store)).length > 0
}
