// A condition on users: a tree that says who is in a segment ("Segments").
import type { Condition, Operator } from '../campaigns/goal.ts'
import type { OptInStatus } from '../users/preference.ts'

export type SegmentOperator = Operator | 'is_one_of' | 'starts_with' | 'before' | 'after'

/** An instant: as sent (ISO 8601), or so many times 24 hours before now. */
export type ConditionTime = string | { readonly days_ago: number }

export interface EventCount {
  readonly at_least?: number
  readonly at_most?: number
  readonly exactly?: number
}

export type SegmentLeaf =
  | { readonly attribute: string; readonly operator: SegmentOperator; readonly value?: unknown }
  | {
      readonly event: string
      readonly did: boolean
      readonly times?: EventCount
      readonly within_days?: number
      readonly between?: { readonly from: string; readonly to: string }
      readonly where?: readonly Condition[]
    }
  | { readonly campaign: string; readonly did: 'sent' | 'impression' | 'click'; readonly within_days?: number }
  | { readonly preference: { readonly opt_in_status: readonly OptInStatus[] } }
  | { readonly preference: { readonly category: string; readonly is: boolean | 'never_asked' } }
  | { readonly created: { readonly before?: ConditionTime; readonly after?: ConditionTime } }
  | { readonly segment: string }

/** As it is sent, stored and answered. */
export type SegmentCondition =
  | { readonly all: readonly SegmentCondition[] }
  | { readonly any: readonly SegmentCondition[] }
  | { readonly not: SegmentCondition }
  | SegmentLeaf
