// Inserts many rows in one statement and one parameter. The table is still named only by its own file.
import type { InsertQueryBuilder, InsertResult } from 'kysely'
import type { ColumnType, Store } from './store.ts'
import type { Tables } from './tables.ts'

/** Rows of some or all columns of a table. */
interface FreshRows<Row, Column extends keyof Row & string> {
  readonly columns: { readonly [column in Column]: ColumnType }
  readonly rows: readonly Pick<Row, Column>[]
  /** The order in which they are inserted, and so locked; by default that of `rows`. */
  readonly orderBy?: readonly Column[]
}

/** The statement that inserts rows, to which the caller adds what happens with those that are there already. */
export function insertRows<Table extends keyof Tables, Column extends keyof Tables[Table] & string>(
  store: Store,
  table: Table,
  { columns, rows, orderBy = [] }: FreshRows<Tables[Table], Column>,
): InsertQueryBuilder<Tables, Table, InsertResult> {
  const names = Object.keys(columns) as Column[]
  const fresh = store.query.selectFrom(store.newRows(columns, rows)).select(names)
  const ordered = orderBy.reduce((query, column) => query.orderBy(column), fresh)
  // `where true` tells SQLite's parser that `on conflict` is not a join's.
  const source = ordered.where((row) => row.lit(true))
  return store.query.insertInto(table).columns(names).expression(source)
}
