// Makes a workspace with a key for each tile. The keys are in the answer and nowhere else.
import { AppError } from '../core/app-error.ts'
import { DEFAULT_SETTINGS, type Workspace, type WorkspaceSettings } from '../core/workspace.ts'
import { generateKey, hashKey } from '../store/workspaces/api-key.ts'
import { isUniqueViolation, type Database, type Store } from '../store/store.ts'
import { addWorkspace, listWorkspaces, lockWorkspaces } from '../store/workspaces/workspaces.ts'

export interface NewWorkspace {
  readonly id: string
  readonly dataKey: string
  readonly reportsKey: string
}

/** Adds a workspace whose id the caller has checked. Throws AppError `conflict` when the id is taken. */
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

/** Adds a workspace where there is none at all; undefined where there is one. Safe in two processes at once. */
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

async function addWithKeys(store: Store, workspace: Workspace): Promise<NewWorkspace> {
  const made = { id: workspace.id, dataKey: generateKey('data'), reportsKey: generateKey('reports') }
  await addWorkspace(store, workspace, { data: hashKey(made.dataKey), reports: hashKey(made.reportsKey) })
  return made
}

async function hasWorkspaces(store: Store): Promise<boolean> {
  return (await listWorkspaces(store)).length > 0
}
