// How much of a limit is used in the window under way.
import type { LimitName } from '../workspace.ts'

export interface UsedLimit {
  readonly limit: LimitName
  /** What a whole window holds. */
  readonly units: number
  readonly window: 'minute' | 'day'
  /** The operation that used most; null if none used any. Each operation has windows of its own. */
  readonly operation: string | null
  /** The units that it used. */
  readonly used: number
  /** When the window ends: milliseconds since the epoch. */
  readonly resetsAt: number
}
