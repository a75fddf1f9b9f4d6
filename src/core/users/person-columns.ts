// The columns of a CSV import: which member of a row each of them holds. Cells are text; an empty cell counts as not sent.
import type { Fault } from '../app-error.ts'
import { nameProblem } from '../attributes.ts'
import { hiddenProblem } from '../bounded-text.ts'
import type { WorkspaceSettings } from '../workspace.ts'
import { SYSTEM_PREFIX, CUSTOMER_ID } from './user.ts'

export const COLUMNS_MAX = 1_000
const CATEGORY_PREFIX = 'categories.'
const OPT_IN_STATUS = 'opt_in_status'
/** Spreadsheets in many countries separate columns by these. */
const OTHER_SEPARATORS = [';', '\t', '|']

export interface PersonColumn {
  readonly member: 'customer_id' | 'user_identifiers' | 'attributes' | 'opt_in_status' | 'categories'
  /** Within the member. */
  readonly name: string
}

type ColumnSettings = Pick<WorkspaceSettings, 'identityResolution' | 'categories'>

/** The columns that a header names, or all its faults. */
export function readHeader(
  names: readonly string[],
  settings: ColumnSettings,
): { readonly columns: readonly PersonColumn[]; readonly faults: readonly Fault[] } {
  const separator = OTHER_SEPARATORS.find((other) => names.length === 1 && names[0]?.includes(other))
  if (separator !== undefined || /^sep=/i.test(names[0] ?? '')) {
    const what = separator === undefined ? 'begins with sep=' : `separates columns by ${JSON.stringify(separator)}`
    return { columns: [], faults: [lineFault(`${what}; export the file with commas, the header in the first line`)] }
  }
  if (names.length > COLUMNS_MAX)
    return { columns: [], faults: [lineFault(`must name at most ${COLUMNS_MAX} columns`)] }
  const columns = names.map((name) => toColumn(name, settings))
  const faults = names.flatMap((name, index) => {
    const problem = names.indexOf(name) < index ? 'must not be given twice' : columnProblem(name, settings)
    return problem === undefined
      ? []
      : [{ field: `column ${index + 1}`, problem: `(${JSON.stringify(name)}) ${problem}` }]
  })
  if (!columns.some(({ member }) => member === 'customer_id' || member === 'user_identifiers')) {
    faults.unshift(lineFault(`must name a column ${[CUSTOMER_ID, ...settings.identityResolution].join(' or ')}`))
  }
  return { columns, faults }
}

/** The row that cells are: an object as in JSON, or the problem. */
export function toRowOfCells(columns: readonly PersonColumn[], cells: readonly string[]): object | string {
  if (cells.length !== columns.length) return `must have ${columns.length} cells, as the header, not ${cells.length}`
  const row: Record<string, string | Record<string, unknown>> = {}
  for (let index = 0; index < columns.length; index++) {
    const [{ member, name }, cell] = [columns[index] as PersonColumn, cells[index] as string]
    if (cell === '') continue
    if (member === 'customer_id' || member === 'opt_in_status') row[member] = cell
    else ((row[member] ??= {}) as Record<string, unknown>)[name] = member === 'categories' ? toBoolean(cell) : cell
  }
  return row
}

/** A cell that is neither stays a text, which is refused. */
function toBoolean(cell: string): boolean | string {
  const word = cell.toLowerCase()
  return word === 'true' || word === 'false' ? word === 'true' : cell
}

function toColumn(name: string, { identityResolution }: ColumnSettings): PersonColumn {
  if (name === CUSTOMER_ID || name === OPT_IN_STATUS) return { member: name, name }
  if (identityResolution.includes(name)) return { member: 'user_identifiers', name }
  if (name.startsWith(CATEGORY_PREFIX)) return { member: 'categories', name: name.slice(CATEGORY_PREFIX.length) }
  return { member: 'attributes', name }
}

function columnProblem(name: string, settings: ColumnSettings): string | undefined {
  const { member, name: inner } = toColumn(name, settings)
  if (member === 'categories' && !settings.categories.includes(inner))
    return 'is not an active category of this workspace'
  if (member !== 'attributes') return undefined
  if (name.startsWith(SYSTEM_PREFIX))
    return 'is not an identifier of this workspace, and attributes must not begin with svc_'
  if (name === '__proto__') return 'is not allowed as a name'
  if (name.trim() !== name) return 'must not begin or end with a space'
  return nameProblem(name) ?? hiddenProblem(name)
}

function lineFault(problem: string): Fault {
  return { field: 'line 1', problem }
}
