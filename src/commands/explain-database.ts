// What operators are told about a database that a command cannot use: why, and what they can do. Never its password.
import { AppError } from '../core/app-error.ts'
import { TablesAreNewer } from '../store/migrations.ts'
import { StoreError, Unreachable } from '../store/store.ts'

/** Which setting names a database, and how. */
export interface NamedDatabase {
  readonly setting: string
  /** Undefined where none is set. */
  readonly url: string | undefined
}

/** PostgreSQL's class of errors about users and passwords, and its code for a database that is not there. */
const INVALID_AUTHORIZATION = /^28/
const NO_SUCH_DATABASE = '3D000'

/** The error that says so in place of the one with which a command failed; that same error where there is nothing to add. */
export function explainDatabaseError(error: unknown, { setting, url }: NamedDatabase): unknown {
  if (error instanceof TablesAreNewer) {
    return new AppError(
      error.code,
      `${error.message}. Use that version, or restore a backup from before the migration.`,
    )
  }
  const problem = url === undefined ? undefined : findProblem(error, new URL(url).host)
  if (problem === undefined) return error
  return new AppError('unavailable', 'The database cannot be used.', [{ field: setting, problem }])
}

/** In words that follow the name of the setting. */
function findProblem(error: unknown, host: string): string | undefined {
  const server = host === '' ? 'a PostgreSQL server' : `a PostgreSQL server at ${host}`
  if (error instanceof Unreachable) {
    return `names ${server} that is unreachable (${error.reason}); check that it is running and that the address is right`
  }
  if (!(error instanceof StoreError)) return undefined
  if (INVALID_AUTHORIZATION.test(error.driverCode)) {
    return `names ${server} that rejects this user (${error.message}); correct the user and password, or pg_hba.conf`
  }
  if (error.driverCode === NO_SUCH_DATABASE) {
    return `names a database that does not exist (${error.message}); create it with createdb, or name another`
  }
  return undefined
}
