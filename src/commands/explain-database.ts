// Explains to operators why a command cannot use the database, and what to do. Never shows its password.
import { AppError } from '../core/app-error.ts'
import { TablesAreNewer } from '../store/migrations.ts'
import { StoreError, Unreachable } from '../store/store.ts'

/** A database and the setting that names it. */
export interface NamedDatabase {
  readonly setting: string
  /** Undefined if it is not set. */
  readonly url: string | undefined
}

/** PostgreSQL's class of errors about users and passwords, and its code for an unknown database. */
const INVALID_AUTHORIZATION = /^28/
const NO_SUCH_DATABASE = '3D000'

/** An AppError that explains an error of the database; any other error unchanged. */
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

/** The problem as a phrase that follows the name of the setting; undefined for other errors. */
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
