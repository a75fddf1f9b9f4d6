// Queries of exports about users: their ids in order, and the customer ids that events and proofs belong to.
import type { Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'
import { userRows } from './users.ts'

/** At most `max` ids of users of a workspace after `after`, in order, merged users too. */
export async function listAllUserIdsAfter(
  store: Store,
  workspaceId: string,
  { after, max }: { readonly after: number; readonly max: number },
): Promise<number[]> {
  const users = userRows(store).select('user.id').where('user.workspace_id', '=', workspaceId)
  const rows = await users.where('user.id', '>', after).orderBy('user.id').limit(max).execute()
  return rows.map(({ id }) => id)
}

/** The user that stands for an id: the user itself, or the one it was merged into. */
export interface ShownCustomer {
  readonly userId: number
  readonly customerId: string | null
}

/** Id → its user; an id without a user is left out. */
export async function findShownCustomers(store: Store, ids: readonly number[]): Promise<Map<number, ShownCustomer>> {
  const rows = await findRows(store, ids)
  const survivorIds = rows.flatMap((row) => (row.merged_into === null ? [] : [row.merged_into]))
  const survivors = await findRows(store, [...new Set(survivorIds)])
  const customerIds = new Map([...rows, ...survivors].map((row) => [row.id, row.customer_id]))
  return new Map(
    rows.map(({ id, merged_into: into }) => {
      const userId = into ?? id
      return [id, { userId, customerId: customerIds.get(userId) ?? null }]
    }),
  )
}

async function findRows(store: Store, ids: readonly number[]) {
  if (ids.length === 0) return []
  const wanted = wantedValues(store, 'id', 'integer', ids)
  return userRows(store)
    .select(['user.id', 'user.merged_into', 'user.customer_id'])
    .where('user.id', 'in', (sub) => sub.selectFrom(wanted).select('wanted.id'))
    .execute()
}
