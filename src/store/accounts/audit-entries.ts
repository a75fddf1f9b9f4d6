// The table of the audit trail: one row for each change of a resource. Rows are added and read; only the job that forgets old ones
// deletes any.
import { sql, type Selectable } from 'kysely'
import type { AuditEntry, AuditKind } from '../../core/accounts/audit.ts'
import type { FieldChange } from '../../core/accounts/field-changes.ts'
import { parseJsonText } from '../../core/json/parse-json.ts'
import { DAY_MS } from '../../core/time-zone.ts'
import type { PlanHints, SqlTypes, Store } from '../store.ts'

/** Thirteen months, whichever these are. */
export const AUDIT_KEPT_MS = 397 * DAY_MS
const FORGOTTEN_PER_STEP_MAX = 1_000

interface AuditEntryRow {
  workspace_id: string
  number: number
  at: number
  who: string
  address: string | null
  action: string
  kind: string
  subject_id: string
  subject_name: string | null
  request_id: string | null
  further_changes: number
  /** JSON of `FieldChange[]`. */
  changes: string
}

declare module '../tables.ts' {
  interface Tables {
    audit_entries: AuditEntryRow
    /** Of each workspace with entries, the last number. Its row lock makes transactions commit in the order of numbers. */
    audit_numbers: { workspace_id: string; number: number }
  }
}

/**
 * One for each filter and for those that are combined, in the order of the list: past a million entries that do not match, a scan takes
 * half a second. An action has one kind, and what has an id has few entries.
 */
const INDEXES: { readonly [name: string]: readonly (keyof AuditEntryRow)[] } = {
  audit_entries_by_time: ['at', 'number'],
  audit_entries_by_subject: ['subject_id', 'at', 'number'],
  audit_entries_by_kind: ['kind', 'at', 'number'],
  audit_entries_by_action: ['action', 'at', 'number', 'kind'],
  audit_entries_by_who: ['who', 'at', 'number'],
  audit_entries_by_who_and_kind: ['who', 'kind', 'at', 'number'],
  audit_entries_by_who_and_action: ['who', 'action', 'at', 'number', 'kind'],
}

/** Without them, SQLite enters the index by time where a filter and a range of time are given. */
const HINTS: PlanHints = {
  audit_entries: [1_000_000, 100_000, 1],
  audit_entries_by_time: [1_000_000, 100_000, 1, 1],
  audit_entries_by_subject: [1_000_000, 100_000, 20, 1, 1],
  audit_entries_by_kind: [1_000_000, 100_000, 20_000, 1, 1],
  audit_entries_by_action: [1_000_000, 100_000, 5_000, 1, 1, 1],
  audit_entries_by_who: [1_000_000, 100_000, 10_000, 1, 1],
  audit_entries_by_who_and_kind: [1_000_000, 100_000, 10_000, 2_000, 1, 1],
  audit_entries_by_who_and_action: [1_000_000, 100_000, 10_000, 500, 1, 1, 1],
}

export async function createAuditEntries(store: Store, { text, integer, clustered, hint }: SqlTypes): Promise<void> {
  const { query } = store
  await query.schema
    .createTable('audit_entries')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('number', integer, (column) => column.notNull())
    .addColumn('at', integer, (column) => column.notNull())
    .addColumn('who', text, (column) => column.notNull())
    .addColumn('address', text)
    .addColumn('action', text, (column) => column.notNull())
    .addColumn('kind', text, (column) => column.notNull())
    .addColumn('subject_id', text, (column) => column.notNull())
    .addColumn('subject_name', text)
    .addColumn('request_id', text)
    .addColumn('further_changes', integer, (column) => column.notNull())
    .addColumn('changes', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('audit_entries_key', ['workspace_id', 'number'])
    .modifyEnd(clustered)
    .execute()
  for (const [name, columns] of Object.entries(INDEXES)) {
    await query.schema
      .createIndex(name)
      .on('audit_entries')
      .columns(['workspace_id', ...columns])
      .execute()
  }
  await hint(store, 'audit_entries', HINTS)
  await query.schema
    .createTable('audit_numbers')
    .addColumn('workspace_id', text, (column) => column.primaryKey())
    .addColumn('number', integer, (column) => column.notNull())
    .modifyEnd(clustered)
    .execute()
}

export type NewAuditEntry = Omit<AuditEntry, 'number'> & { readonly workspaceId: string }

/**
 * Adds an entry with the next number. Call it last in the transaction of the change: from here until the commit, other changes of the
 * workspace wait.
 */
export async function addAuditEntry({ query }: Store, added: NewAuditEntry): Promise<void> {
  const { number } = await query
    .insertInto('audit_numbers')
    .values({ workspace_id: added.workspaceId, number: 1 })
    .onConflict((conflict) => conflict.column('workspace_id').doUpdateSet({ number: sql`audit_numbers.number + 1` }))
    .returning('number')
    .executeTakeFirstOrThrow()
  const row: AuditEntryRow = {
    workspace_id: added.workspaceId,
    number,
    at: added.at,
    who: added.who,
    address: added.address,
    action: added.action,
    kind: added.kind,
    subject_id: added.subjectId,
    subject_name: added.subjectName,
    request_id: added.requestId,
    further_changes: added.furtherChanges,
    changes: JSON.stringify(added.changes),
  }
  await query.insertInto('audit_entries').values(row).execute()
}

/** The number of the newest entry of a workspace, which grows with each change; 0 if there was none. */
export async function findNewestAuditNumber({ query }: Store, workspaceId: string): Promise<number> {
  const numbers = query.selectFrom('audit_numbers').select('number').where('workspace_id', '=', workspaceId)
  return (await numbers.executeTakeFirst())?.number ?? 0
}

/** Which entries are wanted; absent members do not matter. */
export interface AuditFilters {
  readonly kind?: AuditKind | undefined
  readonly who?: string | undefined
  readonly action?: string | undefined
  readonly subjectId?: string | undefined
  /** The first instant. */
  readonly from?: number | undefined
  /** The first instant that is not wanted any more. */
  readonly to?: number | undefined
}

/** The place of an entry in the list. */
export type AuditCursor = Pick<AuditEntry, 'at' | 'number'>

export interface AuditPage {
  readonly filters: AuditFilters
  /** The page begins after this entry; undefined: with the newest. */
  readonly before: AuditCursor | undefined
  readonly max: number
}

/** Entries of a workspace, newest first. */
export async function listAuditEntries(
  { query }: Store,
  workspaceId: string,
  { filters, before, max }: AuditPage,
): Promise<AuditEntry[]> {
  const { kind, who, action, subjectId, from } = filters
  const end = earlier(before, filters.to)
  const rows = await query
    .selectFrom('audit_entries')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .$if(kind !== undefined, (all) => all.where('kind', '=', kind as string))
    .$if(who !== undefined, (all) => all.where('who', '=', who as string))
    .$if(action !== undefined, (all) => all.where('action', '=', action as string))
    .$if(subjectId !== undefined, (all) => all.where('subject_id', '=', subjectId as string))
    .$if(from !== undefined, (all) => all.where('at', '>=', from as number))
    .$if(end !== undefined, (all) =>
      all.where((where) => {
        const { at, number } = end as AuditCursor
        return where.eb(where.refTuple('at', 'number'), '<', where.tuple(at, number))
      }),
    )
    .orderBy('at', 'desc')
    .orderBy('number', 'desc')
    .limit(max)
    .execute()
  return rows.map(toAuditEntry)
}

/** One bound instead of two: a database would enter the index at one of them, perhaps the later, and read on to the other. */
function earlier(before: AuditCursor | undefined, to: number | undefined): AuditCursor | undefined {
  if (to === undefined || (before && before.at < to)) return before
  return { at: to, number: 0 }
}

/** Whether a workspace has entries from before an instant. */
export async function hasAuditEntriesBefore({ query }: Store, workspaceId: string, instant: number): Promise<boolean> {
  const old = query.selectFrom('audit_entries').select('number').where('workspace_id', '=', workspaceId)
  return (await old.where('at', '<', instant).orderBy('at').limit(1).execute()).length > 0
}

/** Deletes a bounded number of entries from before an instant, the oldest first. */
export async function forgetAuditEntries({ query }: Store, workspaceId: string, instant: number): Promise<void> {
  const old = query
    .selectFrom('audit_entries')
    .select('number')
    .where('workspace_id', '=', workspaceId)
    .where('at', '<', instant)
    .orderBy('at')
    .limit(FORGOTTEN_PER_STEP_MAX)
  await query.deleteFrom('audit_entries').where('workspace_id', '=', workspaceId).where('number', 'in', old).execute()
}

function toAuditEntry(row: Selectable<AuditEntryRow>): AuditEntry {
  return {
    number: row.number,
    at: row.at,
    who: row.who,
    address: row.address,
    action: row.action,
    kind: row.kind as AuditKind,
    subjectId: row.subject_id,
    subjectName: row.subject_name,
    changes: parseJsonText(row.changes) as FieldChange[],
    furtherChanges: row.further_changes,
    requestId: row.request_id,
  }
}
