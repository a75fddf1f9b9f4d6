// A page of a list whose items may be large: read in portions, and written out portion by portion, so that a request never holds
// more than a page of a bounded size and one portion of rows.

/**
 * A page ends before the item with which its items would take more than this; an item that is larger alone is a page of its own.
 */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024

/** The same in words, for descriptions. */
export const PAGE_ROOM = `${PAGE_BYTES_MAX / (1024 * 1024)} MiB`

/** A page of the usual 50, and the row that tells whether another page follows, are read at once. */
const PORTION_MAX = 51

export interface PageSource<Place, Row extends Place> {
  /** Where the page begins: behind this place, or at the beginning of the list. */
  readonly before: Place | undefined
  /** The most items of the page. */
  readonly limit: number
  /** How many rows to read at once, given where they are small; otherwise `PORTION_MAX`. */
  readonly portionMax?: number
  /** The rows behind a place, in order, at most `max`; fewer only where the list ends. */
  readonly read: (portion: { readonly before: Place | undefined; readonly max: number }) => Promise<readonly Row[]>
  /** A row as the JSON of its item. */
  readonly write: (row: Row) => string
}

/** What a page holds, as JSON, and its last row where another page follows. */
export interface JsonPage<Row> {
  readonly items: readonly string[]
  readonly last: Row | undefined
}

export async function readPage<Place, Row extends Place>(source: PageSource<Place, Row>): Promise<JsonPage<Row>> {
  const { before, limit, portionMax = PORTION_MAX, read, write } = source
  const items: string[] = []
  let last: Row | undefined
  let bytes = 0
  for (;;) {
    // One more than asked for tells whether another page follows.
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
