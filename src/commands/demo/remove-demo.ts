// Removes the workspace of the demo with everything in it.
import { existsSync } from 'node:fs'
import type { Config } from '../../app/config.ts'
import { requireWorkspace } from '../../actions/workspaces/require-workspace.ts'
import { UnappliedEntries } from '../../actions/workspaces/unapplied-entries.ts'
import { AppError } from '../../core/app-error.ts'
import type { LogReader } from '../../log/event-log.ts'
import { isEmbedded, logPathOf, openLogReader } from '../../log/open-log.ts'
import { hasPipelineMembers } from '../../store/entries/partition-leases.ts'
import { deleteWorkspaceRows } from '../../store/moves/workspace-rows.ts'
import { lockSqliteFile } from '../../store/sqlite/sqlite-file-lock.ts'
import type { Database } from '../../store/store.ts'
import type { Progress } from '../terminal-progress.ts'

/**
 * Throws AppError: `not_found` without the workspace, `conflict` while a server runs, which would remember what is gone, or while its
 * log holds entries of the workspace that are not applied. Returns the number of rows that were deleted.
 */
export async function removeDemo(
  database: Database,
  config: Config,
  { workspaceId, progress }: { readonly workspaceId: string; readonly progress: Progress },
): Promise<number> {
  await requireWorkspace(database, workspaceId)
  await refuseUnapplied(database, config, workspaceId)
  const unlock = await requireNoServer(database, config)
  try {
    return await deleteWorkspaceRows(database, workspaceId, (table) => progress.show(`removing: ${table}`))
  } finally {
    unlock()
  }
}

async function refuseUnapplied(database: Database, config: Config, workspaceId: string): Promise<void> {
  if (isEmbedded(config) && !existsSync(logPathOf(config))) return
  let log: LogReader | undefined
  const unapplied = new UnappliedEntries(async () => (log ??= await openLogReader(config)), workspaceId)
  try {
    if (!(await unapplied.exist(database))) return
  } finally {
    await log?.close()
  }
  const message = `Requests of the workspace ${workspaceId} are not applied yet. Start the server, let it apply them, and stop it.`
  throw new AppError('conflict', message)
}

/** Every process that serves an embedded store has its log open. Returns what allows servers again. */
async function requireNoServer(database: Database, config: Config): Promise<() => void> {
  if (!isEmbedded(config)) {
    if (await hasPipelineMembers(database)) throw serverRuns()
    return () => {}
  }
  if (!existsSync(logPathOf(config))) return () => {}
  const lock = lockSqliteFile(logPathOf(config))
  if (!lock) throw serverRuns()
  return () => void lock.close()
}

function serverRuns(): AppError {
  return new AppError(
    'conflict',
    'A server is running, and would remember what is removed. Stop it first, and start it afterwards.',
  )
}
