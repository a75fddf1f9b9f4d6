// A condition on users: a tree that says who is in a segment ("Segments").
import { OPERATORS, type Condition, type Operator } from '../campaigns/goal.ts'
import type { OptInStatus } from '../users/preference.ts'

export const SEGMENT_OPERATORS = [...OPERATORS, 'is_one_of', 'starts_with', 'before', 'after'] as const
export type SegmentOperator = Operator | 'is_one_of' | 'starts_with' | 'before' | 'after'

/** An instant: as sent (ISO 8601), or so many times 24 hours before now. */
export type ConditionTime = string | { readonly days_ago: number }

export interface EventCount {
  readonly at_least?: number
  readonly at_most?: number
  readonly exactly?: number
}

export interface AttributeLeaf {
  readonly attribute: string
  readonly operator: SegmentOperator
  readonly value?: unknown
}

export interface EventLeaf {
  readonly event: string
  readonly did: boolean
  readonly times?: EventCount
  readonly within_days?: number
  readonly between?: { readonly from: string; readonly to: string }
  readonly where?: readonly Condition[]
}

export interface CampaignLeaf {
  readonly campaign: string
  readonly did: 'sent' | 'impression' | 'click'
  readonly within_days?: number
}

export interface CreatedLeaf {
  readonly created: { readonly before?: ConditionTime; readonly after?: ConditionTime }
}

export type PreferenceLeaf =
  | { readonly preference: { readonly opt_in_status: readonly OptInStatus[] } }
  | { readonly preference: { readonly category: string; readonly is: boolean | 'never_asked' } }

/** Stands for the condition of the segment with this id. */
export interface ReferenceLeaf {
  readonly segment: string
}

export type SegmentLeaf = AttributeLeaf | EventLeaf | CampaignLeaf | PreferenceLeaf | CreatedLeaf | ReferenceLeaf

/** As it is sent, stored and answered. */
export type SegmentCondition =
  | { readonly all: readonly SegmentCondition[] }
  | { readonly any: readonly SegmentCondition[] }
  | { readonly not: SegmentCondition }
  | SegmentLeaf

/** A leaf of a tree, and where it stands, such as `where.all[1]`. */
export interface PlacedLeaf {
  readonly path: string
  readonly leaf: SegmentLeaf
}

/** The leaves of a tree in their order; `path` is that of the tree. */
export function listLeaves(condition: SegmentCondition, path: string): PlacedLeaf[] {
  if ('all' in condition) return condition.all.flatMap((part, index) => listLeaves(part, `${path}.all[${index}]`))
  if ('any' in condition) return condition.any.flatMap((part, index) => listLeaves(part, `${path}.any[${index}]`))
  if ('not' in condition) return listLeaves(condition.not, `${path}.not`)
  return [{ path, leaf: condition }]
}
