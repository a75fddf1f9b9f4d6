// Turns a list of values, such as ids, into the rows of a table `wanted` that a statement joins or searches.
import type { AliasedExpression } from 'kysely'
import type { BulkColumns, Store } from './store.ts'

/** A table `wanted` with one column and a row for each value. */
export function wantedValues<Column extends string, Value extends number | string>(
  store: Store,
  column: Column,
  type: Value extends number ? 'integer' : 'text',
  values: readonly Value[],
): AliasedExpression<Record<Column, Value>, 'wanted'> {
  const columns: BulkColumns<Record<string, Value>> = { [column]: type }
  const rows: Record<string, Value>[] = []
  for (const value of values) rows.push({ [column]: value })
  return store.rowsOf('wanted', columns, rows)
}
