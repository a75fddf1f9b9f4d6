// Locks the tables against the pipelines of all processes, for changes of data that counting depends on.
import { refuseNewerTables } from '../migrations.ts'
import type { Store } from '../store.ts'
import { PIPELINE_CURSOR } from './cursors.ts'

/**
 * Waits until no pipeline applies a batch, and makes the others wait until the transaction ends. Throws TablesAreNewer if a newer
 * program has migrated the tables: this program would not update the tables that the newer one has added.
 */
export async function lockTables(store: Store): Promise<void> {
  await store.lock(PIPELINE_CURSOR)
  await refuseNewerTables(store)
}
