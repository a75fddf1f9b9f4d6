// Reads the users that a batch changes, as many as fit into memory: each may have megabytes of attributes.
import type { Store } from '../store/store.ts'
import { findUsers, measureUsers, type User } from '../store/users/users.ts'
import type { Batch } from './batch.ts'

/**
 * The most bytes of attributes that one batch reads, as JSON: a few of the largest users, or a thousand with 16 KiB
 * each.
 */
const USERS_BYTES_MAX = 16 * 1024 * 1024

/** A batch of several entries exceeds its memory or cells. The catcher, the follower, halves it. */
export class TooMuchAtOnce extends Error {}

/** Returns users by id, without merged ones. Throws TooMuchAtOnce, but not for a single entry. */
export async function findUsersAtOnce(
  store: Store,
  { entries }: Pick<Batch, 'entries'>,
  ids: readonly number[],
): Promise<User[]> {
  if (ids.length === 0) return []
  if (entries.length > 1) {
    const sizes = await measureUsers(store, ids)
    if (sizes.reduce((sum, { bytes }) => sum + bytes, 0) > USERS_BYTES_MAX) throw new TooMuchAtOnce()
  }
  return findUsers(store, ids)
}
