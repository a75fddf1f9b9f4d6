// Lists as CSV, for clients that ask for it by Accept.
import type { Fault } from '../../core/app-error.ts'
import type { OperationRequest } from '../operation.ts'

export const CSV_TYPE = 'text/csv'

export function wantsCsv({ header }: Pick<OperationRequest<object, object, unknown>, 'header'>): boolean {
  const accepted = (header('accept') ?? '').split(',').map((type) => type.split(';', 1)[0]?.trim().toLowerCase())
  return accepted.includes(CSV_TYPE)
}

/** The faults of a query for CSV: these fields are only for pages. */
export function csvFaults<Name extends string>(
  query: { readonly [name in Name]?: unknown },
  pageFields: readonly Name[],
): Fault[] {
  const given = pageFields.filter((name) => query[name] !== undefined)
  return given.map((name) => ({ field: `query.${name}`, problem: `is not allowed with Accept: ${CSV_TYPE}` }))
}
