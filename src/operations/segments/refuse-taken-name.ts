// Refuses a name that another segment of the workspace has.
import { AppError } from '../../core/app-error.ts'
import type { Workspace } from '../../core/workspace.ts'
import { findSegmentIdByName } from '../../store/segments/segments.ts'
import type { Store } from '../../store/store.ts'

/** Throws AppError `conflict`. Call it under `lockSegments`. */
export async function refuseTakenName(store: Store, workspace: Workspace, name: string): Promise<void> {
  if ((await findSegmentIdByName(store, workspace.id, name)) === undefined) return
  const details = [{ field: 'name', problem: 'is taken by another segment of the workspace' }]
  throw new AppError('conflict', 'Another segment of the workspace has this name.', details)
}
