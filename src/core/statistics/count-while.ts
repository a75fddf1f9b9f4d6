// Looks into sorted lists by halves.

/** How many items at the beginning of a list something holds for, where it holds for none behind the first that it does not hold for. */
export function countWhile<Item>(sorted: readonly Item[], holds: (item: Item) => boolean): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(sorted[middle] as Item)) low = middle + 1
    else high = middle
  }
  return low
}
