// The numbers of one campaign on each day of a range, at one combination of platform, locale and variation. Each day has the numbers
// that Fetch Campaign Stats has for a range of this one day.
import { COUNTED_BOUNCES, MESSAGE_KINDS, type Group, type MessageKind } from '../../campaigns/facts.ts'
import type { Platform } from '../../platform.ts'
import {
  CampaignSeries,
  type DayRange,
  type SeriesCount,
  type StatsQuestion,
  type VariationCounts,
} from '../campaign-counts.ts'
import { ANY_GROUP, AUDIENCE, convertedMetric, metMetric, type Series } from '../cells.ts'
import { ALL, type Dimensions } from '../grouping-sets.ts'

/** A series of any generation of any campaign. */
export type SeriesOfCampaign = Omit<Series, 'campaign' | 'generation'>

/** The numbers of a series on one day. */
export interface DayCount extends SeriesCount {
  /** A calendar day of the workspace's time zone, since 1970-01-01. */
  readonly day: number
}

export interface ShownDay extends Pick<VariationCounts, 'performance' | 'goals'> {
  readonly day: number
}

/** Which numbers to count, where. */
export interface DaysQuestion extends StatsQuestion {
  readonly range: DayRange
  readonly level: Dimensions
  readonly goalNames: readonly string[]
}

const CONTROL_GROUPS = ['campaign_control', 'global_control'] as const satisfies readonly Group[]
const EMAIL: Platform = 'EMAIL'
/** Decide the deliveries with which the rates of all platforms are computed. */
const EMAILED = ['sent', 'delivered', 'bounce'] as const satisfies readonly MessageKind[]

/** The series from which `countDays` counts. */
export function seriesOfDays({ level, goalNames, attributionType }: Omit<DaysQuestion, 'range'>): SeriesOfCampaign[] {
  const counted = (metric: string, at = level) => ({ ...at, group: ANY_GROUP, metric }) as const
  const emailed = level.platform === ALL ? EMAILED.map((kind) => counted(kind, { ...level, platform: EMAIL })) : []
  // Control groups ignore variations.
  const groups = [
    { ...level, group: 'target' as const },
    ...CONTROL_GROUPS.map((group) => ({ ...level, variation: ALL, group })),
  ]
  return [
    ...[...MESSAGE_KINDS, ...COUNTED_BOUNCES].map((metric) => counted(metric)),
    ...emailed,
    ...goalNames.map((goal) => counted(convertedMetric(attributionType, goal))),
    ...groups.flatMap((group) => [AUDIENCE, ...goalNames.map(metMetric)].map((metric) => ({ ...group, metric }))),
  ]
}

/** Every day of the range in order, also those on which nothing happened. */
export function countDays(
  counts: readonly DayCount[],
  { range, level, goalNames, ...asked }: DaysQuestion,
): ShownDay[] {
  const byDay = Map.groupBy(counts, ({ day }) => day)
  const days: ShownDay[] = []
  for (let day = range.firstDay; day <= range.lastDay; day++) {
    const series = new CampaignSeries().add(byDay.get(day) ?? [])
    days.push({ day, ...series.countAt(level, goalNames, asked) })
  }
  return days
}
