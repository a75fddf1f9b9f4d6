// Lets only one process with the role `http` use a data directory: each counts the limits of workspaces by itself.
import { join } from 'node:path'
import { AppError } from '../../core/app-error.ts'
import { lockForProcess } from '../../store/sqlite/sqlite-file-lock.ts'

/** Stays in the folder; only its lock matters. */
const HTTP_LOCK_FILE = 'http.lock'

/** Returns a function that gives the role up. Throws AppError `conflict` while another process has it. */
export function lockHttpRole(dataDir: string): () => void {
  const lock = lockForProcess(join(dataDir, HTTP_LOCK_FILE))
  if (typeof lock !== 'number') return () => void lock.close()
  throw new AppError(
    'conflict',
    `Process ${lock} already serves ${dataDir} with the role http, and limits would count twice. Stop it, or use --role pipeline.`,
  )
}
