// Users that a statement asks for, as rows of its own that it joins.
import type { Store } from './store.ts'

/** Rows of `wanted.user_id`. */
export function wantedUsers(store: Store, userIds: readonly number[]) {
  return store.rowsOf(
    'wanted',
    { user_id: 'integer' },
    userIds.map((user_id) => ({ user_id })),
  )
}
