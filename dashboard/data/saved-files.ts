// Files that the person saves: what the server sends, and the numbers of the screen as CSV.
import { toCsvLine, type CsvCell } from '../../src/core/exports/csv-line.ts'

export function toCsv(head: readonly string[], rows: readonly (readonly CsvCell[])[]): string {
  return [head, ...rows].map((cells) => `${toCsvLine(cells)}\r\n`).join('')
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
