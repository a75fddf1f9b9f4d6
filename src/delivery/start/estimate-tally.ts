// Counts the places of an audience for an estimate. Of several people with one address it counts one, as a run sends to one.
import { hash } from 'node:crypto'
import type { Candidate, Placed } from '../run/place-people.ts'
import { AppError } from '../../core/app-error.ts'
import { GROUPS, type Group } from '../../core/campaigns/facts.ts'
import type { PinnedTemplate } from '../../core/delivery/audience/pinned-variation.ts'
import { inDigits } from '../../core/in-digits.ts'

/** The most addresses that are compared: each takes some 70 bytes. */
export const ADDRESSES_MAX = 2_000_000
/** The addresses are divided over so many maps, because a large one takes 100 ms when it grows. */
const MAPS = 64
/** Of a hash of the address: two of 2,000,000 are the same once in a hundred estimates. */
const KEY_BYTES = 6

/** Where targets without a reason are sent from. */
export interface CountedPlace {
  readonly variation: string
  readonly template: PinnedTemplate
  count: number
}

export class EstimateTally {
  readonly groups: Readonly<Record<Group, number>>
  /** Reason → targets. */
  readonly removed = new Map<string, number>()
  withoutAddress = 0
  readonly #places = new Map<string, CountedPlace>()
  /** Key of an address → the place of its target, or null if a person of a control group has it. */
  readonly #addresses = Array.from({ length: MAPS }, () => new Map<number, CountedPlace | null>())
  readonly #groups: Record<Group, number>
  readonly #addressesMax: number
  #known = 0

  constructor(addressesMax = ADDRESSES_MAX) {
    this.#addressesMax = addressesMax
    this.#groups = Object.fromEntries(GROUPS.map((group) => [group, 0])) as Record<Group, number>
    this.groups = this.#groups
  }

  /** Throws AppError `conflict` if there are more than `addressesMax` addresses. */
  add(people: readonly Candidate[], places: readonly Placed[]): void {
    for (const [index, place] of places.entries()) {
      this.#groups[place.group]++
      if (place.removed !== undefined) increase(this.removed, place.removed)
      else this.#addAddress((people[index] as Candidate).emailKey, place)
    }
  }

  /** Targets without a reason, by variation and template. */
  get places(): readonly CountedPlace[] {
    return [...this.#places.values()]
  }

  /** As `chooseDuplicates`, but for which person of an address stays: here the first, whose variation and locale are counted. */
  #addAddress(emailKey: string, place: Placed): void {
    const key = hash('sha256', emailKey, 'buffer').readUIntBE(0, KEY_BYTES)
    const addresses = this.#addresses[key % MAPS] as Map<number, CountedPlace | null>
    const before = addresses.get(key)
    if (before === undefined && ++this.#known > this.#addressesMax) throw tooMany(this.#addressesMax)
    if (place.group === 'target') {
      if (before !== undefined) return increase(this.removed, DUPLICATE)
      const counted = this.#placeOf(place)
      counted.count++
      addresses.set(key, counted)
      return
    }
    addresses.set(key, null)
    if (!before) return
    before.count--
    increase(this.removed, DUPLICATE)
  }

  #placeOf({ variation, template }: Placed): CountedPlace {
    const key = JSON.stringify([variation, template])
    const counted = this.#places.get(key) ?? { variation: variation ?? '', template, count: 0 }
    this.#places.set(key, counted)
    return counted
  }
}

const DUPLICATE = 'user_removed_due_to_duplicate'

function tooMany(max: number): AppError {
  const message = `The audience has more than ${inDigits(max)} email addresses, which is more than an estimate compares.`
  return new AppError('conflict', message)
}

export function increase(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by)
}
