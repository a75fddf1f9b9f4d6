// What follows the log: the steps of one batch, in order. All of a batch is one transaction.
import type { Store } from '../store/store.ts'
import { applyUserAttributes } from './apply-user-attributes.ts'
import type { Batch } from './batch.ts'
import { countStatistics } from './count-statistics.ts'
import { mergeUserPreferences } from './merge-preferences.ts'
import { parkUnreadable } from './park-unreadable.ts'
import { recordReceipts } from './record-receipts.ts'
import { resolveUsers } from './resolve-users.ts'
import { storeEvents } from './store-events.ts'

/** A step works on all entries of the batch with a few statements, never with one per row. */
export type Step = (store: Store, batch: Batch) => Promise<void>

/** The cursor moves in the same transaction (`apply-batch.ts`). */
export const STEPS: readonly Step[] = [
  resolveUsers,
  mergeUserPreferences,
  applyUserAttributes,
  storeEvents,
  countStatistics,
  recordReceipts,
  parkUnreadable,
]
