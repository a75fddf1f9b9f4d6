// Applies the missing migrations to a database, in order, each once. Two processes may start at the same moment: all migrations
// run in one transaction, and the other process waits for it, however long it takes.
import { sql } from 'kysely'
import { AppError } from '../core/app-error.ts'
import { TooBusy, type Database, type SqlTypes, type Store } from './store.ts'
import { createCampaignEvents } from './campaigns/campaign-events.ts'
import { createCampaignNames } from './campaigns/campaign-names.ts'
import { createCampaignWeeks } from './campaigns/campaign-weeks.ts'
import { createCampaigns } from './campaigns/campaigns.ts'
import { createCouponLists } from './coupons/coupon-lists.ts'
import { createCouponUploads } from './coupons/coupon-uploads.ts'
import { createCoupons } from './coupons/coupons.ts'
import { createCursors, PIPELINE_CURSOR } from './entries/cursors.ts'
import { createEvents } from './users/events.ts'
import { createGoalRecounts } from './campaigns/goal-recounts.ts'
import { createIdempotencyKeys } from './entries/idempotency-keys.ts'
import { createKeptSeries } from './statistics/kept-series.ts'
import { createLargeHistories } from './statistics/large-histories.ts'
import { createLimitWindows } from './workspaces/limit-windows.ts'
import { createMemberships } from './campaigns/memberships.ts'
import { createMessageEvents } from './campaigns/message-events.ts'
import { createRecentFacts } from './campaigns/recent-facts.ts'
import { createMoves } from './moves/moves.ts'
import { createParkedEntries } from './entries/parked-entries.ts'
import { createPartitionLeases } from './entries/partition-leases.ts'
import { createPreferences } from './users/preferences.ts'
import { createRequestReceipts } from './entries/request-receipts.ts'
import { createStatisticsRevisions } from './statistics/statistics-revisions.ts'
import { createStatistics } from './statistics/statistics.ts'
import { createTemplateVersions } from './templates/template-versions.ts'
import { createTemplates } from './templates/templates.ts'
import { createUncountedUsers } from './statistics/uncounted-users.ts'
import { createUserIdentities } from './users/user-identities.ts'
import { createUsers } from './users/users.ts'
import { createWorkspaces } from './workspaces/workspaces.ts'

type Migration = (store: Store, types: SqlTypes) => Promise<void>

type Migrations = Readonly<Record<string, Migration>>

const FIRST = '0001-tables'

/** In this order. A migration that was released never changes: add another one. */
export const MIGRATIONS: Migrations = { [FIRST]: createTables }

/** The tables of the first version. A table that comes later is created by a migration of its own. */
async function createTables(store: Store, types: SqlTypes): Promise<void> {
  for (const createTable of [
    createWorkspaces,
    createUsers,
    createUserIdentities,
    createEvents,
    createRequestReceipts,
    createParkedEntries,
    createCursors,
    createPreferences,
    createStatistics,
    createTemplateVersions,
    createTemplates,
    createCouponLists,
    createCoupons,
    createCouponUploads,
    createCampaigns,
    createCampaignEvents,
    createCampaignNames,
    createCampaignWeeks,
    createGoalRecounts,
    createMemberships,
    createRecentFacts,
    createMessageEvents,
    createLargeHistories,
    createKeptSeries,
    createUncountedUsers,
    createIdempotencyKeys,
    createLimitWindows,
    createPartitionLeases,
    createMoves,
    createStatisticsRevisions,
  ]) {
    await createTable(store, types)
  }
}

/** Encodings of a database that hold whatever a client sends; others refuse characters that they do not have. */
const ENCODINGS = new Set(['UTF8', 'SQL_ASCII'])

/** What somebody who watches is told once, before steps that may take minutes in silence where there is much data. */
export const MIGRATING_TABLES = 'migrating the tables; this can take minutes if there are many users and facts'

/** What somebody who watches is told each time another process has kept this one waiting for as long as a change waits. */
export const WAITING_FOR_TABLES = 'another process has locked the tables and may be migrating them; waiting for it'

type Tell = (what: typeof MIGRATING_TABLES | typeof WAITING_FOR_TABLES) => void

/**
 * Applies the missing migrations, and tells when older tables are changed for that. While another process changes the tables, or
 * holds their locks, it waits and tells of that: the other may need minutes, and a process that is killed keeps no lock. Throws
 * AppError `conflict` when the database is newer than this program, was made by a draft, or is new and could not hold every text.
 */
export async function migrate(
  database: Database,
  now: number,
  tell: Tell = () => {},
  migrations = MIGRATIONS,
): Promise<void> {
  // Asking first spares a start that has nothing to do the wait for the one writer.
  for (;;) {
    const tables = await findTables(database, migrations)
    if (tables === 'current') return
    if (tables === 'none') await refuseNarrowEncoding(database)
    try {
      await database.changeTables((store) => applyMissing(store, database.types, { now, tell, migrations }))
      return
    } catch (error) {
      if (!(error instanceof TooBusy)) throw error
      tell(WAITING_FOR_TABLES)
    }
  }
}

async function applyMissing(
  store: Store,
  types: SqlTypes,
  { now, tell, migrations }: { now: number; tell: Tell; migrations: Migrations },
): Promise<void> {
  await store.lock('migrations')
  // No batch of an older process is in the middle, and those that come later find that the tables are newer than it.
  await store.lock(PIPELINE_CURSOR)
  await store.query.schema
    .createTable('migrations')
    .ifNotExists()
    .addColumn('name', types.text, (column) => column.primaryKey())
    .addColumn('applied_at', types.integer, (column) => column.notNull())
    .execute()
  const applied = await appliedNames(store, migrations)
  const missing = Object.entries(migrations).filter(([name]) => !applied.has(name))
  if (applied.size > 0 && missing.length > 0) tell(MIGRATING_TABLES)
  for (const [name, apply] of missing) {
    await apply(store, types)
    await store.query.insertInto('migrations').values({ name, applied_at: now }).execute()
  }
}

/** Drafts of the first version, none of which was released, began with other migrations. */
function refuseDraftTables(applied: ReadonlySet<string>): void {
  if (applied.size === 0 || applied.has(FIRST)) return
  const what = 'The store was made by an unreleased draft of Tidings and cannot be upgraded.'
  throw new AppError('conflict', `${what} Start with an empty DATA_DIR or an empty database.`)
}

/** Otherwise, depending on its characters, what clients send would for ever be answered with errors, or be parked. */
async function refuseNarrowEncoding({ kind, query }: Database): Promise<void> {
  if (kind !== 'postgres') return
  const { rows } = await sql<{ encoding: string }>`select current_setting('server_encoding') as encoding`.execute(query)
  const encoding = rows[0]?.encoding ?? ''
  if (ENCODINGS.has(encoding)) return
  const how = 'Create one with createdb --encoding UTF8 --template template0.'
  throw new AppError(
    'conflict',
    `The database has the encoding ${encoding}, which cannot store every character. ${how}`,
  )
}

/** The tables have been brought up to a newer program, which may count and keep things differently. */
export class TablesAreNewer extends AppError {
  constructor(migration: string) {
    super('conflict', `the database was migrated by a newer version of Tidings: it has the migration ${migration}`)
  }
}

/** Throws `TablesAreNewer` where a newer program was started beside this one. Reads no row where none was: each batch asks. */
export async function refuseNewerTables(store: Store, migrations = MIGRATIONS): Promise<void> {
  const known = Object.keys(migrations)
  const newer = store.query
    .selectFrom('migrations')
    .select('name')
    .where('name', 'not in', known)
    .orderBy('name')
    .limit(1)
  const unknown = await newer.executeTakeFirst()
  if (unknown) throw new TablesAreNewer(unknown.name)
}

/** Which tables there are, as this program sees them: none, older ones, or its own. Throws as `migrate`. */
export async function findTables(database: Database, migrations = MIGRATIONS): Promise<'none' | 'older' | 'current'> {
  const exists = database.kind === 'sqlite' ? sqliteTableExists : postgresTableExists
  if (!(await exists(database))) return 'none'
  const applied = await appliedNames(database, migrations)
  return Object.keys(migrations).every((name) => applied.has(name)) ? 'current' : 'older'
}

async function appliedNames(store: Store, migrations: Migrations): Promise<Set<string>> {
  const rows = await store.query.selectFrom('migrations').select('name').execute()
  const applied = new Set(rows.map(({ name }) => name))
  refuseDraftTables(applied)
  await refuseNewerTables(store, migrations)
  return applied
}

async function sqliteTableExists({ query }: Store): Promise<boolean> {
  const found = await sql`select 1 from sqlite_master where name = 'migrations'`.execute(query)
  return found.rows.length > 0
}

async function postgresTableExists({ query }: Store): Promise<boolean> {
  const found = await sql<{ oid: unknown }>`select to_regclass('migrations') as oid`.execute(query)
  return found.rows[0]?.oid !== null
}
