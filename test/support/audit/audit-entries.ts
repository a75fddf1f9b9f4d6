// The audit trail of a server, for tests of what other operations write there.
import type { AuditEntry } from '../../../src/core/accounts/audit.ts'
import { findNewestAuditNumber, listAuditEntries } from '../../../src/store/accounts/audit-entries.ts'
import type { Database } from '../../../src/store/store.ts'

const PAGE_MAX = 10_000

/** All entries of a workspace, oldest first. */
export async function entriesOf(database: Database, workspaceId: string): Promise<AuditEntry[]> {
  const page = { filters: {}, before: undefined, max: PAGE_MAX }
  const entries = await listAuditEntries(database, workspaceId, page)
  return entries.toSorted((left, right) => left.number - right.number)
}

/** The entries that some work adds, oldest first. */
export async function entriesAddedBy(
  database: Database,
  workspaceId: string,
  work: () => Promise<unknown>,
): Promise<AuditEntry[]> {
  const before = await findNewestAuditNumber(database, workspaceId)
  await work()
  return (await entriesOf(database, workspaceId)).filter(({ number }) => number > before)
}
