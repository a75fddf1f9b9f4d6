// Makes a workspace with a key for each tile. The keys are in the answer and nowhere else.
import { AppError } from '../core/app-error.ts'
import { DEFAULT_SETTINGS, type WorkspaceSettings } from '../core/workspace.ts'
import { generateKey, hashKey } from './api-key.ts'
import { isTaken, type Database } from './store.ts'
import { addWorkspace } from './workspaces.ts'

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
  const made = { id, dataKey: generateKey('data'), reportsKey: generateKey('reports') }
  const workspace = { ...DEFAULT_SETTINGS, name: id, ...settings, id, createdAt: now }
  const hashes = { data: hashKey(made.dataKey), reports: hashKey(made.reportsKey) }
  try {
    await database.write((store) => addWorkspace(store, workspace, hashes))
  } catch (error) {
    if (isTaken(error)) throw new AppError('conflict', `There is a workspace ${id} already.`)
    throw error
  }
  return made
}
