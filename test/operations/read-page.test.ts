// Pages of lists with large items: where they end, and how much is read for them at once.
import { expect, it } from 'vitest'
import { PAGE_BYTES_MAX, readPage } from '../../src/operations/read-page.ts'

interface Row {
  readonly place: number
  readonly bytes: number
}

const MIB = 1024 * 1024
const rowsOf = (count: number, bytes: number): Row[] => Array.from({ length: count }, (_, place) => ({ place, bytes }))

/** A page of rows in the order of their places, and how many rows each read has asked for. */
async function pageOf(rows: readonly Row[], limit: number, before?: { readonly place: number }) {
  const asked: number[] = []
  const { items, last } = await readPage<{ readonly place: number }, Row>({
    before,
    limit,
    read: async (portion) => {
      asked.push(portion.max)
      const start = portion.before === undefined ? 0 : portion.before.place + 1
      return rows.slice(start, start + portion.max)
    },
    write: ({ bytes }) => 'x'.repeat(bytes),
  })
  return { items, last, asked }
}

const pages: [what: string, rows: Row[], limit: number, items: number, last: number | undefined][] = [
  ['nothing', [], 50, 0, undefined],
  ['less than its limit', rowsOf(49, 1), 50, 49, undefined],
  ['as many as its limit', rowsOf(50, 1), 50, 50, undefined],
  ['more than its limit', rowsOf(51, 1), 50, 50, 49],
  ['one of two', rowsOf(2, 1), 1, 1, 0],
  ['several portions', rowsOf(501, 1), 500, 500, 499],
  ['as many bytes as it takes', rowsOf(4, MIB), 500, 4, undefined],
  ['more bytes than it takes', rowsOf(5, MIB), 500, 4, 3],
  ['one byte more than it takes', [...rowsOf(1, 1), ...rowsOf(5, MIB)], 500, 4, 3],
  ['an item of more bytes than it takes', rowsOf(1, PAGE_BYTES_MAX + 1), 500, 1, undefined],
  ['two such items', rowsOf(2, PAGE_BYTES_MAX + 1), 500, 1, 0],
]
it.each(pages)('a page of %s ends where it must', async (_what, rows, limit, items, last) => {
  const page = await pageOf(
    rows.map(({ bytes }, place) => ({ place, bytes })),
    limit,
  )
  expect([page.items.length, page.last?.place]).toEqual([items, last])
})

it('pages follow each other without a gap', async () => {
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

it('reads a page of the usual size at once, and a larger one in portions', async () => {
  expect((await pageOf(rowsOf(1_000, 1), 50)).asked).toEqual([51])
  expect((await pageOf(rowsOf(1_000, 1), 120)).asked).toEqual([51, 51, 19])
})

it('reads no further than the page goes', async () => {
  expect((await pageOf(rowsOf(1_000, MIB), 500)).asked).toEqual([51])
})
