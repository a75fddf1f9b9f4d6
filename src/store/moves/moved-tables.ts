// Says for each table whether `tidings move` copies it. The compiler demands an entry for every table.
import type { Tables } from '../tables.ts'

/**
 * `data`: copied row for row. `counter`: copied too, but a new database has its one row already, so the row does not show that the
 * database is in use. `left`: not copied, for the reason given.
 */
type Treatment = 'data' | 'counter' | { readonly left: string }

export const TABLE_TREATMENTS: { readonly [Table in keyof Tables]: Treatment } = {
  workspaces: 'data',
  workspace_revisions: 'counter',
  key_uses: 'data',
  category_labels: 'data',
  users: 'data',
  user_identities: 'data',
  events: 'data',
  request_receipts: 'data',
  parked_entries: 'data',
  cursors: 'data',
  preferences: 'data',
  preference_changes: 'data',
  erasures: 'data',
  address_opt_outs: 'data',
  imports: 'data',
  template_versions: 'data',
  templates: 'data',
  template_summaries: 'data',
  coupon_lists: 'data',
  coupons: 'data',
  coupon_ids: 'counter',
  coupon_uploads: 'data',
  completed_uploads: 'data',
  limit_windows: 'data',
  campaigns: 'data',
  campaign_names: 'data',
  campaign_events: 'data',
  goal_backfills: 'data',
  memberships: 'data',
  message_events: 'data',
  message_events_staging: { left: 'the move empties it into message_events before it copies any table' },
  staging_tables: { left: 'counts the staged facts, and none are staged after a move' },
  campaign_activity: 'data',
  uncounted_events: 'data',
  series: 'data',
  series_numbers: 'counter',
  statistics: 'data',
  kept_cells: 'data',
  statistics_revisions: 'data',
  recounts: { left: 'checks of numbers can be repeated' },
  senders: 'data',
  sender_leases: 'data',
  suppressions: 'data',
  soft_bounces: 'data',
  segments: 'data',
  deliveries: 'data',
  delivery_uses: 'data',
  delivery_attachments: 'data',
  runs: 'data',
  run_links: 'data',
  messages: 'data',
  message_attempts: 'data',
  message_hits: 'data',
  held_coupons: 'data',
  released_coupons: 'data',
  coupon_alerts: 'data',
  people: 'data',
  person_roles: 'data',
  sessions: 'data',
  access_links: 'data',
  migrations: { left: 'each database has had its own' },
  moves: { left: 'says how the move itself is' },
  move_progress: { left: 'says how the move itself is' },
  answered_keys: 'data',
  audit_entries: 'data',
  audit_numbers: 'data',
  published_keys: { left: 'keys of the log in NATS, to which the embedded log has its own' },
  pipeline_members: { left: 'processes that follow a shared log' },
  partition_leases: { left: 'processes that follow a shared log' },
}

/** The tables that are copied. */
export const MOVED_TABLES: readonly string[] = tablesThatAre('data', 'counter')

/** The tables that are empty in a new database. */
export const DATA_TABLES: readonly string[] = tablesThatAre('data')

function tablesThatAre(...wanted: readonly Treatment[]): string[] {
  return Object.entries(TABLE_TREATMENTS)
    .filter(([, treatment]) => wanted.includes(treatment))
    .map(([table]) => table)
}
