// Locks the tables against the pipelines of all processes, for a change of what entries are counted by.
import { refuseNewerTables } from '../migrations.ts'
import type { Store } from '../store.ts'
import { PIPELINE_CURSOR } from './cursors.ts'

/**
 * Waits until no pipeline applies a batch, and makes the others wait until the transaction ends. Throws TablesAreNewer where a newer
 * program has changed the tables: what it keeps beside those that this one knows would not be kept up to date.
 */
export async function lockTables(store: Store): Promise<void> {
  await store.lock(PIPELINE_CURSOR)
  await refuseNewerTables(store)
}
