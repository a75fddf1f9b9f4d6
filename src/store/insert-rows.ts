// Inserts many rows with one statement and one parameter. Callers name the table, so each table stays in its own file.
import { sql, type InsertQueryBuilder, type InsertResult, type RawBuilder } from 'kysely'
import type { ColumnType, Store } from './store.ts'
import type { Tables } from './tables.ts'

/** Rows to insert, with some or all columns of a table. */
interface FreshRows<Row, Column extends keyof Row & string> {
  readonly columns: { readonly [column in Column]: ColumnType }
  readonly rows: readonly Pick<Row, Column>[]
  /** The order in which rows are inserted, and therefore locked. Default: that of `rows`. */
  readonly orderBy?: readonly Column[]
  /** Leaves out rows whose key is in this other table. */
  readonly notIn?: { readonly table: keyof Tables; readonly key: readonly Column[] }
}

/** The insert statement. The caller adds `on conflict` and executes it. */
export function insertRows<Table extends keyof Tables, Column extends keyof Tables[Table] & string>(
  store: Store,
  table: Table,
  { columns, rows, orderBy = [], notIn }: FreshRows<Tables[Table], Column>,
): InsertQueryBuilder<Tables, Table, InsertResult> {
  const names = Object.keys(columns) as Column[]
  const fresh = store.query.selectFrom(store.newRows(columns, rows)).select(names)
  const ordered = orderBy.reduce((query, column) => query.orderBy(column), fresh)
  // Without `where true`, SQLite parses `on conflict` as the `on` of a join.
  const source = ordered.where(notIn ? sql<boolean>`not exists (${isIn(notIn)})` : sql.lit(true))
  return store.query.insertInto(table).columns(names).expression(source)
}

function isIn({ table, key }: { readonly table: string; readonly key: readonly string[] }): RawBuilder<unknown> {
  const isSame = key.map((column) => sql`existing.${sql.ref(column)} = fresh.${sql.ref(column)}`)
  return sql`select 1 from ${sql.table(table)} as existing where ${sql.join(isSame, sql` and `)}`
}
