// The types that reading, capping and counting share: the facts a batch brings for a user, and the facts the tables
// hold.
import type { Membership, MessageEvent } from '../core/campaigns/facts.ts'
import type { History } from '../core/statistics/contributions.ts'
import type { NamedEvent } from '../store/users/events.ts'
import type { UserWithAliases } from '../store/users/users.ts'
import type { UserGoalEvent } from './goal-events.ts'

/** The facts that a batch brings for one user. */
export interface NewFacts {
  readonly memberships: readonly Membership[]
  readonly messages: readonly MessageEvent[]
  /** Already stored, but not yet counted. */
  readonly goalEvents: readonly NamedEvent[]
}

/** The change of one user by a batch. */
export interface Change {
  readonly user: UserWithAliases
  /** The users that this one was before the batch. */
  readonly before: readonly UserWithAliases[]
  readonly facts: NewFacts
}

/** A user to read, perhaps with the facts that a batch brings. */
export type WantedUser = Pick<Change, 'user'> & Partial<Change>

/** The stored facts of one user. */
export interface StoredHistory extends History {
  readonly user: UserWithAliases
  readonly goalEvents: readonly UserGoalEvent[]
  /** The campaigns whose facts are complete here. Of others there are only the touches that compete with them. */
  readonly campaigns: ReadonlySet<number> | 'all'
}

/** The stored facts of one user, and the facts of a batch after the caps are applied. */
export interface CappedHistory extends StoredHistory {
  /** The facts of the batch within the caps … */
  readonly accepted: NewFacts
  /** … and those beyond them. */
  readonly refused: readonly (Membership | MessageEvent)[]
}

/** The change of one user with the stored facts. */
export interface StoredChange extends Change {
  readonly stored: StoredHistory
}
