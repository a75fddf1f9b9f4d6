// Segments that name segments: how they are replaced, and what is refused ("Segments").
import { describe, expect, it } from 'vitest'
import type { SegmentCondition } from '../../../src/core/segments/condition.ts'
import { EXPANDED_LEAVES_MAX, expandSegments } from '../../../src/core/segments/expand-segments.ts'

const PLAN: SegmentCondition = { attribute: 'plan', operator: 'exists' }
const CITY: SegmentCondition = { attribute: 'city', operator: 'exists' }

/** A list of the same value. */
function repeated<Value>(value: Value, length: number): Value[] {
  return Array.from({ length }, () => value)
}

function expand(condition: SegmentCondition, segments: Record<string, SegmentCondition>, self?: string) {
  return expandSegments(condition, 'where', { segments: new Map(Object.entries(segments)), self })
}

describe('A segment in a condition', () => {
  it('is replaced by its condition, also through others', () => {
    const segments: Record<string, SegmentCondition> = { a: { not: { segment: 'b' } }, b: { any: [PLAN, CITY] } }
    const condition = { all: [{ segment: 'a' }, CITY] }
    expect(expand(condition, segments)).toEqual({
      condition: { all: [{ not: { any: [PLAN, CITY] } }, CITY] },
      faults: [],
    })
  })

  it('may stand in a condition several times', () => {
    const { condition, faults } = expand({ any: [{ segment: 'a' }, { segment: 'a' }] }, { a: PLAN })
    expect({ condition, faults }).toEqual({ condition: { any: [PLAN, PLAN] }, faults: [] })
  })

  const refused: [
    rule: string,
    condition: SegmentCondition,
    segments: Record<string, SegmentCondition>,
    field: string,
  ][] = [
    ['is unknown', { not: { segment: 'x' } }, {}, 'where.not.segment'],
    ['is the segment itself', { segment: 'self' }, { self: PLAN }, 'where.segment'],
    [
      'leads back to it',
      { all: [PLAN, { segment: 'a' }] },
      { a: { segment: 'b' }, b: { segment: 'self' }, self: PLAN },
      'where.all[1].segment',
    ],
  ]
  it.each(refused)('that %s is refused', (_rule, condition, segments, field) => {
    expect(expand(condition, segments, 'self').faults.map((fault) => fault.field)).toEqual([field])
  })

  it('adds its conditions to the limit', () => {
    const half: SegmentCondition = { any: repeated(PLAN, EXPANDED_LEAVES_MAX / 2) }
    const twice: SegmentCondition = { all: [{ segment: 'half' }, { segment: 'half' }] }
    expect(expand(twice, { half }).faults).toEqual([])
    expect(expand({ all: [twice, PLAN] }, { half }).faults.map(({ field }) => field)).toEqual(['where'])
  })

  it('that doubles with each level does not grow without limit', () => {
    const names = Array.from({ length: 40 }, (_, index) => `s${index}`)
    const doubling = names.map((name, index) => [
      name,
      { all: [{ segment: `s${index + 1}` }, { segment: `s${index + 1}` }] },
    ])
    const segments = { ...(Object.fromEntries(doubling) as Record<string, SegmentCondition>), s40: PLAN }
    expect(expand({ segment: 's0' }, segments).faults.map(({ field }) => field)).toEqual(['where'])
  })
})
