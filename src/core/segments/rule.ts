// A condition made ready to be evaluated at one instant. The predicate (`holds-for.ts`) and the statements of the store
// (`store/segments/`) read the same rules, so they differ in nothing but the evaluation.
import type { Condition } from '../campaigns/goal.ts'
import type {
  AttributeLeaf,
  CampaignLeaf,
  ConditionTime,
  CreatedLeaf,
  EventCount,
  EventLeaf,
  PreferenceLeaf,
  SegmentCondition,
} from './condition.ts'
import { instantOfCondition, type ConditionContext } from './condition-instant.ts'
import { DAY_MS } from '../time-zone.ts'
import type { OptInStatus } from '../users/preference.ts'
import type { ValueTest } from './value-test.ts'

export interface AttributeRule {
  readonly kind: 'attribute'
  /** As in `findAttribute`. */
  readonly path: string
  readonly test: ValueTest
}

/** Counts events from `from` to before `until`, in milliseconds since the epoch. */
export interface EventRule {
  readonly kind: 'event'
  readonly action: string
  readonly from: number | undefined
  readonly until: number | undefined
  readonly where: readonly Condition[]
  readonly min: number
  readonly max: number
}

export interface CampaignRule {
  readonly kind: 'campaign'
  /** `campaigns.number`; undefined if the workspace has no such campaign any more, so nobody was sent it. */
  readonly campaign: number | undefined
  readonly did: CampaignLeaf['did']
  readonly from: number | undefined
}

export interface CreatedRule {
  readonly kind: 'created'
  readonly before: number | undefined
  readonly after: number | undefined
}

export type LeafRule =
  | AttributeRule
  | EventRule
  | CampaignRule
  | CreatedRule
  | { readonly kind: 'status'; readonly statuses: readonly OptInStatus[] }
  | { readonly kind: 'category'; readonly name: string; readonly is: boolean | 'never_asked' }

export type Rule =
  | { readonly kind: 'all' | 'any'; readonly rules: readonly Rule[] }
  | { readonly kind: 'not'; readonly rule: Rule }
  | LeafRule

export interface RuleContext extends ConditionContext {
  /** Campaign id → `campaigns.number`. */
  readonly campaigns: ReadonlyMap<string, number>
}

/** Throws if the condition still names a segment (`expandSegments`). */
export function toRule(condition: SegmentCondition, context: RuleContext): Rule {
  if ('all' in condition) return { kind: 'all', rules: condition.all.map((part) => toRule(part, context)) }
  if ('any' in condition) return { kind: 'any', rules: condition.any.map((part) => toRule(part, context)) }
  if ('not' in condition) return { kind: 'not', rule: toRule(condition.not, context) }
  if ('attribute' in condition)
    return { kind: 'attribute', path: condition.attribute, test: toTest(condition, context) }
  if ('event' in condition) return toEventRule(condition, context)
  if ('campaign' in condition) return toCampaignRule(condition, context)
  if ('preference' in condition) return toPreferenceRule(condition)
  if ('created' in condition) return toCreatedRule(condition, context)
  throw new Error('the condition names a segment that was not replaced by its condition')
}

/** The leaves of a rule. */
export function listLeafRules(rule: Rule): LeafRule[] {
  if ('rules' in rule) return rule.rules.flatMap(listLeafRules)
  return 'rule' in rule ? listLeafRules(rule.rule) : [rule]
}

function toTest({ operator, value }: AttributeLeaf, context: ConditionContext): ValueTest {
  switch (operator) {
    case 'exists':
      return { operator: 'has_value' }
    case 'is_one_of':
      return { operator, values: value as readonly unknown[] }
    case 'starts_with':
      return { operator, prefix: value as string }
    case 'before':
    case 'after': {
      const instant = instantOfCondition(value as ConditionTime, context)
      return { operator, instant, timezone: context.timezone }
    }
    case 'is':
    case 'is_not':
    case 'greater_than':
    case 'less_than':
    case 'contains':
      return { operator, value }
  }
}

function toEventRule(leaf: EventLeaf, context: ConditionContext): EventRule {
  const { event: action, within_days: days, between, where = [] } = leaf
  const from = between ? instantOfCondition(between.from, context) : daysBefore(days, context)
  const until = between && instantOfCondition(between.to, context)
  return { kind: 'event', action, from, until, where, ...toBounds(leaf) }
}

function toBounds({ did, times = { at_least: 1 } }: EventLeaf): { readonly min: number; readonly max: number } {
  if (!did) return { min: 0, max: 0 }
  const { at_least, at_most, exactly }: EventCount = times
  return { min: exactly ?? at_least ?? 0, max: exactly ?? at_most ?? Infinity }
}

function toCampaignRule(leaf: CampaignLeaf, context: RuleContext): CampaignRule {
  const campaign = context.campaigns.get(leaf.campaign)
  return { kind: 'campaign', campaign, did: leaf.did, from: daysBefore(leaf.within_days, context) }
}

function toPreferenceRule({ preference }: PreferenceLeaf): LeafRule {
  if ('opt_in_status' in preference) return { kind: 'status', statuses: preference.opt_in_status }
  return { kind: 'category', name: preference.category, is: preference.is }
}

function toCreatedRule({ created: { before, after } }: CreatedLeaf, context: ConditionContext): CreatedRule {
  const toInstant = (time: ConditionTime | undefined) =>
    time === undefined ? undefined : instantOfCondition(time, context)
  return { kind: 'created', before: toInstant(before), after: toInstant(after) }
}

function daysBefore(days: number | undefined, { now }: ConditionContext): number | undefined {
  return days === undefined ? undefined : now - days * DAY_MS
}
