// Values that a statement asks for, such as ids, as rows of their own that it joins or searches.
import type { AliasedExpression } from 'kysely'
import type { BulkColumns, Store } from './store.ts'

/** Rows of `wanted` with one column. */
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
