// The tables of leases: which process follows which partition of a shared log. Only for PostgreSQL, whose clock decides when leases
// expire. The embedded log has one follower and no leases.
import { databaseNow } from '../database-clock.ts'
import type { SqlTypes, Store } from '../store.ts'

interface PipelineMemberRow {
  /** Identifies one run of a process. */
  holder: string
  /** When its partitions become free unless it renews the lease. By the clock of the database. */
  expires_at: number
}

interface PartitionLeaseRow {
  partition: number
  holder: string
}

declare module '../tables.ts' {
  interface Tables {
    pipeline_members: PipelineMemberRow
    partition_leases: PartitionLeaseRow
  }
}

export async function createPartitionLeases({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('pipeline_members')
    .addColumn('holder', text, (column) => column.primaryKey())
    .addColumn('expires_at', integer, (column) => column.notNull())
    .execute()
  await query.schema
    .createTable('partition_leases')
    .addColumn('partition', integer, (column) => column.primaryKey())
    .addColumn('holder', text, (column) => column.notNull())
    .execute()
}

/** Whether a process follows the log, or ended without saying so a moment ago. */
export async function hasPipelineMembers(store: Store): Promise<boolean> {
  const members = store.query.selectFrom('pipeline_members').select('holder')
  return (await members.where('expires_at', '>', await databaseNow(store)).executeTakeFirst()) !== undefined
}

/** A process that follows the log. */
export interface LeaseHolder {
  readonly holder: string
  /** The number of partitions of the log. */
  readonly partitions: number
  /** How long a renewed lease lasts. */
  readonly keptMs: number
}

/**
 * Renews the leases of a process, takes free partitions up to its share, and releases what it has beyond its share. The share is
 * the number of partitions divided by the number of living processes. Returns the partitions that the process has for `keptMs`.
 * Call it in a transaction.
 */
export async function renewLeases(store: Store, { holder, partitions, keptMs }: LeaseHolder): Promise<number[]> {
  await store.lock('partition leases')
  const { query } = store
  const now = await databaseNow(store)
  await query
    .insertInto('pipeline_members')
    .values({ holder, expires_at: now + keptMs })
    .onConflict((conflict) => conflict.column('holder').doUpdateSet({ expires_at: now + keptMs }))
    .execute()
  // An expiry beyond `now + keptMs` dates from before the clock was set back: a living process has renewed its lease since.
  await query
    .deleteFrom('pipeline_members')
    .where((member) => member.or([member('expires_at', '<', now), member('expires_at', '>', now + keptMs)]))
    .execute()
  const members = await query.selectFrom('pipeline_members').select('holder').execute()
  const alive = new Set(members.map((member) => member.holder))
  const leases = await query.selectFrom('partition_leases').selectAll().orderBy('partition').execute()
  const held = new Map(
    leases.filter((lease) => alive.has(lease.holder)).map((lease) => [lease.partition, lease.holder]),
  )
  const own = [...held].filter(([, by]) => by === holder).map(([partition]) => partition)
  const free = Array.from({ length: partitions }, (_, partition) => partition).filter((one) => !held.has(one))
  const share = Math.ceil(partitions / alive.size)
  const taken = free.slice(0, Math.max(0, share - own.length))
  await takeLeases(store, holder, taken)
  await giveUpLeases(store, holder, own.slice(share))
  return [...own.slice(0, share), ...taken]
}

/** The number of processes that follow the log now. Only on PostgreSQL. */
export async function countPipelines(store: Store): Promise<number> {
  const { count } = await store.query
    .selectFrom('pipeline_members')
    .where('expires_at', '>', await databaseNow(store))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** Releases all leases of a process, so that others can take them at once. Call it in a transaction. */
export async function releaseLeases(store: Store, holder: string): Promise<void> {
  await store.lock('partition leases')
  await store.query.deleteFrom('partition_leases').where('holder', '=', holder).execute()
  await store.query.deleteFrom('pipeline_members').where('holder', '=', holder).execute()
}

async function takeLeases({ query }: Store, holder: string, partitions: readonly number[]): Promise<void> {
  if (partitions.length === 0) return
  await query
    .insertInto('partition_leases')
    .values(partitions.map((partition) => ({ partition, holder })))
    .onConflict((conflict) => conflict.column('partition').doUpdateSet({ holder }))
    .execute()
}

async function giveUpLeases({ query }: Store, holder: string, partitions: readonly number[]): Promise<void> {
  if (partitions.length === 0) return
  await query.deleteFrom('partition_leases').where('holder', '=', holder).where('partition', 'in', partitions).execute()
}
