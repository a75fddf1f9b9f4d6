// Compares what is kept of large users with what has been counted for them: what must be added to the statistics, and what is to
// be kept from then on, in parts that one short transaction writes.
import { addSeriesCells, CellSum, countCells, seriesKey, type ContributedSeries } from '../../core/statistics/cells.ts'
import {
  findKeptUserIds,
  removeKeptSeries,
  saveKeptSeries,
  streamKeptSeries,
  toSeriesCells,
  type KeptSeries,
} from '../../store/statistics/kept-series.ts'
import type { Store } from '../../store/store.ts'
import type { UserWithAliases } from '../../store/users/users.ts'
import { turn, type CountedPortion } from './count-large.ts'
import { isStanding, type GoalBook } from './goal-books.ts'

/** The cells and the series that one transaction writes; its last series may bring more cells, one for each day. */
const CELLS_PER_WRITE = 5_000
const SERIES_PER_WRITE = 2_000

/** Series that are looked at between two turns of the event loop, which others need meanwhile. */
const SERIES_PER_TURN = 1_000

/** A part of what has changed. All parts refer to what was kept when they were made. */
export interface KeptChange {
  /** What must be added to the statistics. */
  readonly difference: CellSum
  readonly saved: readonly KeptSeries[]
  readonly removed: readonly KeptSeries[]
}

/**
 * What a count of some of a user's campaigns changes. What is kept of users that were merged into this one is its own from then
 * on; what is kept by past goals is forgotten, because nothing of it is in the numbers in use.
 */
export async function* compareKept(
  store: Store,
  book: GoalBook,
  { person, portion }: { readonly person: UserWithAliases; readonly portion: CountedPortion },
): AsyncGenerator<KeptChange, void, undefined> {
  const { userId } = person
  const missing = await bySeries(portion.series)
  let draft = new KeptDraft()
  for (const owner of await findKeptUserIds(store, person.userIds)) {
    for await (const page of streamKeptSeries(store, owner, portion)) {
      for (const kept of page) {
        const key = seriesKey(kept.series)
        const counted = owner === userId ? missing.get(key) : undefined
        if (counted) missing.delete(key)
        draft.replace(kept, counted, isStanding(book, kept.series))
        if (!draft.isFull) continue
        yield draft
        draft = new KeptDraft()
      }
      await turn()
    }
  }
  for (const counted of missing.values()) {
    draft.add(userId, counted)
    if (!draft.isFull) continue
    yield draft
    draft = new KeptDraft()
  }
  if (!draft.isEmpty) yield draft
}

async function bySeries(counted: readonly ContributedSeries[]): Promise<Map<string, ContributedSeries>> {
  const found = new Map<string, ContributedSeries>()
  for (const one of counted) {
    found.set(seriesKey(one.series), one)
    if (found.size % SERIES_PER_TURN === 0) await turn()
  }
  return found
}

/** Stores what a change says. */
export async function applyKept(store: Store, { saved, removed }: KeptChange): Promise<void> {
  await removeKeptSeries(store, removed)
  await saveKeptSeries(store, saved)
}

/**
 * Stores what users contribute of whom nothing is kept yet, many series with one statement. All of it is stored after `flush`.
 */
export class KeptWriter {
  readonly #store: Store
  #draft = new KeptDraft()

  constructor(store: Store) {
    this.#store = store
  }

  async add(userId: number, series: Iterable<ContributedSeries>): Promise<void> {
    for (const one of series) {
      this.#draft.add(userId, one)
      if (this.#draft.isFull) await this.flush()
    }
  }

  async flush(): Promise<void> {
    await applyKept(this.#store, this.#draft)
    this.#draft = new KeptDraft()
  }
}

/** A change in the making. */
class KeptDraft implements KeptChange {
  readonly difference = new CellSum()
  readonly saved: KeptSeries[] = []
  readonly removed: KeptSeries[] = []
  #cells = 0

  get isEmpty(): boolean {
    return this.saved.length + this.removed.length === 0
  }

  get isFull(): boolean {
    return this.#cells >= CELLS_PER_WRITE || this.saved.length + this.removed.length >= SERIES_PER_WRITE
  }

  /** Keeps what was counted of a series in place of what was kept of it; keeps nothing where nothing was counted. */
  replace(kept: KeptSeries, counted: ContributedSeries | undefined, isStanding: boolean): void {
    const cells = counted?.cells()
    const text = cells && JSON.stringify(cells)
    if (text === kept.cells) return
    const before = toSeriesCells(kept)
    if (isStanding) addSeriesCells(this.difference, kept.series, before, -1)
    if (cells) addSeriesCells(this.difference, kept.series, cells, 1)
    if (text === undefined) this.removed.push(kept)
    else this.saved.push({ ...kept, cells: text })
    this.#cells += countCells(before) + (cells ? countCells(cells) : 0)
  }

  /** Keeps what was counted of a series of which nothing is kept. */
  add(userId: number, { series, cells: toCells }: ContributedSeries): void {
    const cells = toCells()
    addSeriesCells(this.difference, series, cells, 1)
    this.saved.push({ userId, series, cells: JSON.stringify(cells) })
    this.#cells += countCells(cells)
  }
}
