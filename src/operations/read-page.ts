// Reads a page of a list whose items may be large. It reads and serializes rows in portions, so that a request never holds more
// than one page of bounded size and one portion of rows.

/** A page ends before the item that would exceed this size. An item that is larger alone gets its own page. */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024

/** The same in words, for descriptions. */
export const PAGE_SIZE_LIMIT = `${PAGE_BYTES_MAX / (1024 * 1024)} MiB`

/** One portion holds a usual page of 50, and the row that shows whether another page follows. */
const PORTION_MAX = 51

export interface PageSource<Key, Row extends Key> {
  /** The page begins after the row with this key; undefined: at the beginning of the list. */
  readonly before: Key | undefined
  /** The most items of the page. */
  readonly limit: number
  /** Rows to read at once, if they are small. Default: `PORTION_MAX`. */
  readonly portionMax?: number
  /** Returns at most `max` rows after a key, in order; fewer only at the end of the list. */
  readonly read: (portion: { readonly before: Key | undefined; readonly max: number }) => Promise<readonly Row[]>
  /** Returns the JSON of a row's item. */
  readonly write: (row: Row) => string
}

/** The items of a page as JSON, and its last row if another page follows. */
export interface JsonPage<Row> {
  readonly items: readonly string[]
  readonly last: Row | undefined
}

export async function readPage<Key, Row extends Key>(source: PageSource<Key, Row>): Promise<JsonPage<Row>> {
  const { before, limit, portionMax = PORTION_MAX, read, write } = source
  const items: string[] = []
  let last: Row | undefined
  let bytes = 0
  for (;;) {
    // One more than requested shows whether another page follows.
    const max = Math.min(portionMax, limit + 1 - items.length)
    const rows = await read({ before: last ?? before, max })
    for (const row of rows) {
      if (items.length === limit) return { items, last }
      const item = write(row)
      bytes += Buffer.byteLength(item)
      if (bytes > PAGE_BYTES_MAX && items.length > 0) return { items, last }
      items.push(item)
      last = row
    }
    if (rows.length < max) return { items, last: undefined }
  }
}
