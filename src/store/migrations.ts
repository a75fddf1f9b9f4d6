// Applies the missing migrations to a database, in order, each once, in one transaction. A second process that starts at the same
// moment waits for that transaction, however long it takes.
import { sql } from 'kysely'
import { AppError } from '../core/app-error.ts'
import { TooBusy, type Database, type SqlTypes, type Store } from './store.ts'
import { createAccessLinks } from './accounts/access-links.ts'
import { createPeople } from './accounts/people.ts'
import { createPersonRoles } from './accounts/person-roles.ts'
import { createSessions } from './accounts/sessions.ts'
import { createAuditEntries } from './accounts/audit-entries.ts'
import { createAnsweredKeys } from './entries/answered-keys.ts'
import { createCampaignEvents } from './campaigns/campaign-events.ts'
import { createCampaignNames } from './campaigns/campaign-names.ts'
import { createCampaignActivity } from './campaigns/campaign-activity.ts'
import { addCampaignArchival, addCampaignSearch, createCampaigns } from './campaigns/campaigns.ts'
import { addSendingColumns, createCouponLists } from './coupons/coupon-lists.ts'
import { createCouponAlerts } from './coupons/coupon-alerts.ts'
import { createCouponUploads } from './coupons/coupon-uploads.ts'
import { addUploadAuthors, createCompletedUploads } from './coupons/completed-uploads.ts'
import { createCoupons, foldCouponCodes } from './coupons/coupons.ts'
import { createCursors, PIPELINE_CURSOR } from './entries/cursors.ts'
import { createErasures } from './users/erasures.ts'
import { addEventLists, createEvents } from './users/events.ts'
import { createGoalBackfills } from './campaigns/goal-backfills.ts'
import { createKeptCells } from './statistics/kept-cells.ts'
import { createImports } from './users/imports.ts'
import { createIdempotencyKeys } from './entries/idempotency-keys.ts'
import { createLimitWindows } from './workspaces/limit-windows.ts'
import { createMemberships } from './campaigns/memberships.ts'
import { createMessageEvents } from './campaigns/message-events.ts'
import { createStagingTable } from './campaigns/staging-table.ts'
import { createMoves } from './moves/moves.ts'
import { addParkedList, createParkedEntries } from './entries/parked-entries.ts'
import { createPartitionLeases } from './entries/partition-leases.ts'
import { addTracking, createPreferences } from './users/preferences.ts'
import { addReceiptWarnings, createRequestReceipts } from './entries/request-receipts.ts'
import { createRecounts } from './statistics/recounts.ts'
import { createStatisticsRevisions } from './statistics/statistics-revisions.ts'
import { createStatistics } from './statistics/statistics.ts'
import { createTemplateSummaries } from './templates/template-summaries.ts'
import { createTemplateVersions } from './templates/template-versions.ts'
import { addTemplateArchival, addTemplateListIndex, createTemplates } from './templates/templates.ts'
import { createUncountedEvents } from './statistics/uncounted-events.ts'
import { createAddressOptOuts } from './users/address-opt-outs.ts'
import { createUserIdentities } from './users/user-identities.ts'
import { createUsers } from './users/users.ts'
import {
  addDeliverySettings,
  addEventRetention,
  addJoinedCustomerIdsMax,
  addKeyDetails,
  createWorkspaces,
} from './workspaces/workspaces.ts'
import { createCategoryLabels } from './workspaces/category-labels.ts'
import { createKeyUses } from './workspaces/key-uses.ts'
import { addDeliveriesByWorkspace, createDeliveries } from './delivery/deliveries.ts'
import { createDeliveryUses } from './delivery/delivery-uses.ts'
import { createMessageHits } from './delivery/message-hits.ts'
import { createMessages } from './delivery/messages.ts'
import { createDeliveryAttachments } from './delivery/delivery-attachments.ts'
import { createRuns } from './delivery/runs.ts'
import { createHeldCoupons } from './coupons/held-coupons.ts'
import { createReleasedCoupons } from './coupons/released-coupons.ts'
import { createSegments } from './segments/segments.ts'
import { createSenderLeases } from './senders/sender-leases.ts'
import { createSenders } from './senders/senders.ts'
import { createSoftBounces } from './senders/soft-bounces.ts'
import { createSuppressions } from './senders/suppressions.ts'

type Migration = (store: Store, types: SqlTypes) => Promise<void>

type Migrations = Readonly<Record<string, Migration>>

const FIRST = '0001-tables'

/** In the order they are applied. Never change a released migration: add another one. */
export const MIGRATIONS: Migrations = {
  [FIRST]: createTables,
  '0002-kept-cells': createKeptCells,
  '0003-erasures': createErasures,
  '0004-event-retention': addEventRetention,
  '0005-archived-campaigns': addCampaignArchival,
  '0006-archived-templates': addTemplateArchival,
  '0007-answered-keys': createAnsweredKeys,
  '0008-coupon-uploads': async (store, types) => {
    await foldCouponCodes(store, types)
    await createCompletedUploads(store, types)
  },
  '0009-receipt-warnings': addReceiptWarnings,
  '0010-joined-customer-ids-max': addJoinedCustomerIdsMax,
  '0011-address-opt-outs': createAddressOptOuts,
  '0012-imports': createImports,
  '0013-delivery': createDeliveryTables,
  '0014-people': createAccountTables,
  '0015-audit': createAuditEntries,
  '0016-keys': async (store, types) => {
    await addKeyDetails(store, types)
    await createKeyUses(store, types)
    await createCategoryLabels(store, types)
  },
  '0017-event-lists': async (store) => {
    await addEventLists(store)
    await addParkedList(store)
  },
  '0018-recounts': async (store) => {
    await addCampaignSearch(store)
    await addDeliveriesByWorkspace(store)
  },
  '0019-template-lists': async (store, types) => {
    await createTemplateSummaries(store, types)
    await addTemplateListIndex(store)
  },
  '0020-upload-authors': addUploadAuthors,
  '0021-recounts': createRecounts,
}

/** Creates the tables of the first version. A later table needs a migration of its own. */
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
    createCampaignActivity,
    createGoalBackfills,
    createMemberships,
    createStagingTable,
    createMessageEvents,
    createUncountedEvents,
    createIdempotencyKeys,
    createLimitWindows,
    createPartitionLeases,
    createMoves,
    createStatisticsRevisions,
  ]) {
    await createTable(store, types)
  }
}

/** Creates the tables of people who sign in. */
async function createAccountTables(store: Store, types: SqlTypes): Promise<void> {
  for (const createTable of [createPeople, createPersonRoles, createSessions, createAccessLinks]) {
    await createTable(store, types)
  }
}

/** Creates the tables of campaigns that Tidings sends. */
async function createDeliveryTables(store: Store, types: SqlTypes): Promise<void> {
  for (const createTable of [
    addDeliverySettings,
    addTracking,
    createSenders,
    createSenderLeases,
    createSuppressions,
    createSoftBounces,
    createSegments,
    createDeliveries,
    createDeliveryUses,
    createRuns,
    createDeliveryAttachments,
    createMessages,
    createMessageHits,
    addSendingColumns,
    createHeldCoupons,
    createReleasedCoupons,
    createCouponAlerts,
  ]) {
    await createTable(store, types)
  }
}

/** Encodings that store every character. */
const ENCODINGS = new Set(['UTF8', 'SQL_ASCII'])

/** Reported once, before older tables are changed. */
export const MIGRATING_TABLES = 'migrating the tables; this can take minutes if there are many users and facts'

/** Reported each time a migration has waited `WRITE_WAIT_MS` for another process. */
export const WAITING_FOR_TABLES = 'another process has locked the tables and may be migrating them; waiting for it'

type Tell = (what: typeof MIGRATING_TABLES | typeof WAITING_FOR_TABLES) => void

/**
 * Applies the missing migrations. Waits without limit while another process migrates or holds the locks: it may need minutes, and a
 * killed process keeps no lock. Calls `tell` before it changes older tables and while it waits. Throws AppError `conflict` when the
 * database is newer than this program, was made by a draft, or is new and has an encoding that cannot store every text.
 */
export async function migrate(
  database: Database,
  now: number,
  tell: Tell = () => {},
  migrations = MIGRATIONS,
): Promise<void> {
  // Checking first saves a start without missing migrations the wait for the writer lock.
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
  // No batch of an older pipeline is running now, and its next one finds newer tables and stops.
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

/** Unreleased drafts began with other migrations. */
function refuseDraftTables(applied: ReadonlySet<string>): void {
  if (applied.size === 0 || applied.has(FIRST)) return
  const what = 'The store was made by an unreleased draft of Tidings and cannot be upgraded.'
  throw new AppError('conflict', `${what} Start with an empty DATA_DIR or an empty database.`)
}

/** With another encoding, requests with certain characters would fail, or their log entries would be parked. */
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

/** A newer version of Tidings migrated the tables, and may count and store differently. */
export class TablesAreNewer extends AppError {
  constructor(migration: string) {
    super('conflict', `the database was migrated by a newer version of Tidings: it has the migration ${migration}`)
  }
}

/** Throws `TablesAreNewer` if a newer program migrated the tables. Each batch calls it, so it reads no row in the usual case. */
export async function refuseNewerTables(store: Store, migrations = MIGRATIONS): Promise<void> {
  const own = Object.keys(migrations)
  const others = store.query.selectFrom('migrations').select('name').where('name', 'not in', own)
  const newer = await others.orderBy('name').limit(1).executeTakeFirst()
  if (newer) throw new TablesAreNewer(newer.name)
}

/** Whether the database has no tables, those of an older version, or those of this one. Throws as `migrate`. */
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
