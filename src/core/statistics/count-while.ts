// Binary search in sorted lists.

/** Counts the leading items for which `holds` is true. It must be false for all items after the first for which it is false. */
export function countWhile<Item>(sorted: readonly Item[], holds: (item: Item) => boolean): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(sorted[middle] as Item)) low = middle + 1
    else high = middle
  }
  return low
}
