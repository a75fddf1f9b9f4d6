// Computes the numbers of one campaign over a range of days, for every platform, locale and variation, from the sums of its series
// ("Performance", "Delivery funnel and failure breakdown", "Conversions", "Presence and freshness").
import {
  ANY_GROUP,
  AUDIENCE,
  controlConvertedMetric,
  convertedMetric,
  metMetric,
  UNIT_ACTIVE_DEVICES,
  UNIT_DEVICES,
  UNIT_FAILED_PREFIX,
  UNIT_IMPRESSION,
  UNIT_PENDING,
  UNIT_REMOVED_PREFIX,
  UNIT_SENT,
  type AttributionType,
  type Series,
} from './cells.ts'
import { ALL, type Dimensions } from './grouping-sets.ts'
import { FUNNEL_REMOVALS } from '../campaigns/funnel-removals.ts'
import {
  compareTexts,
  COUNTED_BOUNCES,
  MESSAGE_KINDS,
  type CountedBounce,
  type MessageKind,
} from '../campaigns/facts.ts'
import { percentage } from './percentage.ts'
import type { Platform } from '../platform.ts'
import {
  childOf,
  countsAt,
  DimensionsCounts,
  type MetricType,
  type SeriesNumbers,
  type SeriesTree,
  type Variations,
} from './series/series-tree.ts'
import { computeUplift, NO_UPLIFT, type Share, type Uplift } from './uplift.ts'

/** Calendar days of the workspace's time zone since 1970-01-01, both inclusive. */
export interface DayRange {
  readonly firstDay: number
  readonly lastDay: number
}

/** The numbers of a series over a range of days. */
export interface SeriesCount extends Series, SeriesNumbers {}

/** Which numbers the caller wants. */
export interface StatsQuestion {
  readonly attributionType: AttributionType
  readonly metricType: MetricType
}

/**
 * Platform → its locales, each with its numbers. The aggregates have the keys `all_platforms` and `all_locales`. Computed while
 * it is iterated: all of it at once may be more than memory should hold.
 */
export type CampaignCounts = Iterable<readonly [platform: string, locales: LocalesCounts]>
export type LocalesCounts = Iterable<readonly [locale: string, counts: LocaleCounts]>

export interface LocaleCounts {
  /** The aggregate has the key `all_variations`. Computed while it is iterated. */
  readonly variations: Iterable<readonly [variation: string, counts: VariationCounts]>
  readonly campaignControl: ControlCounts
  readonly globalControl: ControlCounts
}

export interface VariationCounts {
  readonly performance: PerformanceCounts
  readonly goals: ReadonlyMap<string, GoalCounts>
  readonly funnel: FunnelCounts
  /** Reason → units. */
  readonly failures: ReadonlyMap<string, number>
}

type CountsShown = Pick<VariationCounts, 'performance' | 'goals'>

export interface ControlCounts {
  readonly goals: ReadonlyMap<string, GoalCounts>
  /** Units of the group. */
  readonly reachable: number
}

/** By kind of message event, and the rates. */
export interface PerformanceCounts extends Readonly<Record<MessageKind | CountedBounce, number>> {
  readonly ctr: number
  readonly deliveryRate: number
  readonly sentRate: number
  readonly failureRate: number
  readonly openRate: number
  readonly unsubscribeRate: number
  readonly complaintRate: number
  readonly bounceRate: number
}

export interface GoalCounts extends Uplift {
  readonly conversions: number
  readonly cvr: number
}

export interface FunnelCounts {
  readonly reachable: number
  readonly afterUninstall: number
  readonly afterFrequencyCapping: number
  readonly afterDuplicates: number
  readonly sent: number
  readonly pending: number
  readonly impressions: number
  readonly devices: number
  readonly activeDevices: number
}

const EMAIL: Platform = 'EMAIL'

/** The series of a campaign that have a count, by their dimensions. */
export class CampaignSeries {
  readonly #tree: SeriesTree = new Map()
  /** The text of each metric, once: series that were read one by one each bring a copy of it. */
  readonly #metrics = new Map<string, string>()

  add(counts: Iterable<SeriesCount>): this {
    for (const { group, metric, platform, locale, variation, occurrences, users } of counts) {
      if (occurrences <= 0) continue
      const shared = childOf(this.#metrics, metric, () => metric)
      countsAt(this.#tree, platform, locale, variation).add(group, shared, { occurrences, users })
    }
    return this
  }

  /** Whether none of the series has a count. */
  get isEmpty(): boolean {
    return this.#tree.size === 0
  }

  /**
   * Everything that is shown of the campaign. Includes a platform, locale or variation if anything is counted for it, even if the
   * caller did not ask for that; always includes goals.
   */
  *count(goalNames: readonly string[], question: StatsQuestion): Generator<readonly [string, LocalesCounts]> {
    const goals = goalNames.map((name) => toGoalMetrics(name, question.attributionType))
    const countLocales = (locales: ReadonlyMap<string, Variations>, platform: string) =>
      mapLevel(locales, 'all_locales', (variations, locale) => {
        return countLocale({ variations, emailed: this.#emailedAt(platform, locale) }, goals, question)
      })
    yield* mapLevel(this.#tree, 'all_platforms', countLocales)
  }

  /** Performance and goals at one combination of dimensions: zeros if nothing is counted there. */
  countAt(
    { platform, locale, variation }: Dimensions,
    goalNames: readonly string[],
    question: StatsQuestion,
  ): CountsShown {
    const variations: Variations = this.#tree.get(platform)?.get(locale) ?? new Map()
    const goals = goalNames.map((name) => toGoalMetrics(name, question.attributionType))
    return countShown({ variations, emailed: this.#emailedAt(platform, locale) }, variation, goals, question)
  }

  /** The variations of EMAIL that are among those of a platform. */
  #emailedAt(platform: string, locale: string): Variations | undefined {
    return platform === ALL || platform === EMAIL ? this.#tree.get(EMAIL)?.get(locale) : undefined
  }
}

/** The metrics of a goal, put together once instead of hundreds of times. */
interface GoalMetrics {
  readonly name: string
  readonly converted: string
  readonly controlConverted: string
  readonly met: string
}

function toGoalMetrics(name: string, attribution: AttributionType): GoalMetrics {
  const [converted, controlConverted] = [convertedMetric(attribution, name), controlConvertedMetric(name)]
  return { name, converted, controlConverted, met: metMetric(name) }
}

/** The members of one level of the tree, by their keys in the answer. */
function* mapLevel<Value, Result>(
  level: ReadonlyMap<string, Value>,
  aggregate: string,
  toResult: (value: Value, key: string) => Result,
): Generator<readonly [key: string, result: Result]> {
  for (const [key, value] of level) yield [key === ALL ? aggregate : key, toResult(value, key)]
}

/** The variations of a locale of one platform or of all, and those that are EMAIL's among them. */
interface LocaleSeries {
  readonly variations: Variations
  readonly emailed: Variations | undefined
}

function countLocale(
  { variations, emailed }: LocaleSeries,
  goals: readonly GoalMetrics[],
  question: StatsQuestion,
): LocaleCounts {
  // Control groups are sent nothing: their numbers are the same for every variation.
  const all = variations.get(ALL) ?? new DimensionsCounts()
  return {
    variations: mapLevel(variations, 'all_variations', (counts, variation) => ({
      ...countShown({ variations, emailed }, variation, goals, question),
      funnel: countFunnel(counts),
      failures: countFailures(counts),
    })),
    campaignControl: countControl(all, 'campaign_control', goals, question.metricType),
    globalControl: countControl(all, 'global_control', goals, question.metricType),
  }
}

function countShown(
  { variations, emailed }: LocaleSeries,
  variation: string,
  goals: readonly GoalMetrics[],
  question: StatsQuestion,
): CountsShown {
  const countsOf = (key: string) => variations.get(key) ?? new DimensionsCounts()
  const [counts, all] = [countsOf(variation), countsOf(ALL)]
  return {
    performance: countPerformance(counts, emailed?.get(variation), question.metricType),
    goals: new Map(goals.map((goal) => [goal.name, countGoal(counts, all, goal, question)])),
  }
}

function countPerformance(
  counts: DimensionsCounts,
  emails: DimensionsCounts | undefined,
  metricType: MetricType,
): PerformanceCounts {
  const numberOf = (metric: MessageKind | CountedBounce) => counts.number(ANY_GROUP, metric, metricType)
  const numbers = Object.fromEntries(PERFORMANCE_METRICS.map((metric) => [metric, numberOf(metric)])) as Record<
    (typeof PERFORMANCE_METRICS)[number],
    number
  >
  const { attempted, sent, failed, impression } = numbers
  const delivered = deliveredBase(numbers.delivered, emails, metricType)
  return {
    ...numbers,
    ctr: percentage(numbers.click, impression),
    deliveryRate: percentage(delivered ?? impression, sent),
    sentRate: percentage(sent, attempted),
    failureRate: percentage(failed, attempted),
    openRate: percentage(impression, delivered ?? 0),
    unsubscribeRate: percentage(numbers.unsubscribe, sent),
    complaintRate: percentage(numbers.complaint, sent),
    bounceRate: percentage(numbers.bounce, sent),
  }
}

const PERFORMANCE_METRICS = [...MESSAGE_KINDS, ...COUNTED_BOUNCES] as const

/**
 * The deliveries that rates are computed with: those reported, and where EMAIL has none, its sent messages that did not bounce;
 * `emails` are the counts of EMAIL among the counted. Undefined if nothing tells of deliveries.
 */
function deliveredBase(
  delivered: number,
  emails: DimensionsCounts | undefined,
  metricType: MetricType,
): number | undefined {
  const emailsOf = (kind: MessageKind) => emails?.number(ANY_GROUP, kind, metricType) ?? 0
  const sent = emailsOf('sent')
  if (sent === 0 || emailsOf('delivered') > 0) return delivered > 0 ? delivered : undefined
  return delivered + Math.max(0, sent - emailsOf('bounce'))
}

/** The kind of message event whose count `cvr` divides by. */
const CONVERSION_BASES: Readonly<Record<AttributionType, MessageKind>> = {
  VIEW_THROUGH: 'impression',
  CLICK_THROUGH: 'click',
  IN_SESSION: 'click',
  TOTAL_CONVERSIONS: 'sent',
  CLICK_CONVERSIONS: 'click',
}

function countGoal(
  counts: DimensionsCounts,
  control: DimensionsCounts,
  goal: GoalMetrics,
  { attributionType, metricType }: StatsQuestion,
): GoalCounts {
  const conversions = counts.number(ANY_GROUP, goal.converted, metricType)
  const base = counts.number(ANY_GROUP, CONVERSION_BASES[attributionType], metricType)
  const uplift = computeUplift(shareOf(counts, 'target', goal), controlShareOf(control, goal))
  return { conversions, cvr: percentage(conversions, base), ...uplift }
}

/** The share of the campaign's own control group; that of the global one where the campaign has none of its own. */
function controlShareOf(counts: DimensionsCounts, goal: GoalMetrics): Share {
  const own = shareOf(counts, 'campaign_control', goal)
  return own.users > 0 ? own : shareOf(counts, 'global_control', goal)
}

function shareOf(counts: DimensionsCounts, group: Series['group'], goal: GoalMetrics): Share {
  return { met: counts.users(group, goal.met), users: counts.users(group, AUDIENCE) }
}

/** The metrics of the removals before each step of the funnel. */
const REMOVED = {
  segment_after_uninstall: FUNNEL_REMOVALS.segment_after_uninstall.map(removedMetric),
  after_fc: FUNNEL_REMOVALS.after_fc.map(removedMetric),
  users_after_dup: FUNNEL_REMOVALS.users_after_dup.map(removedMetric),
}

function removedMetric(reason: string): string {
  return UNIT_REMOVED_PREFIX + reason
}

function countFunnel(counts: DimensionsCounts): FunnelCounts {
  const unitsOf = (metric: string) => counts.occurrences('target', metric)
  const removedFor = (metrics: readonly string[]) => metrics.reduce((units, metric) => units + unitsOf(metric), 0)
  const reachable = unitsOf(AUDIENCE)
  const afterUninstall = reachable - removedFor(REMOVED.segment_after_uninstall)
  const afterFrequencyCapping = afterUninstall - removedFor(REMOVED.after_fc)
  return {
    reachable,
    afterUninstall,
    afterFrequencyCapping,
    afterDuplicates: afterFrequencyCapping - removedFor(REMOVED.users_after_dup),
    sent: unitsOf(UNIT_SENT),
    pending: unitsOf(UNIT_PENDING),
    impressions: unitsOf(UNIT_IMPRESSION),
    devices: unitsOf(UNIT_DEVICES),
    activeDevices: unitsOf(UNIT_ACTIVE_DEVICES),
  }
}

/** Units that were removed or failed, by reason; the same reason can occur as both. */
function countFailures(counts: DimensionsCounts): Map<string, number> {
  const failures = new Map<string, number>()
  for (const [metric, { occurrences }] of counts.metricsOf('target')) {
    const reason = reasonOf(metric)
    if (reason === undefined) continue
    failures.set(reason, (failures.get(reason) ?? 0) + occurrences)
  }
  return new Map([...failures].toSorted(([left], [right]) => compareTexts(left, right)))
}

function reasonOf(metric: string): string | undefined {
  if (metric.startsWith(UNIT_FAILED_PREFIX)) return metric.slice(UNIT_FAILED_PREFIX.length)
  return metric.startsWith(UNIT_REMOVED_PREFIX) ? metric.slice(UNIT_REMOVED_PREFIX.length) : undefined
}

function countControl(
  counts: DimensionsCounts,
  group: 'campaign_control' | 'global_control',
  goals: readonly GoalMetrics[],
  metricType: MetricType,
): ControlCounts {
  const users = counts.users(group, AUDIENCE)
  const countGoalOf = ({ controlConverted }: GoalMetrics): GoalCounts => {
    const conversions = counts.number(group, controlConverted, metricType)
    return { conversions, cvr: percentage(conversions, users), ...NO_UPLIFT }
  }
  return {
    goals: new Map(goals.map((goal) => [goal.name, countGoalOf(goal)])),
    reachable: counts.occurrences(group, AUDIENCE),
  }
}
