// Counts the leaves of conditions with those of the segments that they name, without replacing any: for a segment that changes, which
// others grow with it.
import { listLeaves, type SegmentCondition } from './condition.ts'

/** What a condition has itself: leaves, and among them the names of segments. */
export interface OwnSize {
  readonly leaves: number
  /** An id for each leaf that names a segment. */
  readonly named: readonly string[]
}

export interface ExpandedSize {
  /** After every segment is replaced; as `expandSegments` counts. */
  readonly leaves: number
  /** Whether it names the segment that changes, also through others. */
  readonly isConcerned: boolean
}

export function ownSizeOf(condition: SegmentCondition): OwnSize {
  const leaves = listLeaves(condition, '')
  return { leaves: leaves.length, named: leaves.flatMap(({ leaf }) => ('segment' in leaf ? [leaf.segment] : [])) }
}

export class ExpandedSizes {
  readonly #segments: ReadonlyMap<string, OwnSize>
  readonly #changed: string
  readonly #known = new Map<string, ExpandedSize>()

  /** `segments`: those of a workspace by their ids; none leads back to itself. */
  constructor(segments: ReadonlyMap<string, OwnSize>, changed: string) {
    this.#segments = segments
    this.#changed = changed
  }

  /** Several conditions together. */
  sum(sizes: readonly OwnSize[]): ExpandedSize {
    let leaves = 0
    let isConcerned = false
    for (const size of sizes) {
      const named = size.named.map((id) => this.of(id))
      leaves += size.leaves - named.length + named.reduce((sum, one) => sum + one.leaves, 0)
      isConcerned ||= named.some((one) => one.isConcerned)
    }
    return { leaves, isConcerned }
  }

  /** A segment; an unknown one is a leaf. */
  of(id: string): ExpandedSize {
    const known = this.#known.get(id)
    if (known) return known
    const own = this.#segments.get(id)
    const { leaves, isConcerned } = own ? this.sum([own]) : { leaves: 1, isConcerned: false }
    const size = { leaves, isConcerned: isConcerned || id === this.#changed }
    this.#known.set(id, size)
    return size
  }
}
