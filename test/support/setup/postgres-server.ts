// Before all suites: starts the PostgreSQL server that they share, unless TEST_DATABASE_URL names one or its programs are not installed.
// Nothing of it outlives the run, so it does not wait for the disk: suites over PostgreSQL take half the time.
import { startOwnPostgres } from '../own-postgres.ts'

/** The disk matters only to a machine that loses its power. */
const WITHOUT_DISK = { fsync: 'off', full_page_writes: 'off', max_wal_size: '256MB' }

/** Called by Vitest before all suites; what it returns is called after them. */
export default async function setUp(): Promise<(() => Promise<void>) | undefined> {
  if (process.env['TEST_DATABASE_URL'] !== undefined) return undefined
  const server = await startOwnPostgres(WITHOUT_DISK)
  if (!server) return undefined
  // The processes of the suites are started with this environment.
  process.env['TEST_DATABASE_URL'] = server.url
  return () => server.remove()
}
