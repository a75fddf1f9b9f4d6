// Whether a workspace has users, and how many.
import type { Store } from '../store.ts'
import { userRows } from './users.ts'

export async function hasUsers(store: Store, workspaceId: string): Promise<boolean> {
  const users = userRows(store).select('user.id').where('user.workspace_id', '=', workspaceId)
  return (await users.limit(1).execute()).length > 0
}

/** The number of users of a workspace, without merged ones. Reads each of them: some 100 ms for a million. */
export async function countUsers(store: Store, workspaceId: string): Promise<number> {
  const row = await userRows(store)
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('user.workspace_id', '=', workspaceId)
    .where('user.merged_into', 'is', null)
    .executeTakeFirstOrThrow()
  return row.count
}
