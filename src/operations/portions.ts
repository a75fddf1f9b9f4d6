// Divides ids into portions whose rows are read together, because a row may have megabytes.

/** The rows of a portion have no more bytes than this, unless it is one row. */
const PORTION_BYTES = 4 * 1024 * 1024

/** In the order of the ids. An id without a size counts nothing. */
export function toPortions(
  ids: readonly number[],
  sizes: readonly { readonly id: number; readonly bytes: number }[],
): number[][] {
  const bytesOf = new Map(sizes.map(({ id, bytes }) => [id, bytes]))
  const portions: number[][] = []
  let room = 0
  for (const id of ids) {
    const bytes = bytesOf.get(id) ?? 0
    if (portions.length === 0 || bytes > room) {
      portions.push([])
      room = PORTION_BYTES
    }
    portions.at(-1)?.push(id)
    room -= bytes
  }
  return portions
}
