// Changes that come to the same for many users: a campaign that goes out does the same to most of its users as to thousands of
// others. Such changes are counted once, and added as many times as there are users.
import { CellSum } from '../../core/statistics/cells.ts'
import { addDifference } from './difference.ts'
import type { GoalBook } from './goal-books.ts'
import type { Change, StoredHistory } from './histories.ts'
import { FACTS_MAX, shapeOf, Traits, type OutlinedChange } from './shapes.ts'

/** What a batch brings for one user, and what was there before. */
export type StoredChange = Change & { readonly stored: StoredHistory }

/** Different changes in memory at one time. */
const SHAPES_MAX = 1_000

export class AlikeChanges {
  readonly #sum: CellSum
  readonly #book: GoalBook
  readonly #traits = new Traits()
  readonly #byShape = new Map<string, { readonly change: StoredChange; users: number }>()

  /** What changes is added to `sum`; all of it is there after `settle`. */
  constructor(sum: CellSum, book: GoalBook) {
    this.#sum = sum
    this.#book = book
  }

  add(change: StoredChange): void {
    const outlined = outlineChange(change, this.#traits, this.#book.counted.timezone)
    const shape = outlined && shapeOf(outlined)
    const known = shape === undefined ? undefined : this.#byShape.get(shape)
    if (shape === undefined) this.#addTimes(change, 1)
    else if (known) known.users++
    else {
      if (this.#byShape.size >= SHAPES_MAX) this.settle()
      this.#byShape.set(shape, { change, users: 1 })
    }
  }

  settle(): void {
    for (const { change, users } of this.#byShape.values()) this.#addTimes(change, users)
    this.#byShape.clear()
  }

  #addTimes(change: StoredChange, users: number): void {
    if (users === 1) {
      addDifference(this.#sum, this.#book, change)
      return
    }
    const own = new CellSum()
    addDifference(own, this.#book, change)
    this.#sum.addAll(own, users)
  }
}

/**
 * What is alike in changes. Undefined with goal events, whose windows are lengths of time; where users became one; and with very many
 * facts.
 */
export function outlineChange(
  { before, stored, facts }: StoredChange,
  traits: Traits,
  timezone: string,
): OutlinedChange | undefined {
  if (before.length !== 1 || stored.goalEvents.length > 0 || facts.goalEvents.length > 0) return undefined
  if (stored.memberships.length + stored.messages.length > FACTS_MAX) return undefined
  return traits.outlineChange(stored, facts, timezone)
}
