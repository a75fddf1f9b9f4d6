// Takes a person who is being erased out of the messages that Tidings sends ("Erasing and retention").
import { releaseCoupons } from '../coupons/hold-coupons.ts'
import { eraseMessagesOf } from '../../store/delivery/erased-messages.ts'
import { removeSoftBounces } from '../../store/senders/soft-bounces.ts'
import type { Store } from '../../store/store.ts'
import { findUsersWithAliases, type User } from '../../store/users/users.ts'

/**
 * Codes that went out stay issued. A suppression of the address stays, so that nobody sends to it again. Call it in the transaction of
 * the erasure, before the user is removed.
 */
export async function eraseMessages(store: Store, { id, workspaceId, emailKey }: User): Promise<void> {
  const { userIds = [id] } = (await findUsersWithAliases(store, [id])).get(id) ?? {}
  const deleted = await eraseMessagesOf(store, userIds)
  for (const [run, messages] of Map.groupBy(deleted, (message) => message.run)) {
    await releaseCoupons(
      store,
      run,
      messages.map(({ number }) => number),
    )
  }
  if (emailKey !== null) await removeSoftBounces(store, workspaceId, emailKey)
}
