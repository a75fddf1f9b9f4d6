// Lines of CSV: what is quoted, and what a spreadsheet must not take for a formula.
import { expect, it } from 'vitest'
import { toCsvLine, type CsvCell } from '../../../src/core/exports/csv-line.ts'

const cells: [cell: CsvCell, written: string][] = [
  ['plain', 'plain'],
  ['', ''],
  [null, ''],
  [false, 'false'],
  [-1.5, '-1.5'],
  ['a,b', '"a,b"'],
  ['a "quoted" name', '"a ""quoted"" name"'],
  ['two\nlines', '"two\nlines"'],
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['=HYPERLINK("a","b")', '"\'=HYPERLINK(""a"",""b"")"'],
]
it.each(cells)('A cell of CSV with %j is written as %s', (cell, written) => {
  expect(toCsvLine([cell, 'x'])).toBe(`${written},x`)
})
