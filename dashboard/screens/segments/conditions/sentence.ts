// A condition as a sentence: «has done Order Placed at least 3 times in the last 30 days and email exists».
import type { Condition } from '../../../../src/core/campaigns/goal.ts'
import type {
  ConditionTime,
  EventLeaf,
  SegmentCondition,
  SegmentLeaf,
} from '../../../../src/core/segments/condition.ts'
import { formatCount, formatDay } from '../../../texts/format.ts'
import { conditionText } from '../../../texts/segments.ts'

/** The names of segments and campaigns by their ids. */
export type Names = ReadonlyMap<string, string>

const JOINS = { all: ' and ', any: ' or ' } as const

/** Also for a condition that is not complete. */
export function sentenceOf(condition: SegmentCondition, names: Names): string {
  if ('all' in condition) return joined(condition.all, JOINS.all, names)
  if ('any' in condition) return joined(condition.any, JOINS.any, names)
  if ('not' in condition) return `not (${sentenceOf(condition.not, names)})`
  return leafSentence(condition, names)
}

function joined(parts: readonly SegmentCondition[], between: string, names: Names): string {
  if (parts.length === 0) return conditionText.unnamed
  return parts
    .map((part) => {
      const isGroup =
        parts.length > 1 && (('all' in part && part.all.length > 1) || ('any' in part && part.any.length > 1))
      return isGroup ? `(${sentenceOf(part, names)})` : sentenceOf(part, names)
    })
    .join(between)
}

export function leafSentence(leaf: SegmentLeaf, names: Names): string {
  if ('attribute' in leaf) return comparison(leaf)
  if ('event' in leaf) return eventSentence(leaf)
  if ('campaign' in leaf) {
    const { campaign, did, within_days: days } = leaf
    return `${conditionText.campaignDids[did]} ${nameIn(names, campaign)}${inLast(days)}`
  }
  if ('preference' in leaf) {
    const { preference } = leaf
    if ('opt_in_status' in preference) {
      return `${conditionText.status} ${preference.opt_in_status.map((status) => conditionText.statuses[status]).join(` ${conditionText.or} `)}`
    }
    const is = conditionText.categoryIsOptions.find(({ value }) => value === String(preference.is))
    return `${is?.label ?? ''} ${shown(preference.category)}`
  }
  if ('created' in leaf) {
    const { after, before } = leaf.created
    const sides = [
      after !== undefined && `after ${timeText(after)}`,
      before !== undefined && `before ${timeText(before)}`,
    ]
    return `was first seen ${sides.filter(Boolean).join(' and ')}`
  }
  return `${conditionText.segment} ${nameIn(names, leaf.segment)}`
}

function nameIn(names: Names, id: string): string {
  return shown(names.get(id) ?? id)
}

function shown(text: string): string {
  return text === '' ? conditionText.unnamed : text
}

function comparison({
  attribute,
  operator,
  value,
}: Omit<Condition, 'operator'> & { readonly operator: keyof typeof conditionText.operators }) {
  const words = `${shown(attribute)} ${conditionText.operators[operator]}`
  if (operator === 'exists') return words
  if (operator === 'before' || operator === 'after') return `${words} ${timeText(value as ConditionTime)}`
  if (operator === 'is_one_of' && Array.isArray(value)) return `${words} ${value.map(valueText).join(', ')}`
  return `${words} ${valueText(value)}`
}

/** Texts in quotes, so that the text 1 and the number 1 look different. */
function valueText(value: unknown): string {
  if (value === '') return conditionText.unnamed
  return typeof value === 'string' ? `“${value}”` : JSON.stringify(value)
}

function timeText(time: ConditionTime | undefined): string {
  if (typeof time === 'object' && time !== null)
    return `${time.days_ago ?? conditionText.unnamed} ${conditionText.daysAgo}`
  return /^\d{4}-\d\d-\d\d$/.test(time ?? '') ? formatDay(time as string) : shown(time ?? '')
}

function eventSentence({ event, did, times, within_days: days, between, where = [] }: EventLeaf): string {
  const [counted] = Object.entries(times ?? {}) as [keyof typeof conditionText.eventCounts, number | null][]
  const done = did ? conditionText.eventCounts.once : conditionText.eventCounts.never
  const words = [`${done} ${shown(event)}`]
  if (counted) words.push(`${COUNT_WORDS[counted[0]] ?? ''} ${timesText(counted[1])}`)
  if (between) {
    words.push(
      `${conditionText.periods.between} ${timeText(between.from)} ${conditionText.until} ${timeText(between.to)}`,
    )
  }
  const details = where.map(
    (one, index) => `${index === 0 ? conditionText.whose : conditionText.andWhose} ${comparison(one)}`,
  )
  return `${words.join(' ')}${inLast(days)}${details.map((detail) => ` ${detail}`).join('')}`
}

const COUNT_WORDS: Readonly<Record<string, string>> = {
  at_least: 'at least',
  at_most: 'at most',
  exactly: 'exactly',
}

function timesText(times: number | null): string {
  if (times === null) return `${conditionText.unnamed} ${conditionText.times}`
  return times === 1 ? '1 time' : `${formatCount(times)} ${conditionText.times}`
}

function inLast(days: number | null | undefined): string {
  if (days === undefined) return ''
  if (days === 1) return ` ${conditionText.periods.within_days} day`
  return ` ${conditionText.periods.within_days} ${days === null ? conditionText.unnamed : formatCount(days)} ${conditionText.daysWord}`
}
