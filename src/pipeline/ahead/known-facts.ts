// What is stored of customers in campaigns, as far as batches that are counted ahead have read it, reduced to what shapes depend on:
// a send reports several message events of each customer within minutes, and most do to it what they do to thousands of others.
// Holds only as long as nobody else changes the store and all that is counted is stored; whoever has it clears it otherwise.
import type { Store } from '../../store/store.ts'
import type { GoalBook } from '../contributions/goal-books.ts'
import type { Change } from '../contributions/histories.ts'
import {
  FACTS_MAX,
  factsOf,
  pairOf,
  shapeOf,
  Traits,
  type Outline,
  type OutlinedChange,
  type OutlinedFacts,
} from '../contributions/shapes.ts'
import type { BroughtFacts } from './brought-facts.ts'
import { findConverting } from './find-converting.ts'
import { OutlineTable } from './outline-table.ts'

/** Customers in campaigns, as many as a send reports within seconds, some 20 MiB. Where there would be more, all are forgotten. */
const PAIRS_MAX = 65_536
/** Traits of them, where each is one that no other has had. */
const TRAITS_MAX = 65_536

export interface Sorting {
  readonly book: GoalBook
  readonly brought: BroughtFacts
  readonly factsPerUserMax: number
}

/** A change of which all is known, and which stands for those of so many users. */
export interface KnownAlike {
  readonly change: Change
  readonly stored: OutlinedFacts
  readonly users: number
}

export interface SortedByKnown {
  readonly unread: readonly Change[]
  readonly alike: readonly KnownAlike[]
}

/** A change that is read and counted where the batch is stored. */
export interface LeftChange {
  readonly change: Change
  /** Of its workspace. */
  readonly timezone: string
}

/** By the numbers of the customer ids. */
export type LeftChanges = ReadonlyMap<number, LeftChange>

/** What was stored of a customer in the campaign of a change that was left. */
export interface ReadOfLeft extends OutlinedFacts {
  /** The number of the customer id. */
  readonly customer: number
}

interface KnownChange {
  readonly change: Change
  /** What was stored of its one campaign. */
  readonly stored: Outline
}

export class KnownFacts {
  readonly #pairsMax: number
  readonly #table: OutlineTable
  /** Makes the outlines of changes, also of those that are read after they were sorted. */
  readonly traits = new Traits()

  constructor(pairsMax = PAIRS_MAX) {
    this.#pairsMax = pairsMax
    this.#table = new OutlineTable(pairsMax)
  }

  clear(): void {
    this.#table.clear()
    this.traits.clear()
  }

  /**
   * Divides changes into those that have to be read, because not enough is known of them, and all others, of which those that come
   * to the same are one. What these bring is told to `brought`, and is known from then on.
   */
  async sort(
    store: Store,
    changes: readonly Change[],
    { book, brought, factsPerUserMax }: Sorting,
  ): Promise<SortedByKnown> {
    // Not later: shapes from before and after it cannot be compared.
    if (this.#table.size + changes.length > this.#pairsMax || this.traits.size > TRAITS_MAX) this.clear()
    const known: KnownChange[] = []
    const unread: Change[] = []
    for (const change of changes) {
      const stored = this.#find(change)
      if (stored) known.push({ change, stored })
      else unread.push(change)
    }
    const own = known.map(({ change }) => change)
    const converting = await findConverting(store, book, own, this.#table)
    const byShape = new Map<string, { -readonly [Name in keyof KnownAlike]: KnownAlike[Name] }>()
    for (const { change, stored } of known) {
      const facts = [...stored, ...this.traits.outlineOf(change.facts, book.counted.timezone)]
      const outlined = { facts, storedCount: stored.length }
      const isSmall = facts.length <= factsPerUserMax && !converting.has(change.person.userId)
      const shape = isSmall ? shapeOf(outlined) : undefined
      if (shape === undefined) {
        unread.push(change)
        continue
      }
      const alike = byShape.get(shape)
      if (alike) alike.users++
      else byShape.set(shape, { change, stored: factsOf(stored, change.person.customers[0] as number), users: 1 })
      brought.noteNew(change.person.customers[0] as number, outlined)
      this.#set(change, facts)
    }
    for (const change of unread) this.#forget(change)
    return { unread, alike: [...byShape.values()] }
  }

  /** Remembers what is stored of a user, together with what the batch brings, of which nothing is stored yet. */
  note(change: Change, { facts }: OutlinedChange): void {
    if (facts.length <= FACTS_MAX) this.#set(change, facts)
  }

  /** The same for changes that were left, when their batch is stored; what was read is told of those only that bring nothing known. */
  noteLeft(left: LeftChanges, read: readonly ReadOfLeft[]): void {
    for (const stored of read) {
      const { change, timezone } = left.get(stored.customer) as LeftChange
      // There was room for all changes of the batch, but those of later ones may have taken it meanwhile.
      if (this.#table.size >= this.#pairsMax) return
      this.note(change, this.traits.outlineChange(stored, change.facts, timezone))
    }
  }

  #find(change: Change): Outline | undefined {
    // An audience may change the place of every touch, and so whether goal events follow it.
    const pair = change.facts.memberships.length > 0 ? undefined : pairOf(change.facts)
    return pair && this.#table.get(pair)
  }

  #set(change: Change, outline: Outline): void {
    const pair = pairOf(change.facts)
    if (pair) this.#table.set(pair, outline)
  }

  #forget({ facts }: Change): void {
    for (const fact of facts.memberships) this.#table.delete(fact)
    for (const fact of facts.messages) this.#table.delete(fact)
  }
}
