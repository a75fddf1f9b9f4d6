// The table of erasures: one row for each person who was erased. It holds no data of the person but the proofs of consent, without
// addresses, and a hash of the customer id. With the id, the proofs can be found; without it, nobody can tell whose they are.
import { createHash } from 'node:crypto'
import type { Selectable } from 'kysely'
import type { PreferenceChange } from '../../core/users/preference.ts'
import type { SqlTypes, Store } from '../store.ts'

/** Of one person, the newest proofs that are kept. */
export const KEPT_PROOFS_MAX = 1_000

interface ErasureRow {
  /** A UUID of version 7, so ids ascend with time. */
  id: string
  workspace_id: string
  /** Null for a person without a customer id. */
  customer_hash: string | null
  erased_at: number
  erased_by: string
  /** JSON of `KeptProof[]`, newest first. */
  proofs: string
  /** JSON of the user ids whose events are still to be deleted; null when all are. */
  user_ids: string | null
  events: number
}

declare module '../tables.ts' {
  interface Tables {
    erasures: ErasureRow
  }
}

/** A proof of consent without the address from which it came. */
export type KeptProof = Pick<PreferenceChange, 'at' | 'by' | 'before' | 'after'>

export interface Erasure {
  readonly id: string
  readonly erasedAt: number
  readonly erasedBy: string
  readonly proofs: readonly KeptProof[]
  /** How many events are deleted so far. */
  readonly events: number
  readonly isComplete: boolean
}

export interface NewErasure extends Pick<Erasure, 'id' | 'erasedAt' | 'erasedBy' | 'proofs'> {
  readonly workspaceId: string
  readonly customerId: string | null
  readonly userIds: readonly number[]
}

export async function createErasures({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('erasures')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('customer_hash', text)
    .addColumn('erased_at', integer, (column) => column.notNull())
    .addColumn('erased_by', text, (column) => column.notNull())
    .addColumn('proofs', text, (column) => column.notNull())
    .addColumn('user_ids', text)
    .addColumn('events', integer, (column) => column.notNull())
    .execute()
  await query.schema
    .createIndex('erasures_by_customer')
    .on('erasures')
    .columns(['workspace_id', 'customer_hash', 'id'])
    .execute()
  await query.schema
    .createIndex('erasures_to_complete')
    .on('erasures')
    .columns(['id', 'user_ids'])
    .where('user_ids', 'is not', null)
    .execute()
}

export async function addErasure({ query }: Store, erasure: NewErasure): Promise<void> {
  const { id, workspaceId, customerId, erasedAt, erasedBy, proofs, userIds } = erasure
  const row = {
    id,
    workspace_id: workspaceId,
    customer_hash: customerId === null ? null : hashOf(workspaceId, customerId),
    erased_at: erasedAt,
    erased_by: erasedBy,
    proofs: JSON.stringify(proofs),
    user_ids: JSON.stringify(userIds),
    events: 0,
  }
  await query.insertInto('erasures').values(row).execute()
}

/** At most `max` erasures of persons with this customer id, newest first. */
export async function findErasures(
  { query }: Store,
  { workspaceId, customerId }: { readonly workspaceId: string; readonly customerId: string },
  max: number,
): Promise<Erasure[]> {
  const rows = await query
    .selectFrom('erasures')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('customer_hash', '=', hashOf(workspaceId, customerId))
    .orderBy('id', 'desc')
    .limit(max)
    .execute()
  return rows.map(toErasure)
}

export async function findErasure({ query }: Store, id: string): Promise<Erasure | undefined> {
  const row = await query.selectFrom('erasures').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toErasure(row)
}

/** An erasure whose events are not all deleted. */
export interface UnfinishedErasure {
  readonly id: string
  readonly userIds: readonly number[]
}

/** The oldest unfinished erasure, or that with an id; undefined if there is none. */
export async function findUnfinishedErasure({ query }: Store, id?: string): Promise<UnfinishedErasure | undefined> {
  const unfinished = query.selectFrom('erasures').select(['id', 'user_ids']).where('user_ids', 'is not', null)
  const wanted = id === undefined ? unfinished : unfinished.where('id', '=', id)
  const row = await wanted.orderBy('id').limit(1).executeTakeFirst()
  return row && { id: row.id, userIds: JSON.parse(row.user_ids as string) as number[] }
}

/** Adds deleted events to an erasure, and completes it. */
export async function saveErasedEvents(
  { query }: Store,
  { id, events, isComplete }: Pick<Erasure, 'id' | 'events' | 'isComplete'>,
): Promise<void> {
  await query
    .updateTable('erasures')
    .set((row) => ({ events: row('events', '+', events), ...(isComplete && { user_ids: null }) }))
    .where('id', '=', id)
    .execute()
}

function hashOf(workspaceId: string, customerId: string): string {
  return createHash('sha256').update(`${workspaceId}\0${customerId}`).digest('hex')
}

function toErasure(row: Selectable<ErasureRow>): Erasure {
  return {
    id: row.id,
    erasedAt: row.erased_at,
    erasedBy: row.erased_by,
    proofs: JSON.parse(row.proofs) as KeptProof[],
    events: row.events,
    isComplete: row.user_ids === null,
  }
}
