// Pages of lists with large items: where they end, and how much one query reads.
import { expect, it } from 'vitest'
import { PAGE_BYTES_MAX, readPage } from '../../src/operations/read-page.ts'

interface Row {
  readonly position: number
  readonly bytes: number
}

const MIB = 1024 * 1024
const rowsOf = (count: number, bytes: number): Row[] =>
  Array.from({ length: count }, (_, position) => ({ position, bytes }))

/** A page of rows in order of position, and the number of rows that each read requested. */
async function pageOf(rows: readonly Row[], limit: number, before?: { readonly position: number }) {
  const requested: number[] = []
  const { items, last } = await readPage<{ readonly position: number }, Row>({
    before,
    limit,
    read: async (portion) => {
      requested.push(portion.max)
      const start = portion.before === undefined ? 0 : portion.before.position + 1
      return rows.slice(start, start + portion.max)
    },
    write: ({ bytes }) => 'x'.repeat(bytes),
  })
  return { items, last, requested }
}

const pages: [what: string, rows: Row[], limit: number, items: number, last: number | undefined][] = [
  ['no rows', [], 50, 0, undefined],
  ['fewer rows than its limit', rowsOf(49, 1), 50, 49, undefined],
  ['as many rows as its limit', rowsOf(50, 1), 50, 50, undefined],
  ['more rows than its limit', rowsOf(51, 1), 50, 50, 49],
  ['one of two rows', rowsOf(2, 1), 1, 1, 0],
  ['several portions', rowsOf(501, 1), 500, 500, 499],
  ['as many bytes as fit', rowsOf(4, MIB), 500, 4, undefined],
  ['more bytes than fit', rowsOf(5, MIB), 500, 4, 3],
  ['one byte more than fits', [...rowsOf(1, 1), ...rowsOf(5, MIB)], 500, 4, 3],
  ['one item that is too large', rowsOf(1, PAGE_BYTES_MAX + 1), 500, 1, undefined],
  ['two items that are too large', rowsOf(2, PAGE_BYTES_MAX + 1), 500, 1, 0],
]
it.each(pages)('a page of %s ends at its limit', async (_what, rows, limit, items, last) => {
  const page = await pageOf(
    rows.map(({ bytes }, position) => ({ position, bytes })),
    limit,
  )
  expect([page.items.length, page.last?.position]).toEqual([items, last])
})

it('pages continue without gaps', async () => {
  const rows = rowsOf(120, 100_000)
  const sizes: number[] = []
  let before: Row | undefined
  do {
    const page = await pageOf(rows, 100, before)
    sizes.push(page.items.length)
    before = page.last
  } while (before)
  expect(sizes).toEqual([41, 41, 38])
})

it('a page of the usual size is read at once, and a larger one in portions', async () => {
  expect((await pageOf(rowsOf(1_000, 1), 50)).requested).toEqual([51])
  expect((await pageOf(rowsOf(1_000, 1), 120)).requested).toEqual([51, 51, 19])
})

it('nothing is read beyond the end of the page', async () => {
  expect((await pageOf(rowsOf(1_000, MIB), 500)).requested).toEqual([51])
})
