// The table of opted-out email addresses. An address is in it while a request that named it refuses anything.
import type { AddressOptOut } from '../../core/users/address-opt-out.ts'
import type { OptInStatus } from '../../core/users/preference.ts'
import { parseJsonText } from '../../core/json/parse-json.ts'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'

interface AddressOptOutRow {
  workspace_id: string
  /** As in `users.email_key`. */
  email_key: string
  /** The status that a request set last, and when; null if none did. */
  opt_in_status: string | null
  status_decided_at: number | null
  /** JSON of `AddressOptOut.refusals`. */
  refusals: string
}

declare module '../tables.ts' {
  interface Tables {
    address_opt_outs: AddressOptOutRow
  }
}

/** An email address in its workspace. */
export interface WorkspaceAddress {
  readonly workspaceId: string
  readonly emailKey: string
}

export async function createAddressOptOuts({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('address_opt_outs')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('email_key', text, (column) => column.notNull())
    .addColumn('opt_in_status', text)
    .addColumn('status_decided_at', integer)
    .addColumn('refusals', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('address_opt_outs_key', ['workspace_id', 'email_key'])
    .modifyEnd(clustered)
    .execute()
}

/**
 * Locks the opt-outs of a workspace until the transaction ends. No user gets an address meanwhile, so that a new opt-out reaches
 * every user with the address: either here, or when the user gets it. Call it before `lockPreferences`.
 */
export async function lockOptOuts(store: Store, workspaceId: string): Promise<void> {
  await store.lock(lockOf(workspaceId))
}

/** The same for transactions that give addresses to users, which do not exclude each other. Call it after they are stored. */
export async function lockNewAddresses(store: Store, workspaceIds: Iterable<string>): Promise<void> {
  for (const id of [...new Set(workspaceIds)].toSorted()) await store.lockShared(lockOf(id))
}

function lockOf(workspaceId: string): string {
  return `addresses of ${workspaceId}`
}

/** The opt-outs of those of the addresses that have one, by `addressKey`. */
export async function findOptOuts(
  store: Store,
  addresses: readonly WorkspaceAddress[],
): Promise<Map<string, AddressOptOut>> {
  if (addresses.length === 0) return new Map()
  const distinct = new Map(addresses.map((address) => [addressKey(address), address]))
  const keys = [...distinct.values()].map(({ workspaceId, emailKey }) => ({
    workspace_id: workspaceId,
    email_key: emailKey,
  }))
  const rows = await store.query
    .selectFrom(store.rowsOf('wanted', { workspace_id: 'text', email_key: 'text' }, keys))
    .innerJoin('address_opt_outs as opt_out', (join) =>
      join
        .onRef('opt_out.workspace_id', '=', 'wanted.workspace_id')
        .onRef('opt_out.email_key', '=', 'wanted.email_key'),
    )
    .selectAll('opt_out')
    .execute()
  return new Map(
    rows.map((row) => [
      addressKey({ workspaceId: row.workspace_id, emailKey: row.email_key }),
      {
        status: row.opt_in_status === null ? null : [row.opt_in_status as OptInStatus, row.status_decided_at ?? 0],
        refusals: parseJsonText(row.refusals) as AddressOptOut['refusals'],
      },
    ]),
  )
}

/** No address holds the NUL character, so no two addresses share a key. */
export function addressKey({ workspaceId, emailKey }: WorkspaceAddress): string {
  return `${workspaceId}\0${emailKey}`
}

/** Call it under `lockOptOuts`. */
export async function saveOptOut(
  store: Store,
  { workspaceId, emailKey }: WorkspaceAddress,
  { status, refusals }: AddressOptOut,
): Promise<void> {
  const row: AddressOptOutRow = {
    workspace_id: workspaceId,
    email_key: emailKey,
    opt_in_status: status?.[0] ?? null,
    status_decided_at: status?.[1] ?? null,
    refusals: JSON.stringify(refusals),
  }
  await insertRows(store, 'address_opt_outs', { columns: COLUMNS, rows: [row] })
    .onConflict((conflict) =>
      conflict.columns(['workspace_id', 'email_key']).doUpdateSet((set) => ({
        opt_in_status: set.ref('excluded.opt_in_status'),
        status_decided_at: set.ref('excluded.status_decided_at'),
        refusals: set.ref('excluded.refusals'),
      })),
    )
    .execute()
}

const COLUMNS = {
  workspace_id: 'text',
  email_key: 'text',
  opt_in_status: 'text',
  status_decided_at: 'integer',
  refusals: 'text',
} as const

/** Call it under `lockOptOuts`. */
export async function removeOptOut({ query }: Store, { workspaceId, emailKey }: WorkspaceAddress): Promise<void> {
  await query
    .deleteFrom('address_opt_outs')
    .where('workspace_id', '=', workspaceId)
    .where('email_key', '=', emailKey)
    .execute()
}
