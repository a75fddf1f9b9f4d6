// Says for each table which of its rows belong to a workspace, and deletes them. The compiler demands an entry for every table.
import { sql, type RawBuilder } from 'kysely'
import { moveStagedMessageEvents } from '../campaigns/message-events.ts'
import type { Database } from '../store.ts'
import type { Tables } from '../tables.ts'

/**
 * `in`: the column holds the id of a row of another table, which belongs to a workspace. `column` alone: it holds the id of the
 * workspace. A text: no row of the table belongs to a workspace, for the reason given.
 */
type Ownership = string | { readonly column: string; readonly in?: Owner }
type Owner = 'campaigns' | 'runs' | 'users' | 'coupon_lists' | 'senders'

const OWNER_KEYS: Readonly<Record<Owner, string>> = {
  campaigns: 'number',
  runs: 'number',
  users: 'id',
  coupon_lists: 'number',
  senders: 'number',
}

const OWN = { column: 'workspace_id' } as const
const COUNTER = 'counts for all workspaces'
const PEOPLE = 'people have roles in several workspaces'
const PROCESSES = 'says what processes do'

const OWNERSHIPS: { readonly [Table in keyof Tables]: Ownership } = {
  workspaces: { column: 'id' },
  workspace_revisions: COUNTER,
  key_uses: OWN,
  category_labels: OWN,
  users: OWN,
  user_identities: OWN,
  events: OWN,
  request_receipts: OWN,
  parked_entries: OWN,
  cursors: PROCESSES,
  preferences: { column: 'user_id', in: 'users' },
  preference_changes: { column: 'user_id', in: 'users' },
  erasures: OWN,
  address_opt_outs: OWN,
  imports: OWN,
  template_versions: OWN,
  templates: OWN,
  template_summaries: OWN,
  coupon_lists: OWN,
  coupons: { column: 'list_number', in: 'coupon_lists' },
  coupon_ids: COUNTER,
  coupon_uploads: { column: 'list_number', in: 'coupon_lists' },
  completed_uploads: { column: 'list_number', in: 'coupon_lists' },
  limit_windows: OWN,
  campaigns: OWN,
  campaign_names: { column: 'campaign', in: 'campaigns' },
  campaign_events: OWN,
  goal_backfills: OWN,
  memberships: { column: 'campaign', in: 'campaigns' },
  message_events: { column: 'campaign', in: 'campaigns' },
  message_events_staging: 'is emptied into message_events first',
  staging_tables: COUNTER,
  campaign_activity: { column: 'campaign', in: 'campaigns' },
  uncounted_events: { column: 'user_id', in: 'users' },
  series: { column: 'campaign', in: 'campaigns' },
  series_numbers: COUNTER,
  statistics: { column: 'campaign', in: 'campaigns' },
  kept_cells: { column: 'campaign', in: 'campaigns' },
  statistics_revisions: { column: 'campaign', in: 'campaigns' },
  recounts: OWN,
  senders: OWN,
  sender_leases: { column: 'sender', in: 'senders' },
  suppressions: OWN,
  soft_bounces: OWN,
  segments: OWN,
  deliveries: OWN,
  delivery_uses: OWN,
  delivery_attachments: { column: 'campaign', in: 'campaigns' },
  runs: OWN,
  run_links: { column: 'run', in: 'runs' },
  messages: { column: 'run', in: 'runs' },
  message_attempts: { column: 'run', in: 'runs' },
  message_hits: { column: 'run', in: 'runs' },
  held_coupons: { column: 'list_number', in: 'coupon_lists' },
  released_coupons: { column: 'list_number', in: 'coupon_lists' },
  coupon_alerts: { column: 'list_number', in: 'coupon_lists' },
  people: PEOPLE,
  person_roles: OWN,
  sessions: PEOPLE,
  access_links: OWN,
  migrations: 'is about the tables',
  moves: 'is about the whole store',
  move_progress: 'is about the whole store',
  answered_keys: OWN,
  audit_entries: OWN,
  audit_numbers: OWN,
  published_keys: OWN,
  pipeline_members: PROCESSES,
  partition_leases: PROCESSES,
}

const STAGED_PER_WRITE = 50_000

/**
 * Deletes every row of a workspace, each table in one transaction, the workspace last: a deletion that was interrupted can be
 * repeated. No process may serve the store meanwhile: it would remember numbers that are given again. `onTable` is called before
 * each table. Returns the number of rows.
 */
export async function deleteWorkspaceRows(
  database: Database,
  workspaceId: string,
  onTable: (table: string) => void,
): Promise<number> {
  let deleted = 0
  while ((await database.write((store) => moveStagedMessageEvents(store, STAGED_PER_WRITE))) > 0);
  for (const { table, rows } of listOwned(workspaceId)) {
    onTable(table)
    await database.changeTables(async ({ query }) => {
      const { numAffectedRows } = await sql`delete from ${sql.table(table)} where ${rows}`.execute(query)
      deleted += Number(numAffectedRows)
    })
  }
  return deleted
}

/** What refers to rows of other tables comes before them, and the workspace last. */
function listOwned(workspaceId: string): { readonly table: string; readonly rows: RawBuilder<unknown> }[] {
  const owned = Object.entries(OWNERSHIPS).flatMap(([table, owner]) =>
    typeof owner === 'string' ? [] : [{ table, owner, order: orderOf(table, owner) }],
  )
  return owned
    .toSorted((one, other) => one.order - other.order)
    .map(({ table, owner }) => ({ table, rows: rowsOf(owner, workspaceId) }))
}

function orderOf(table: string, owner: Exclude<Ownership, string>): number {
  if (owner.in !== undefined) return 0
  return table === 'workspaces' ? 2 : 1
}

function rowsOf({ column, in: owner }: Exclude<Ownership, string>, workspaceId: string): RawBuilder<unknown> {
  const name = sql.ref(column)
  if (owner === undefined) return sql`${name} = ${workspaceId}`
  return sql`${name} in (select ${sql.ref(OWNER_KEYS[owner])} from ${sql.table(owner)} where workspace_id = ${workspaceId})`
}
