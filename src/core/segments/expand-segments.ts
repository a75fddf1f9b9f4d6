// Replaces segments that a condition names by their conditions.
import type { Fault } from '../app-error.ts'
import { listLeaves, type SegmentCondition } from './condition.ts'

/** The most leaves of a condition after every segment that it names is replaced. */
export const EXPANDED_LEAVES_MAX = 250

export interface Expansion {
  /** Without leaves that name a segment, unless there are faults. */
  readonly condition: SegmentCondition
  readonly faults: readonly Fault[]
}

export interface Known {
  /** Segment id → its condition. */
  readonly segments: ReadonlyMap<string, SegmentCondition>
  /** The id of the segment whose condition this is, which no segment in it may lead back to. */
  readonly self?: string | undefined
}

/** The ids of the segments that a condition names itself. */
export function namedSegments(condition: SegmentCondition): string[] {
  return listLeaves(condition, '').flatMap(({ leaf }) => ('segment' in leaf ? [leaf.segment] : []))
}

/** `path` is that of the condition in the request. */
export function expandSegments(condition: SegmentCondition, path: string, known: Known): Expansion {
  const faults: Fault[] = []
  const expander = new Expander(known.segments)
  const expanded = expander.expand(condition, known.self === undefined ? [] : [known.self])
  for (const { path: field, leaf } of listLeaves(condition, path)) {
    if (!('segment' in leaf)) continue
    const problem = expander.problemOf(leaf.segment, known.self)
    if (problem !== undefined) faults.push({ field: `${field}.segment`, problem })
  }
  if (expander.leaves > EXPANDED_LEAVES_MAX) {
    const problem = `must have at most ${EXPANDED_LEAVES_MAX} conditions, with those of the segments that it names`
    faults.push({ field: path, problem })
  }
  return { condition: expanded, faults }
}

class Expander {
  readonly #segments: ReadonlyMap<string, SegmentCondition>
  leaves = 0

  constructor(segments: ReadonlyMap<string, SegmentCondition>) {
    this.#segments = segments
  }

  /** `above`: the segments that lead here. Leaves what cannot be replaced as it is. */
  expand(condition: SegmentCondition, above: readonly string[]): SegmentCondition {
    // A tree that doubles with each segment would otherwise grow without limit.
    if (this.leaves > EXPANDED_LEAVES_MAX) return condition
    if ('all' in condition) return { all: condition.all.map((part) => this.expand(part, above)) }
    if ('any' in condition) return { any: condition.any.map((part) => this.expand(part, above)) }
    if ('not' in condition) return { not: this.expand(condition.not, above) }
    const named = 'segment' in condition ? this.#segments.get(condition.segment) : undefined
    if ('segment' in condition && named && !above.includes(condition.segment)) {
      return this.expand(named, [...above, condition.segment])
    }
    this.leaves++
    return condition
  }

  /** Why a segment that the condition names cannot be replaced. */
  problemOf(id: string, self: string | undefined): string | undefined {
    if (!this.#segments.has(id)) return 'is not the id of a segment in the workspace'
    const leadsBack = self === undefined ? this.#reaches(this.#namedBy(id), id) : this.#reaches([id], self)
    return leadsBack ? 'must not lead back to the segment itself' : undefined
  }

  /** Whether `target` is one of these segments, or is named by them, also through others. */
  #reaches(ids: readonly string[], target: string): boolean {
    const seen = new Set<string>()
    const waiting = [...ids]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (next === target) return true
      if (seen.has(next)) continue
      seen.add(next)
      waiting.push(...this.#namedBy(next))
    }
    return false
  }

  #namedBy(id: string): string[] {
    const condition = this.#segments.get(id)
    return condition ? namedSegments(condition) : []
  }
}
