// Lines of CSV as in RFC 4180, for programs and for spreadsheets.

export type CsvCell = string | number | boolean | null

/** Begins a formula, in which a stranger could write what a spreadsheet then does. */
const FORMULA = /^[=+\-@\t\r]/

/** A line without its end. A text that a spreadsheet would take for a formula gets an apostrophe in front. */
export function toCsvLine(cells: readonly CsvCell[]): string {
  return cells.map(toField).join(',')
}

function toField(value: CsvCell): string {
  if (typeof value !== 'string') return value === null ? '' : String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
