// Goes through several sorted lists as if they were one, a little at a time, so that nobody waits for a long sort.

/** The texts of all lists in order (by UTF-16 units, as `sort` compares); repeats stay. Meant for few lists of any length. */
export function* mergeSorted(lists: readonly (readonly string[])[]): Generator<string, void, void> {
  const places = lists.map(() => 0)
  for (;;) {
    let least: string | undefined
    let from = 0
    for (let index = 0; index < lists.length; index++) {
      const head = lists[index]?.[places[index] ?? 0]
      if (head === undefined || (least !== undefined && head >= least)) continue
      least = head
      from = index
    }
    if (least === undefined) return
    places[from] = (places[from] ?? 0) + 1
    yield least
  }
}
