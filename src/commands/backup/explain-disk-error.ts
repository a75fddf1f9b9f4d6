// Explains errors of the disk and of SQLite, for commands that read or write whole files.
import { AppError } from '../../core/app-error.ts'
import { systemProblem } from '../../core/phrases/system-problem.ts'

/** AppError `unavailable` with `what` and why the system or SQLite refused it; any other error unchanged. */
export function explainDiskError(error: unknown, what: string): unknown {
  const problem = systemProblem(error)
  return problem === undefined ? error : new AppError('unavailable', `${what}: ${problem}.`)
}
