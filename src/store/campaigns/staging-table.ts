// Staging tables: small tables beside a large one, with the same columns, that take new facts first. A send reports several facts
// of each customer within minutes, in no order. Moving them in the order of the key writes a page of the large table once for all
// of a customer's facts instead of once for each (`docs/decisions/0029`).
import { sql, type RawBuilder } from 'kysely'
import type { ColumnType, SqlTypes, Store } from '../store.ts'
import type { Tables } from '../tables.ts'

interface StagingTableRow {
  /** The name of the staging table. */
  name: string
  /** The number of facts in it. */
  facts: number
  /** The first customer of the next move. */
  customer: number
}

declare module '../tables.ts' {
  interface Tables {
    staging_tables: StagingTableRow
  }
}

/**
 * The most facts of a staging table: enough that a customer has several of them, and few enough that their pages stay in memory.
 */
export const STAGED_FACTS_MAX = 250_000

/** A table and its staging table, which have the same columns and the same key. Each fact is in one of the two. */
export interface StagedTable {
  readonly table: keyof Tables
  readonly staging: keyof Tables
  /** Begins with `customer`. */
  readonly key: readonly string[]
  readonly columns: Readonly<Record<string, ColumnType>>
}

export async function createStagingTable({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('staging_tables')
    .addColumn('name', text, (column) => column.primaryKey())
    .addColumn('facts', integer, (column) => column.notNull())
    .addColumn('customer', integer, (column) => column.notNull())
    .execute()
}

/** Call it once, after creating a staging table. */
export async function startStagingTable({ query }: Store, name: keyof Tables): Promise<void> {
  await query.insertInto('staging_tables').values({ name, facts: 0, customer: 0 }).execute()
}

/** Call it after inserting `added` facts into the staging table. Moves some of its facts if it is too full. */
export async function countStagedFacts(store: Store, tables: StagedTable, added: number): Promise<void> {
  if (added === 0) return
  const { facts } = await store.query
    .updateTable('staging_tables')
    .set({ facts: sql`facts + ${added}` })
    .where('name', '=', tables.staging)
    .returning('facts')
    .executeTakeFirstOrThrow()
  // At most twice the number that was added, so that no transaction takes much longer than others.
  const tooMany = Math.min(facts - STAGED_FACTS_MAX, 2 * added)
  if (tooMany > 0) await moveStagedFacts(store, tables, tooMany)
}

/** Call it after deleting facts from the staging table. */
export async function uncountStagedFacts({ query }: Store, staging: keyof Tables, removed: number): Promise<void> {
  if (removed === 0) return
  const counts = query.updateTable('staging_tables').set({ facts: sql`facts - ${removed}` })
  await counts.where('name', '=', staging).execute()
}

/** Moves up to `max` facts, at least one, out of the staging table; returns how many remain. Needs a transaction. */
export async function moveStagedFacts(store: Store, tables: StagedTable, max: number): Promise<number> {
  const { customer } = await store.query
    .selectFrom('staging_tables')
    .select('customer')
    .where('name', '=', tables.staging)
    .executeTakeFirstOrThrow()
  const { moved, next } = await moveFrom(store, tables, { customer, max })
  const { facts } = await store.query
    .updateTable('staging_tables')
    .set({ facts: sql`facts - ${moved}`, customer: next })
    .where('name', '=', tables.staging)
    .returning('facts')
    .executeTakeFirstOrThrow()
  return facts
}

/** Moves the first `max` facts from a customer on; returns how many there were, and the customer to continue with. */
async function moveFrom(
  { query }: Store,
  { table, staging, key, columns }: StagedTable,
  { customer, max }: { readonly customer: number; readonly max: number },
): Promise<{ readonly moved: number; readonly next: number }> {
  const [all, order] = [toList(Object.keys(columns)), toList(key)]
  const staged = sql`from ${sql.table(staging)} where customer >= ${customer}`
  // The cast is for SQLite, which would compile the statement again each time (`docs/decisions/0026`).
  const end = await sql<Record<string, string | number>>`
    select ${order} ${staged} order by ${order} limit 1 offset cast(${max - 1} as bigint)`.execute(query)
  const last = end.rows[0]
  const batch = last ? sql`${staged} and (${order}) <= (${sql.join(key.map((column) => last[column]))})` : staged
  // A fact is never in both tables; if one were, the large table would win.
  await sql`
    insert into ${sql.table(table)} (${all}) select ${all} ${batch} order by ${order} on conflict do nothing`.execute(
    query,
  )
  const { numAffectedRows } = await sql`delete ${batch}`.execute(query)
  return { moved: Number(numAffectedRows), next: last ? Number(last['customer']) : 0 }
}

function toList(columns: readonly string[]): RawBuilder<unknown> {
  return sql.join(columns.map((column) => sql.ref(column)))
}
