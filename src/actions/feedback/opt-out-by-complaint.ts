// Opts people out who reported a message as spam, with a proof that names the message.
import { messageIdOfRun } from '../../core/delivery/delivery-entry.ts'
import { changePreference, recordPreferenceChange } from '../../core/users/preference.ts'
import { CUSTOMER_ID } from '../../core/users/user.ts'
import type { Workspace } from '../../core/workspace.ts'
import type { SentMessage } from '../../store/delivery/sent-messages.ts'
import type { Database, Store } from '../../store/store.ts'
import { findPreferenceOf, lockPreferences, savePreferences } from '../../store/users/preferences.ts'

export interface Complaints {
  readonly workspace: Workspace
  readonly messages: readonly SentMessage[]
  readonly now: number
  readonly ip: string
}

/** Changes nothing for those who opted out already. */
export async function optOutByComplaint(database: Database, { messages, ...complaints }: Complaints): Promise<void> {
  await database.write(async (store) => {
    await lockPreferences(store, [complaints.workspace.id])
    for (const message of messages) await optOut(store, message, complaints)
  })
}

async function optOut(
  store: Store,
  { customerId, run, message }: SentMessage,
  { workspace, now, ip }: Omit<Complaints, 'messages'>,
): Promise<void> {
  const before = await findPreferenceOf(store, workspace.id, { name: CUSTOMER_ID, value: customerId })
  // The person may have been erased.
  if (!before || before.preference.status?.[0] === 'OPTED_OUT') return
  const activeCategories = new Set(workspace.categories)
  const after = changePreference(before.preference, { status: 'OPTED_OUT' }, { activeCategories, now })
  const { current, change } = recordPreferenceChange(before, after, {
    by: `complaint:${messageIdOfRun(run, message)}`,
    ip,
  })
  await savePreferences(store, [current], [change])
}
