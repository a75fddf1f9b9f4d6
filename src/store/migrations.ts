// Brings the tables of a database up to this program, step by step in order, each step once. Safe to start twice at the same
// moment: everything happens in one transaction that others wait for, however long it takes. (Kysely's own Migrator takes no
// lock on SQLite.)
import { sql } from 'kysely'
import { AppError } from '../core/app-error.ts'
import { TooBusy, type Database, type SqlTypes, type Store } from './store.ts'
import { createCampaignNames } from './campaigns/campaign-names.ts'
import { createCampaigns, noteGoalEvents } from './campaigns/campaigns.ts'
import { createCouponLists } from './coupons/coupon-lists.ts'
import { createCouponUploads } from './coupons/coupon-uploads.ts'
import { createCoupons } from './coupons/coupons.ts'
import { createCursors, PIPELINE_CURSOR } from './entries/cursors.ts'
import { createEvents } from './users/events.ts'
import { fillCampaignNames } from './campaigns/fill-campaign-names.ts'
import { noteCampaignWeeks } from './campaigns/fill-campaign-weeks.ts'
import { createGoalRecounts } from './campaigns/goal-recounts.ts'
import { createIdempotencyKeys } from './entries/idempotency-keys.ts'
import { createLargeHistories, separateKeptSeries } from './statistics/large-histories.ts'
import { createLimitWindows } from './workspaces/limit-windows.ts'
import { createMemberships } from './campaigns/memberships.ts'
import { createMessageEvents, createRecentMessageEvents } from './campaigns/message-events.ts'
import { createRecentFacts } from './campaigns/recent-facts.ts'
import { createMoves } from './moves/moves.ts'
import { createParkedEntries, indexParkedEntries } from './entries/parked-entries.ts'
import { createPartitionLeases } from './entries/partition-leases.ts'
import { createPreferences } from './users/preferences.ts'
import { createRequestReceipts } from './entries/request-receipts.ts'
import { createStatisticsRevisions } from './statistics/statistics-revisions.ts'
import { createStatistics } from './statistics/statistics.ts'
import { createTemplateVersions } from './templates/template-versions.ts'
import { createTemplates } from './templates/templates.ts'
import { createUncountedUsers } from './statistics/uncounted-users.ts'
import {
  clusterIdentities,
  createUserIdentities,
  noteAloneCustomers,
  noteOrderOfIdentities,
  orderIdentitiesOfUsers,
} from './users/user-identities.ts'
import { createUsers } from './users/users.ts'
import { createWorkspaces } from './workspaces/workspaces.ts'

type Migration = (store: Store, types: SqlTypes) => Promise<void>

/** Never change a step that has been released: add one. */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-workspaces': createWorkspaces,
  '0002-users': createUsers,
  '0002-user-identities': createUserIdentities,
  '0003-events': createEvents,
  '0004-request-receipts': createRequestReceipts,
  '0005-parked-entries': createParkedEntries,
  '0006-cursors': createCursors,
  '0007-preferences': createPreferences,
  '0008-statistics': createStatistics,
  '0009-template-versions': createTemplateVersions,
  '0010-templates': createTemplates,
  '0011-coupon-lists': createCouponLists,
  '0012-coupons': createCoupons,
  '0013-coupon-uploads': createCouponUploads,
  '0014-campaigns': createCampaigns,
  '0015-goal-recounts': createGoalRecounts,
  '0016-memberships': createMemberships,
  '0017-message-events': createMessageEvents,
  '0018-large-histories': createLargeHistories,
  '0018-uncounted-users': createUncountedUsers,
  '0019-idempotency-keys': createIdempotencyKeys,
  '0020-limit-windows': createLimitWindows,
  '0021-partition-leases': createPartitionLeases,
  '0022-moves': createMoves,
  '0023-statistics-revisions': createStatisticsRevisions,
  '0024-kept-series': separateKeptSeries,
  '0025-campaign-events': noteGoalEvents,
  '0026-campaign-names': createCampaignNames,
  '0027-identities-of-users': orderIdentitiesOfUsers,
  '0028-names-of-campaigns': (store) => fillCampaignNames(store),
  '0029-identities-in-order': clusterIdentities,
  '0030-parked-entries-by-workspace': indexParkedEntries,
  '0031-order-of-identities': noteOrderOfIdentities,
  '0032-alone-customers': noteAloneCustomers,
  '0033-campaign-weeks': noteCampaignWeeks,
  '0034-recent-facts': createRecentFacts,
  '0035-recent-message-events': createRecentMessageEvents,
}

/** Encodings of a database that hold whatever a client sends; others refuse characters that they do not have. */
const ENCODINGS = new Set(['UTF8', 'SQL_ASCII'])

/** What somebody who watches is told once, before steps that may take minutes in silence where there is much data. */
export const CHANGES_TABLES = 'bringing the tables up to date, which takes a while where there are many users and facts'

/** What somebody who watches is told each time another process has kept this one waiting for as long as a change waits. */
export const WAITS_FOR_TABLES =
  'the tables are in the hands of another process, which may be changing them; waiting for it'

type Tell = (what: typeof CHANGES_TABLES | typeof WAITS_FOR_TABLES) => void

/**
 * Applies the missing steps, and tells when older tables are changed for that. While another process changes the tables, or
 * holds their locks, it waits and tells of that: the other may need minutes, and a process that is killed keeps no lock. Throws
 * AppError `conflict` when the database is newer than this program, is from before the first tables that can be brought up to
 * date, or is new and could not hold every text.
 */
export async function migrate(database: Database, now: number, tell: Tell = () => {}): Promise<void> {
  // Asking first spares a start that has nothing to do the wait for the one writer.
  for (;;) {
    const tables = await findTables(database)
    if (tables === 'current') return
    if (tables === 'none') await refuseNarrowEncoding(database)
    try {
      await database.changeTables((store) => applyMissing(store, database.types, { now, tell }))
      return
    } catch (error) {
      if (!(error instanceof TooBusy)) throw error
      tell(WAITS_FOR_TABLES)
    }
  }
}

async function applyMissing(store: Store, types: SqlTypes, { now, tell }: { now: number; tell: Tell }): Promise<void> {
  await store.lock('migrations')
  // No batch of an older process is in the middle, and those that come later find that the tables are newer than it.
  await store.lock(PIPELINE_CURSOR)
  await store.query.schema
    .createTable('migrations')
    .ifNotExists()
    .addColumn('name', types.text, (column) => column.primaryKey())
    .addColumn('applied_at', types.integer, (column) => column.notNull())
    .execute()
  const applied = await appliedNames(store)
  refuseDraftTables(applied)
  const missing = Object.entries(MIGRATIONS).filter(([name]) => !applied.has(name))
  if (applied.size > 0 && missing.length > 0) tell(CHANGES_TABLES)
  for (const [name, apply] of missing) {
    await apply(store, types)
    await store.query.insertInto('migrations').values({ name, applied_at: now }).execute()
  }
}

/** The first steps were rewritten once, before any version was out: tables made by the old ones lack what facts are kept by. */
function refuseDraftTables(applied: ReadonlySet<string>): void {
  if (!applied.has('0002-users') || applied.has('0002-user-identities')) return
  const what = 'The store was made by a draft of Tidings, from before campaigns, and cannot be brought up to date.'
  throw new AppError('conflict', `${what} Start with another DATA_DIR, or another database.`)
}

/** Otherwise, depending on its characters, what clients send would for ever be answered with errors, or be parked. */
async function refuseNarrowEncoding({ kind, query }: Database): Promise<void> {
  if (kind !== 'postgres') return
  const { rows } = await sql<{ encoding: string }>`select current_setting('server_encoding') as encoding`.execute(query)
  const encoding = rows[0]?.encoding ?? ''
  if (ENCODINGS.has(encoding)) return
  const how = 'Make one with createdb --encoding UTF8 --template template0.'
  throw new AppError('conflict', `The database has the encoding ${encoding}, which does not hold every letter. ${how}`)
}

/** The tables have been brought up to a newer program, which may count and keep things differently. */
export class TablesAreNewer extends AppError {
  constructor(migration: string) {
    super('conflict', `the database is newer than this program: it has the migration ${migration}`)
  }
}

/** Throws `TablesAreNewer` where a newer program was started beside this one. Reads no row where none was: each batch asks. */
export async function refuseNewerTables(store: Store): Promise<void> {
  const known = Object.keys(MIGRATIONS)
  const newer = store.query
    .selectFrom('migrations')
    .select('name')
    .where('name', 'not in', known)
    .orderBy('name')
    .limit(1)
  const unknown = await newer.executeTakeFirst()
  if (unknown) throw new TablesAreNewer(unknown.name)
}

/** Which tables there are, as this program sees them: none, older ones, or its own. Throws `TablesAreNewer`. */
export async function findTables(database: Database): Promise<'none' | 'older' | 'current'> {
  const exists = database.kind === 'sqlite' ? sqliteTableExists : postgresTableExists
  if (!(await exists(database))) return 'none'
  const applied = await appliedNames(database)
  return Object.keys(MIGRATIONS).every((name) => applied.has(name)) ? 'current' : 'older'
}

async function appliedNames(store: Store): Promise<Set<string>> {
  await refuseNewerTables(store)
  const rows = await store.query.selectFrom('migrations').select('name').execute()
  return new Set(rows.map(({ name }) => name))
}

async function sqliteTableExists({ query }: Store): Promise<boolean> {
  const found = await sql`select 1 from sqlite_master where name = 'migrations'`.execute(query)
  return found.rows.length > 0
}

async function postgresTableExists({ query }: Store): Promise<boolean> {
  const found = await sql<{ oid: unknown }>`select to_regclass('migrations') as oid`.execute(query)
  return found.rows[0]?.oid !== null
}
