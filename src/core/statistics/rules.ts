// The rules for counting a workspace: its time zone, and the goals of all its campaigns.
import type { Goal } from '../campaigns/goal.ts'

/** A campaign with the goals by which it is counted. */
export interface CampaignGoals {
  readonly id: string
  readonly number: number
  readonly generation: number
  readonly goals: readonly Goal[]
}

/** The rules of one workspace. */
export interface Rules {
  readonly timezone: string
  /** How many goal events of one person a campaign counts. */
  readonly goalEventsMax: number
  /** All campaigns of the workspace, by number. */
  readonly campaigns: ReadonlyMap<number, CampaignGoals>
}
