// What a batch brings for a user, and what the tables hold of that user: the types that reading, capping and counting share.
import type { Membership, MessageEvent } from '../core/campaigns/facts.ts'
import type { History } from '../core/statistics/contributions.ts'
import type { NamedEvent } from '../store/users/events.ts'
import type { UserWithAliases } from '../store/users/users.ts'
import type { UserGoalEvent } from './goal-events.ts'

/** Facts of one user that a batch brings. */
export interface NewFacts {
  readonly memberships: readonly Membership[]
  readonly messages: readonly MessageEvent[]
  /** Stored already, but not yet counted. */
  readonly goalEvents: readonly NamedEvent[]
}

/** What a batch brings for one user. */
export interface Change {
  readonly user: UserWithAliases
  /** The users that this one was before the batch. */
  readonly before: readonly UserWithAliases[]
  readonly facts: NewFacts
}

/** A user to be read, perhaps with what a batch brings. */
export type WantedUser = Pick<Change, 'user'> & Partial<Change>

/** What the tables hold of one user. */
export interface StoredHistory extends History {
  readonly user: UserWithAliases
  readonly goalEvents: readonly UserGoalEvent[]
  /** The campaigns of which everything is here; of others only the touches that compete with them. */
  readonly campaigns: ReadonlySet<number> | 'all'
}

/** What the tables hold of one user, held against the caps. */
export interface CappedHistory extends StoredHistory {
  /** What a batch brings, without what is beyond a cap … */
  readonly accepted: NewFacts
  /** … and that. */
  readonly refused: readonly (Membership | MessageEvent)[]
}

/** What a batch brings for one user, and what the tables hold of that user. */
export interface StoredChange extends Change {
  readonly stored: StoredHistory
}
