// What the report counts, as the address says: days, attribution, total or people, and which platform, locale and variation.
import { ATTRIBUTION_TYPES, type AttributionType } from '../../../../src/core/statistics/cells.ts'
import { METRIC_TYPES, type MetricType } from '../../../../src/core/statistics/series/series-tree.ts'
import { fromCalendarDate, localDay, toCalendarDate } from '../../../../src/core/time-zone.ts'
import { useAddress, type AddressState } from '../../../data/address.ts'
import type { AnswerOf } from '../../../data/contracts.ts'
import { useToday } from '../../../data/today.ts'
import { useWorkspace } from '../../../data/session.ts'

export type Campaign = AnswerOf<'GET', '/core-services/v1/campaigns/:campaign_id'>

/** The most days between the first and the last, as the API allows. */
const APART_MAX = 30

const PRESETS = ['start', '7', '14', '31', 'dates'] as const
export type Preset = (typeof PRESETS)[number]

/** The names of the aggregates. */
export const EVERYTHING = { platform: 'all_platforms', locale: 'all_locales', variation: 'all_variations' } as const

export type Level = { readonly [name in keyof typeof EVERYTHING]: string }

export interface ReportQuestion {
  readonly preset: Preset
  /** What can be chosen: the first days only of a campaign whose first day is known. */
  readonly presets: readonly Preset[]
  /** Calendar dates, both included. */
  readonly from: string
  readonly to: string
  readonly attribution: AttributionType
  readonly metric: MetricType
  readonly level: Level
}

/** The first day of a campaign with a start time; undefined for all others. */
function firstDay({ starts_at: startsAt }: Campaign, zone: string): number | undefined {
  return typeof startsAt === 'string' ? localDay(zone, Date.parse(startsAt)) : undefined
}

export function useReportQuestion(campaign: Campaign): ReportQuestion {
  const { zone } = useWorkspace()
  const { get } = useAddress()
  const today = useToday()
  const start = firstDay(campaign, zone)
  const begun = start !== undefined && start <= today ? start : undefined
  const presets = PRESETS.filter((preset) => preset !== 'start' || begun !== undefined)
  const preset = presets.find((preset) => preset === get('days')) ?? (begun === undefined ? '31' : 'start')
  return {
    preset,
    presets,
    ...daysOf(preset, { today, begun, get }),
    attribution: ATTRIBUTION_TYPES.find((type) => type === get('attribution')) ?? 'CLICK_THROUGH',
    metric: METRIC_TYPES.find((type) => type === get('count')) ?? 'UNIQUE',
    level: {
      platform: get('platform') ?? EVERYTHING.platform,
      locale: get('locale') ?? EVERYTHING.locale,
      variation: get('variation') ?? EVERYTHING.variation,
    },
  }
}

interface Known {
  readonly today: number
  readonly begun: number | undefined
  readonly get: AddressState['get']
}

function daysOf(preset: Preset, { today, begun, get }: Known): { readonly from: string; readonly to: string } {
  switch (preset) {
    case 'start': {
      const first = begun ?? today - APART_MAX
      return dates(first, Math.min(first + APART_MAX, today))
    }
    case 'dates': {
      const last = fromCalendarDate(get('to') ?? '') ?? today
      const first = fromCalendarDate(get('from') ?? '') ?? last - APART_MAX
      return dates(first, Math.min(Math.max(last, first), first + APART_MAX))
    }
    case '7':
    case '14':
    case '31':
      return dates(today - Number(preset) + 1, today)
  }
}

function dates(first: number, last: number) {
  return { from: toCalendarDate(first), to: toCalendarDate(last) }
}

/**
 * The days after the person chose one end, as values of the address. If it is behind the other end, or too far from it, that one moves
 * along.
 */
export function chosenDays({ from, to }: ReportQuestion, end: 'from' | 'to', date: string) {
  const chosen = fromCalendarDate(date)
  if (chosen === undefined) return { days: 'dates', from, to }
  const [first, last] = [fromCalendarDate(from) ?? chosen, fromCalendarDate(to) ?? chosen]
  const apart = last - first
  if (end === 'from') {
    const latest = chosen + APART_MAX
    return { days: 'dates', ...dates(chosen, chosen > last ? chosen + apart : Math.min(last, latest)) }
  }
  const earliest = chosen - APART_MAX
  return { days: 'dates', ...dates(chosen < first ? chosen - apart : Math.max(first, earliest), chosen) }
}
