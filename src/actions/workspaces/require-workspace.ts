// Finds a workspace that a request or a command names.
import { AppError } from '../../core/app-error.ts'
import type { Store } from '../../store/store.ts'
import { findWorkspace, type StoredWorkspace } from '../../store/workspaces/workspaces.ts'

/** The workspace with this id, from the table and not from a cache. Throws AppError `not_found`. */
export async function requireWorkspace(store: Store, id: string): Promise<StoredWorkspace> {
  const stored = await findWorkspace(store, id)
  if (!stored) throw new AppError('not_found', `The workspace ${JSON.stringify(id)} does not exist.`)
  return stored
}
