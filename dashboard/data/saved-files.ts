// Files that the person saves: what the server sends, and the numbers of the screen as CSV.

export type CsvCell = string | number | boolean | null

/** Lines as in RFC 4180. A text that a spreadsheet would take for a formula gets an apostrophe in front. */
export function toCsv(head: readonly string[], rows: readonly (readonly CsvCell[])[]): string {
  return [head, ...rows].map((cells) => `${cells.map(toField).join(',')}\r\n`).join('')
}

function toField(value: CsvCell): string {
  if (typeof value !== 'string') return value === null ? '' : String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

export function saveFile(fileName: string, content: Blob): void {
  const address = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = address
  link.download = fileName
  link.click()
  URL.revokeObjectURL(address)
}

export function saveCsv(fileName: string, csv: string): void {
  // The mark tells Excel that it is UTF-8.
  saveFile(fileName, new Blob(['\uFEFF', csv], { type: 'text/csv;charset=utf-8' }))
}
