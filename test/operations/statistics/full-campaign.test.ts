// The largest campaign that the limits of names allow fits into one response: with the most dimensions and reasons, five goals, and
// the longest names.
import { expect, it } from 'vitest'
import { ANYTHING } from '../../../src/core/statistics/anything.ts'
import { CampaignSeries, type SeriesCount } from '../../../src/core/statistics/campaign-counts.ts'
import { DIMENSION_REASONS_MAX, DIMENSIONS_MAX, REASONS_MAX } from '../../../src/core/campaigns/campaign-names.ts'
import {
  ANY_GROUP,
  AUDIENCE,
  controlConvertedMetric,
  convertedMetric,
  metMetric,
  NO_GENERATION,
  UNIT_ACTIVE_DEVICES,
  UNIT_DEVICES,
  UNIT_FAILED_PREFIX,
  UNIT_IMPRESSION,
  UNIT_PENDING,
  UNIT_REMOVED_PREFIX,
  UNIT_SENT,
  type Series,
} from '../../../src/core/statistics/cells.ts'
import { ALL, aggregatesOf, type KeyedDimensions } from '../../../src/core/statistics/grouping-sets.ts'
import { GROUPS, MESSAGE_KINDS, UNKNOWN_REASON } from '../../../src/core/campaigns/facts.ts'
import { GOALS_MAX } from '../../../src/core/campaigns/goal.ts'
import { GOAL_NAMES_BYTES_MAX, goalFaults } from '../../../src/core/campaigns/goal-faults.ts'
import { DIMENSION_NAME_LENGTH_MAX, REASON_LENGTH_MAX } from '../../../src/core/campaigns/report.ts'
import { ResponseMemory } from '../../../src/operations/response-memory.ts'
import { writeCampaignStats } from '../../../src/operations/statistics/campaign-stats-body.ts'
import { SERIES_PER_CAMPAIGN_MAX } from '../../../src/operations/statistics/stats-reader.ts'
import { writePieces } from '../../../src/operations/write-pieces.ts'

const PLATFORMS = ['EMAIL', 'ANDROID', 'IOS', 'WEB', 'TV', 'UNKNOWN']
/** A letter of four bytes in UTF-8. */
const LONG_LETTER = '\u{1d49c}'
/** Every count has this value. */
const OCCURRENCES = 987_654_321_098
const GENERATION = 1

type Counted = Pick<Series, 'group' | 'metric'> & { readonly generation?: number }

const MOST: [dimensions: number, reasons: number][] = [
  [DIMENSIONS_MAX, DIMENSION_REASONS_MAX / DIMENSIONS_MAX],
  [DIMENSION_REASONS_MAX / REASONS_MAX, REASONS_MAX],
  [500, 50],
]

it.each(MOST)('a campaign of %i dimensions and %i reasons fits into one response', async (dimensions, reasons) => {
  const goals = longestGoals()
  const counts = seriesOfAll({ dimensions, reasons, goals })
  expect(counts.length).toBe(236 * dimensions + 12 * dimensions * reasons + 14 * reasons + 378)
  expect(counts.length).toBeLessThanOrEqual(SERIES_PER_CAMPAIGN_MAX)
  const numbers = new CampaignSeries()
    .add(counts)
    .count(goals, { attributionType: 'CLICK_THROUGH', metricType: 'TOTAL' })
  const held = new ResponseMemory().open()
  expect((await writePieces(writeCampaignStats(numbers), held)).length).toBeGreaterThan(1)
})

it('the longest names of goals are within the limit', () => {
  const goals = longestGoals().map((name) => ({ name, event: 'Bought' }))
  expect(goalFaults(goals, 'conversion_goals')).toEqual([])
  const [first, ...others] = goals
  const more = [{ ...first, name: `${first?.name}xxxxxx` }, ...others]
  const problem = 'must have names that total at most 1,536 bytes as JSON'
  expect(goalFaults(more, 'conversion_goals')).toEqual([{ field: 'conversion_goals', problem }])
})

function longestGoals(): string[] {
  const bytes = Math.floor((GOAL_NAMES_BYTES_MAX - '[]'.length) / GOALS_MAX) - '"",'.length
  return Array.from({ length: GOALS_MAX }, (_, index) => String(index).padEnd(bytes, 'x'))
}

function seriesOfAll(of: { readonly dimensions: number; readonly reasons: number; readonly goals: readonly string[] }) {
  const everywhere = [...countedOfAnybody(of.goals), ...countedOfTarget(of.goals, of.reasons)]
  const ofControls = GROUPS.filter((group) => group !== 'target').flatMap((group) => countedOfControl(group, of.goals))
  return levelsOfAll(of.dimensions).flatMap(({ platform, locale, variation }) => {
    // Control groups ignore variations.
    const counted = variation === ALL ? [...everywhere, ...ofControls] : everywhere
    return counted.map((own): SeriesCount => {
      const numbers = { occurrences: OCCURRENCES, users: OCCURRENCES }
      return { generation: NO_GENERATION, ...own, campaign: 1, platform, locale, variation, ...numbers }
    })
  })
}

/** All dimensions, of which no two share a locale or variation, with their aggregates; and each platform alone. */
function levelsOfAll(dimensions: number): KeyedDimensions[] {
  const levels = new Map<string, KeyedDimensions>()
  const add = (platform: string, name: string) => {
    for (const level of aggregatesOf({ platform, locale: name, variation: name })) levels.set(level.key, level)
  }
  for (let index = 0; index < dimensions; index++) {
    const tail = String(index)
    add(
      PLATFORMS[index % PLATFORMS.length] as string,
      LONG_LETTER.repeat(DIMENSION_NAME_LENGTH_MAX - tail.length) + tail,
    )
  }
  for (const platform of PLATFORMS) add(platform, ALL)
  return [...levels.values()]
}

function countedOfAnybody(goals: readonly string[]): Counted[] {
  const converted = goals.map((goal) => convertedMetric('CLICK_THROUGH', goal))
  const anything = [NO_GENERATION, GENERATION].map((generation) => ({ generation, metric: ANYTHING }))
  const others = [...MESSAGE_KINDS, ...converted].map((metric) => ({ metric }))
  return [...anything, ...others].map((counted) => ({ ...counted, group: ANY_GROUP }))
}

function countedOfTarget(goals: readonly string[], count: number): Counted[] {
  const units = [AUDIENCE, UNIT_SENT, UNIT_PENDING, UNIT_IMPRESSION, UNIT_DEVICES, UNIT_ACTIVE_DEVICES]
  const reasons = Array.from({ length: count }, (_, index) => `r${index}`.padEnd(REASON_LENGTH_MAX, 'x'))
  const ofReasons = [...reasons, UNKNOWN_REASON].flatMap((reason) => {
    return [UNIT_FAILED_PREFIX + reason, UNIT_REMOVED_PREFIX + reason]
  })
  return [...units, ...goals.map(metMetric), ...ofReasons].map((metric) => ({ group: 'target', metric }))
}

function countedOfControl(group: Counted['group'], goals: readonly string[]): Counted[] {
  const ofGoals = goals.flatMap((goal) => [controlConvertedMetric(goal), metMetric(goal)])
  return [AUDIENCE, ...ofGoals].map((metric) => ({ group, metric }))
}
