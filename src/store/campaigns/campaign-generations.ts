// Generations of goals in the tables of statistics: the current ones of each campaign, and the gaps between them.
import { NO_GENERATION } from '../../core/statistics/cells.ts'

/** A campaign with a generation of its goals. */
export interface CampaignGeneration {
  /** The number of the campaign. */
  readonly number: number
  readonly generation: number
}

/** Generations of one campaign, both ends excluded. */
export interface GenerationGap {
  readonly campaign: number
  readonly after: number
  readonly before: number
}

export const GAP_COLUMNS = { campaign: 'integer', after: 'integer', before: 'integer' } as const

/** All generations of these campaigns, except `NO_GENERATION` and the current ones. */
export function gapsBetween(current: readonly CampaignGeneration[]): GenerationGap[] {
  const generations = new Map<number, number[]>()
  for (const { number, generation } of current) {
    const existing = generations.get(number)
    if (existing) existing.push(generation)
    else generations.set(number, [NO_GENERATION, generation])
  }
  return [...generations].flatMap(([campaign, named]) => {
    const sorted = named.toSorted((left, right) => left - right)
    return sorted.map((after, index) => ({ campaign, after, before: sorted[index + 1] ?? Number.MAX_SAFE_INTEGER }))
  })
}
