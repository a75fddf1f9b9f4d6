// The leaves of a condition as the editor holds them: texts of inputs, and conversion from and to leaves of the API.
import type { Condition, Operator } from '../../../../src/core/campaigns/goal.ts'
import type { CampaignLeaf, SegmentLeaf, SegmentOperator } from '../../../../src/core/segments/condition.ts'
import type { OptInStatus } from '../../../../src/core/users/preference.ts'
import { fromTime, toTime, type TimeForm, NO_TIME } from './time-form.ts'
import { fromValue, toValue, NO_VALUE, type ValueForm } from './value-form.ts'

export interface AttributeForm {
  readonly kind: 'attribute'
  readonly attribute: string
  readonly operator: SegmentOperator
  readonly value: ValueForm
  /** Of `before` and `after`. */
  readonly time: TimeForm
}

/** A comparison on an attribute of an event. */
export interface ComparisonForm {
  readonly attribute: string
  readonly operator: Operator
  readonly value: ValueForm
}

export const EVENT_COUNTS = ['once', 'never', 'at_least', 'at_most', 'exactly'] as const
export type EventCountForm = (typeof EVENT_COUNTS)[number]
export type Period = 'ever' | 'within_days' | 'between'

export interface EventForm {
  readonly kind: 'event'
  readonly event: string
  readonly count: EventCountForm
  readonly times: string
  readonly period: Period
  readonly days: string
  readonly from: string
  readonly to: string
  readonly where: readonly ComparisonForm[]
}

export interface CampaignLeafForm {
  readonly kind: 'campaign'
  readonly campaign: string
  readonly did: CampaignLeaf['did']
  readonly period: 'ever' | 'within_days'
  readonly days: string
}

export interface StatusForm {
  readonly kind: 'status'
  readonly statuses: readonly OptInStatus[]
}

export interface CategoryForm {
  readonly kind: 'category'
  readonly category: string
  readonly is: 'true' | 'false' | 'never_asked'
}

export interface CreatedForm {
  readonly kind: 'created'
  readonly side: 'before' | 'after' | 'both'
  readonly before: TimeForm
  readonly after: TimeForm
}

export interface ReferenceForm {
  readonly kind: 'segment'
  readonly segment: string
}

export type LeafForm =
  AttributeForm | EventForm | CampaignLeafForm | StatusForm | CategoryForm | CreatedForm | ReferenceForm
export type LeafFormKind = LeafForm['kind']

const DAYS = '30'

/** A new leaf of each kind, in the order of the menu. */
export const NEW_LEAVES: { readonly [kind in LeafFormKind]: Extract<LeafForm, { readonly kind: kind }> } = {
  attribute: { kind: 'attribute', attribute: '', operator: 'is', value: NO_VALUE, time: NO_TIME },
  event: {
    kind: 'event',
    event: '',
    count: 'once',
    times: '2',
    period: 'ever',
    days: DAYS,
    from: '',
    to: '',
    where: [],
  },
  campaign: { kind: 'campaign', campaign: '', did: 'click', period: 'ever', days: DAYS },
  status: { kind: 'status', statuses: ['OPTED_IN', 'DOUBLE_OPTED_IN'] },
  category: { kind: 'category', category: '', is: 'true' },
  created: { kind: 'created', side: 'after', before: NO_TIME, after: { ...NO_TIME, mode: 'days_ago' } },
  segment: { kind: 'segment', segment: '' },
}

export function fromLeaf(leaf: SegmentLeaf): LeafForm {
  if ('attribute' in leaf) {
    const { attribute, operator, value } = leaf
    const isTime = operator === 'before' || operator === 'after'
    return {
      ...NEW_LEAVES.attribute,
      attribute,
      operator,
      ...(isTime ? { time: fromTime(value) } : { value: fromValue(value) }),
    }
  }
  if ('event' in leaf) return fromEvent(leaf)
  if ('campaign' in leaf) {
    const { campaign, did, within_days: days } = leaf
    return { ...NEW_LEAVES.campaign, campaign, did, ...periodOf(days) }
  }
  if ('preference' in leaf) {
    const { preference } = leaf
    if ('opt_in_status' in preference) return { kind: 'status', statuses: preference.opt_in_status }
    return { kind: 'category', category: preference.category, is: String(preference.is) as CategoryForm['is'] }
  }
  if ('created' in leaf) {
    const { before, after } = leaf.created
    const side = before !== undefined && after !== undefined ? 'both' : before === undefined ? 'after' : 'before'
    return { kind: 'created', side, before: fromTime(before), after: fromTime(after) }
  }
  return { kind: 'segment', segment: leaf.segment }
}

function fromEvent({ event, did, times, within_days: days, between, where }: Extract<SegmentLeaf, { event: string }>) {
  const [counted] = Object.entries(times ?? {}) as [EventCountForm, number][]
  return {
    ...NEW_LEAVES.event,
    event,
    count: counted?.[0] ?? (did ? 'once' : 'never'),
    ...(counted && { times: String(counted[1]) }),
    ...(between ? { period: 'between' as const, from: between.from, to: between.to } : periodOf(days)),
    where: (where ?? []).map(fromComparison),
  }
}

function periodOf(days: number | undefined) {
  return days === undefined ? { period: 'ever' as const } : { period: 'within_days' as const, days: String(days) }
}

export function fromComparison({ attribute, operator, value }: Condition): ComparisonForm {
  return { attribute, operator, value: fromValue(value) }
}

/** As far as it has been typed: an empty number is sent as none, so that the server names it. */
export function toLeaf(form: LeafForm): object {
  switch (form.kind) {
    case 'attribute': {
      const { attribute, operator, value, time } = form
      if (operator === 'exists') return { attribute, operator }
      const isTime = operator === 'before' || operator === 'after'
      return { attribute, operator, value: isTime ? toTime(time) : toValue(value, operator) }
    }
    case 'event':
      return toEvent(form)
    case 'campaign':
      return { campaign: form.campaign, did: form.did, ...toPeriod(form) }
    case 'status':
      return { preference: { opt_in_status: form.statuses } }
    case 'category':
      return {
        preference: { category: form.category, is: form.is === 'never_asked' ? form.is : form.is === 'true' },
      }
    case 'created': {
      const { side, before, after } = form
      return {
        created: {
          ...(side !== 'before' && { after: toTime(after) }),
          ...(side !== 'after' && { before: toTime(before) }),
        },
      }
    }
    case 'segment':
      return { segment: form.segment }
  }
}

function toEvent(form: EventForm): object {
  const { event, count, times, from, to, period, where } = form
  const isCounted = count !== 'once' && count !== 'never'
  return {
    event,
    did: count !== 'never',
    ...(isCounted && { times: { [count]: toWhole(times) } }),
    ...(period === 'between' ? { between: { from, to } } : toPeriod({ period, days: form.days })),
    ...(where.length > 0 && { where: where.map(toComparison) }),
  }
}

function toPeriod({ period, days }: { readonly period: string; readonly days: string }): object {
  return period === 'within_days' ? { within_days: toWhole(days) } : {}
}

export function toComparison({ attribute, operator, value }: ComparisonForm): Condition {
  return operator === 'exists' ? { attribute, operator } : { attribute, operator, value: toValue(value, operator) }
}

/** Null if it is no number. */
export function toWhole(text: string): number | null {
  const number = text.trim() === '' ? Number.NaN : Number(text)
  return Number.isFinite(number) ? number : null
}
