// Checks that the audit trail is read by index on every store, with ten entries or a million.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  findNewestAuditNumber,
  forgetAuditEntries,
  hasAuditEntriesBefore,
  listAuditEntries,
  type AuditFilters,
} from '../../../src/store/accounts/audit-entries.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import { explain, expectIndexed, narrowsBy, type TableAccess } from '../../support/query-plan.ts'
import { recordQueries } from '../../support/record-queries.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../../support/stores.ts'

/** Enough that PostgreSQL has reason to prefer an index. */
const ENTRIES = 20_000

describeEachStore('The audit trail', (kind) => {
  let location: TestLocation
  let database: Database

  beforeAll(async () => {
    location = await makeStore(kind)
    database = await openTestDatabase(location)
    await database.write(async (store) => {
      await addEntries(store)
      // SQLite has the hints of the table, as in a server.
      if (kind === 'postgres') await sql`analyze`.execute(store.query)
    })
  }, 60_000)
  afterAll(async () => {
    await database.close()
    await location.remove()
  })

  const lists: [narrowedBy: readonly string[], filters: AuditFilters][] = [
    [['workspace_id'], {}],
    [['workspace_id', 'at'], { from: 5_000, to: 6_000 }],
    [['workspace_id', 'kind'], { kind: 'campaign' }],
    [['workspace_id', 'action'], { action: 'action_3' }],
    [['workspace_id', 'who'], { who: 'person:1@example.com' }],
    [['workspace_id', 'subject_id'], { subjectId: 's5' }],
    [['workspace_id', 'kind', 'at'], { kind: 'campaign', from: 5_000, to: 6_000 }],
    [['workspace_id', 'who', 'at'], { who: 'person:1@example.com', to: 6_000 }],
    [['workspace_id', 'who', 'kind'], { who: 'person:1@example.com', kind: 'campaign' }],
    [['workspace_id', 'who', 'kind', 'at'], { who: 'person:1@example.com', kind: 'campaign', from: 5_000, to: 6_000 }],
    [['workspace_id', 'who', 'action'], { who: 'person:1@example.com', action: 'action_3' }],
    [['workspace_id', 'who', 'action'], { who: 'person:1@example.com', action: 'action_3', kind: 'template' }],
    [['workspace_id', 'action'], { kind: 'template', action: 'action_3' }],
    [['workspace_id', 'subject_id'], { subjectId: 's5', who: 'person:1@example.com', kind: 'campaign' }],
  ]
  it.each(lists)('is listed by %j without sorting', async (narrowedBy, filters) => {
    for (const before of [undefined, { at: 9_000, number: 9_000 }]) {
      const list = (store: Store) => listAuditEntries(store, 'main', { filters, before, max: 51 })
      for (const query of await recordQueries(database, list)) {
        const plan = await explain(database, query)
        expectIndexed(plan)
        const [access] = plan.accesses
        const missing = narrowedBy.filter((column) => !access || !isNarrowed(access, column))
        expect({ missing, sorts: plan.sorts, plan: plan.text }).toEqual({ missing: [], sorts: false, plan: plan.text })
      }
    }
  })

  const others: [what: string, work: (store: Store) => Promise<unknown>][] = [
    ['the newest number', (store) => findNewestAuditNumber(store, 'main')],
    ['whether there are old entries', (store) => hasAuditEntriesBefore(store, 'main', 5_000)],
    ['entries to forget', (store) => forgetAuditEntries(store, 'main', 1)],
  ]
  it.each(others)('finds %s by index', async (_what, work) => {
    for (const query of await recordQueries(database, work)) expectIndexed(await explain(database, query))
  })
})

/** Also by a bound of both columns of the order. */
function isNarrowed(access: TableAccess, column: string): boolean {
  return narrowsBy(access, column) || (column === 'at' && /\(\(?at, ?number\) ?</i.test(`(${access.condition}`))
}

async function addEntries({ query }: Store): Promise<void> {
  const numbers = sql`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${ENTRIES})`
  await sql`${numbers}
    insert into audit_entries (workspace_id, number, at, who, action, kind, subject_id, further_changes, changes)
    select case n % 2 when 0 then 'main' else 'other' end, n, n, 'person:' || (n % 7) || '@example.com',
      'action_' || (n % 9), case n % 3 when 0 then 'campaign' else 'template' end, 's' || (n % 500), 0, '[]'
    from numbers`.execute(query)
  await query.insertInto('audit_numbers').values({ workspace_id: 'main', number: ENTRIES }).execute()
}
