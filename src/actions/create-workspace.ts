// Creates a workspace with a key for each tile. Returns the keys; the store keeps only their hashes.
import { toChangerName, type ChangeContext } from '../core/accounts/audit.ts'
import { AppError } from '../core/app-error.ts'
import { DEFAULT_SETTINGS, type WorkspaceSettings } from '../core/workspace.ts'
import { workspaceIdProblem } from '../core/workspaces/workspace-id.ts'
import { generateKey, hashKey, type ApiKey } from '../store/workspaces/api-key.ts'
import { isUniqueViolation, type Database, type Store } from '../store/store.ts'
import { recordChange } from './audit/record-change.ts'
import { addWorkspace, listWorkspaces, lockWorkspaces, type AddedWorkspace } from '../store/workspaces/workspaces.ts'

export interface NewWorkspace {
  readonly id: string
  readonly dataKey: string
  readonly reportsKey: string
}

/**
 * `by`: who creates it; undefined: nobody knows, and nothing is recorded. Throws AppError `invalid_request` if no workspace may have the
 * id, `conflict` if it is taken.
 */
export async function createWorkspace(
  database: Database,
  id: string,
  settings: Partial<WorkspaceSettings>,
  now: number,
  by?: ChangeContext,
): Promise<NewWorkspace> {
  const workspace = { ...DEFAULT_SETTINGS, name: id, ...settings, id, createdAt: now }
  try {
    return await database.write((store) => addWithKeys(store, workspace, by))
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
  by?: ChangeContext,
): Promise<NewWorkspace | undefined> {
  if (await hasWorkspaces(database)) return undefined
  return database.write(async (store) => {
    await lockWorkspaces(store)
    if (await hasWorkspaces(store)) return undefined
    return addWithKeys(store, { ...DEFAULT_SETTINGS, name: id, id, createdAt: now }, by)
  })
}

async function addWithKeys(
  store: Store,
  workspace: AddedWorkspace,
  by: ChangeContext | undefined,
): Promise<NewWorkspace> {
  const problem = workspaceIdProblem(workspace.id)
  if (problem !== undefined) throw new AppError('invalid_request', `The id of a workspace ${problem}.`)
  const made = { id: workspace.id, dataKey: generateKey('data'), reportsKey: generateKey('reports') }
  const { id, name, timezone, createdAt } = workspace
  const createdBy = by ? toChangerName(by) : null
  const toKey = (key: string): ApiKey => ({ hash: hashKey(key), createdAt, createdBy, previous: null })
  await addWorkspace(store, workspace, { data: toKey(made.dataKey), reports: toKey(made.reportsKey) })
  if (by) {
    const after = { name, timezone }
    await recordChange(store, by, { kind: 'workspace', id, name, action: 'create_workspace', after })
  }
  return made
}

async function hasWorkspaces(store: Store): Promise<boolean> {
  return (await listWorkspaces(store)).length > 0
}
