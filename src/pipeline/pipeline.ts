// Applies one batch of the log to the tables, step by step. The path of an event or a report:
//
// 1. An operation validates the request, appends it to the log as one entry, and responds (`operations/accept.ts`).
// 2. The follower reads the entries after its cursor, some hundred at a time (`follower/follow-log.ts`).
// 3. `batch.ts` reads their bodies with the settings of their workspaces. It lists an entry that it cannot read, with the
//    reason; the last step parks it.
// 4. `apply-batch.ts` opens one transaction, moves the cursor, and calls `applySteps`. All of it commits, or nothing.
//
// If a step throws, the follower tries the batch again, then halves it, and parks the one entry that cannot be applied.
// While the store or log is unavailable it waits and parks nothing.
//
// A step works on all entries with a few statements, never with one per entry. It changes neither the batch nor the
// results of earlier steps: it returns what a later step needs.
import type { Store } from '../store/store.ts'
import { applyUserAttributes } from './apply-user-attributes.ts'
import type { Batch } from './batch.ts'
import { leaveOutErased } from './links/leave-out-erased.ts'
import { storeHits } from './links/store-hits.ts'
import { countImportedRows } from './users/count-imported-rows.ts'
import { countStatistics, type CountOptions } from './count-statistics.ts'
import { parkUnreadable } from './park-unreadable.ts'
import { recordReceipts, type ReceiptTotals } from './record-receipts.ts'
import { settleMessages } from './delivery/settle-messages.ts'
import { settlePreferences } from './settle-preferences.ts'
import { resolveUsers, type ResolvedUsers } from './resolve-users.ts'
import { storeEvents } from './store-events.ts'

export interface AppliedSteps extends ReceiptTotals {
  readonly users: ResolvedUsers
}

/** Runs every step on a batch, in the caller's transaction. Throws what a step throws. */
export async function applySteps(store: Store, read: Batch, options: CountOptions = {}): Promise<AppliedSteps> {
  // Leaves out what links in messages, and delivery, tell of persons who were erased meanwhile.
  const batch = await leaveOutErased(store, read)
  // Finds or creates the user of each entry, and merges users whom an entry shows to be one person.
  const users = await resolveUsers(store, batch)
  // Sets the attributes that Track User and imports sent. Returns those that did not fit, and the addresses that users got.
  const { leftOut, newAddresses } = await applyUserAttributes(store, batch, users)
  // Merges the email preferences of merged users, and sets those that imports and links in messages brought. Users who got an
  // opted-out address inherit its opt-out. Returns how many opt-outs contradicted imports and were kept, and which links ended
  // something.
  const { keptOptOuts, unsubscribes } = await settlePreferences(store, batch, { users, newAddresses })
  // Applies attempts and outcomes of messages that Tidings sends, and gives the messages of merged users to those who stay.
  await settleMessages(store, batch, users)
  // Inserts tracked events. Returns those that were already stored.
  const storedEvents = await storeEvents(store, batch, users)
  // Inserts reported facts (memberships, message events). Adds these and the tracked events that meet goals to the
  // statistics. Returns how many facts were new, and what exceeds the caps.
  const countedFacts = await countStatistics(store, batch, { users, unsubscribes, storedEvents, options })
  // Inserts the hits of links and pictures in messages, which are judged later.
  await storeHits(store, batch)
  // Writes the receipt of each request that was read. Returns how many events and facts were new, how many are not
  // counted, and how many warnings there are.
  const totals = await recordReceipts(store, batch, { users, leftOut, storedEvents, countedFacts })
  // Counts the applied rows of imports.
  await countImportedRows(store, batch, { keptOptOuts, leftOut })
  // Parks unreadable entries with the reason, and writes their receipts.
  await parkUnreadable(store, batch)
  return { users, ...totals }
}
