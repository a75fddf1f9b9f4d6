// Merges sorted lists lazily, so that no long sort blocks the thread.

/** The texts of all lists in order (by UTF-16 units, like `sort`), with repeats. For few lists of any length. */
export function* mergeSorted(lists: readonly (readonly string[])[]): Generator<string, void, void> {
  const positions = lists.map(() => 0)
  for (;;) {
    let least: string | undefined
    let from = 0
    for (let index = 0; index < lists.length; index++) {
      const head = lists[index]?.[positions[index] ?? 0]
      if (head === undefined || (least !== undefined && head >= least)) continue
      least = head
      from = index
    }
    if (least === undefined) return
    positions[from] = (positions[from] ?? 0) + 1
    yield least
  }
}
