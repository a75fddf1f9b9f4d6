// The table of receipts: the outcome of each accepted request, for seven days.
import type { Fault } from '../../core/app-error.ts'
import { DAY_MS } from '../../core/time-zone.ts'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'

/** A receipt is deleted this long after its request was received. */
export const RECEIPTS_KEPT_MS = 7 * DAY_MS
const FORGOTTEN_PER_STEP_MAX = 2_000

interface RequestReceiptRow {
  /** Begins with the time of the request, so that new rows are stored together. */
  request_id: string
  workspace_id: string
  status: string
  events: number
  duplicates: number
  not_counted: number
  error: string | null
  received_at: number
  /** Null if none. */
  created_customers: number | null
  /** JSON of a list of `Fault`; null if there are none. */
  warnings: string | null
}

declare module '../tables.ts' {
  interface Tables {
    request_receipts: RequestReceiptRow
  }
}

export interface RequestReceipt {
  readonly requestId: string
  readonly workspaceId: string
  readonly status: 'processed' | 'parked'
  /** The number of events in the request, duplicates included. */
  readonly events: number
  readonly duplicates: number
  /** Those that statistics do not count, because their user is over a cap in a campaign. */
  readonly notCounted: number
  readonly error: string | null
  readonly receivedAt: number
  /** The number of customer ids in a report for which users were created; absent if none. */
  readonly createdCustomers?: number
  /** What only the pipeline found; absent if nothing. */
  readonly warnings?: readonly Fault[]
}

export async function createRequestReceipts({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('request_receipts')
    .addColumn('request_id', text, (column) => column.primaryKey())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('status', text, (column) => column.notNull())
    .addColumn('events', integer, (column) => column.notNull())
    .addColumn('duplicates', integer, (column) => column.notNull())
    .addColumn('not_counted', integer, (column) => column.notNull())
    .addColumn('error', text)
    .addColumn('received_at', integer, (column) => column.notNull())
    .modifyEnd(clustered)
    .execute()
}

/** Older receipts have no warnings. */
export async function addReceiptWarnings({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema.alterTable('request_receipts').addColumn('created_customers', integer).execute()
  await query.schema.alterTable('request_receipts').addColumn('warnings', text).execute()
}

const COLUMNS = {
  request_id: 'text',
  workspace_id: 'text',
  status: 'text',
  events: 'integer',
  duplicates: 'integer',
  not_counted: 'integer',
  error: 'text',
  received_at: 'integer',
  created_customers: 'integer',
  warnings: 'text',
} as const

/**
 * Saves receipts, and replaces earlier ones of the same requests, for example of a parked entry that was replayed. Skips entries
 * without a request id, which only foreign writers of the log produce: no client can ask for them.
 */
export async function saveReceipts(store: Store, receipts: readonly RequestReceipt[]): Promise<void> {
  const rows = receipts.filter(({ requestId }) => requestId !== '').map(toRow)
  if (rows.length === 0) return
  await insertRows(store, 'request_receipts', { columns: COLUMNS, rows })
    .onConflict((conflict) =>
      conflict.column('request_id').doUpdateSet((set) => ({
        status: set.ref('excluded.status'),
        events: set.ref('excluded.events'),
        duplicates: set.ref('excluded.duplicates'),
        not_counted: set.ref('excluded.not_counted'),
        error: set.ref('excluded.error'),
        created_customers: set.ref('excluded.created_customers'),
        warnings: set.ref('excluded.warnings'),
      })),
    )
    .execute()
}

export async function findReceipt(
  { query }: Store,
  workspaceId: string,
  requestId: string,
): Promise<RequestReceipt | undefined> {
  const row = await query
    .selectFrom('request_receipts')
    .selectAll()
    .where('request_id', '=', requestId)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
  if (!row) return undefined
  return {
    requestId: row.request_id,
    workspaceId: row.workspace_id,
    status: row.status as RequestReceipt['status'],
    events: row.events,
    duplicates: row.duplicates,
    notCounted: row.not_counted,
    error: row.error,
    receivedAt: row.received_at,
    ...(row.created_customers !== null && { createdCustomers: row.created_customers }),
    ...(row.warnings !== null && { warnings: JSON.parse(row.warnings) as Fault[] }),
  }
}

/** Those of the given requests that have a receipt, because they were processed or parked. */
export async function findRequestsWithReceipts(store: Store, requestIds: readonly string[]): Promise<Set<string>> {
  if (requestIds.length === 0) return new Set()
  const wanted = wantedValues(store, 'request_id', 'text', requestIds)
  const rows = await store.query
    .selectFrom(wanted)
    .innerJoin('request_receipts as receipt', 'receipt.request_id', 'wanted.request_id')
    .select('receipt.request_id')
    .execute()
  return new Set(rows.map((row) => row.request_id))
}

/** Deletes a bounded number of receipts received before an instant, in the order of their ids; true when there may be more. */
export async function forgetReceipts({ query }: Store, receivedBefore: number): Promise<boolean> {
  const oldest = query.selectFrom('request_receipts').select(['request_id', 'received_at']).orderBy('request_id')
  const old = query
    .selectFrom(oldest.limit(FORGOTTEN_PER_STEP_MAX).as('oldest'))
    .select('oldest.request_id')
    .where('oldest.received_at', '<', receivedBefore)
  const deleted = await query.deleteFrom('request_receipts').where('request_id', 'in', old).executeTakeFirst()
  return Number(deleted.numDeletedRows) >= FORGOTTEN_PER_STEP_MAX
}

function toRow(receipt: RequestReceipt): RequestReceiptRow {
  return {
    request_id: receipt.requestId,
    workspace_id: receipt.workspaceId,
    status: receipt.status,
    events: receipt.events,
    duplicates: receipt.duplicates,
    not_counted: receipt.notCounted,
    error: receipt.error,
    received_at: receipt.receivedAt,
    created_customers: receipt.createdCustomers ?? null,
    warnings: receipt.warnings ? JSON.stringify(receipt.warnings) : null,
  }
}
