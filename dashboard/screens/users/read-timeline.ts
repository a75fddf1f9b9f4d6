// One line of time of a person from several lists, each in the order of its own times. A page ends where one of the lists has not been
// read far enough.

export interface TimelineItem {
  /** ISO 8601. */
  readonly at: string
}

interface ListPage<Item> {
  readonly items: readonly Item[]
  readonly next: string | undefined
}

/** Reads a page of one list: newest first. */
export type ReadList<Item> = (before: string | undefined) => Promise<ListPage<Item>>

export interface TimelinePage<Item> {
  readonly data: readonly Item[]
  readonly hasMore: boolean
}

/** `page`: 1 is the newest. */
export async function readTimeline<Item extends TimelineItem>(
  lists: readonly ReadList<Item>[],
  page: number,
): Promise<TimelinePage<Item>> {
  const sources = lists.map((read) => ({ read, next: undefined as string | undefined, isAtEnd: false }))
  /** Read and not on a page yet. */
  let waiting: Item[] = []
  for (let number = 1; ; number++) {
    const ends = await Promise.all(
      sources.map(async (source) => {
        if (source.isAtEnd) return undefined
        const { items, next } = await source.read(source.next)
        source.next = next
        source.isAtEnd = next === undefined
        waiting.push(...items)
        return source.isAtEnd ? undefined : items.at(-1)?.at
      }),
    )
    // Older items of the others may come before the next ones of a list that goes on.
    const horizon = ends.reduce<string>((latest, end) => (end !== undefined && end > latest ? end : latest), '')
    const shown = waiting.filter(({ at }) => at > horizon)
    waiting = waiting.filter(({ at }) => at <= horizon)
    const hasMore = sources.some(({ isAtEnd }) => !isAtEnd)
    if (number >= page || !hasMore) {
      return { data: shown.toSorted((left, right) => (left.at < right.at ? 1 : left.at > right.at ? -1 : 0)), hasMore }
    }
  }
}
