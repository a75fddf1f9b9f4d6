// Counts the applied rows of imports.
import type { Store } from '../../store/store.ts'
import { countApplied } from '../../store/users/imports.ts'
import type { LeftOut } from '../apply-user-attributes.ts'
import { importsOf, type Batch } from '../batch.ts'
import type { KeptOptOuts } from '../settle-preferences.ts'

/** In the order of the ids of the imports, so that no two transactions deadlock. */
export async function countImportedRows(
  store: Store,
  batch: Batch,
  { keptOptOuts, leftOut }: { readonly keptOptOuts: KeptOptOuts; readonly leftOut: LeftOut },
): Promise<void> {
  const chunksOf = Map.groupBy(importsOf(batch), ({ importId }) => importId)
  for (const id of [...chunksOf.keys()].toSorted()) {
    const counted = { applied: 0, keptOptedOut: 0, incomplete: 0 }
    for (const chunk of chunksOf.get(id) ?? []) {
      counted.applied += chunk.users.length
      counted.keptOptedOut += keptOptOuts.get(chunk) ?? 0
      counted.incomplete += leftOut.get(chunk)?.length ?? 0
    }
    await countApplied(store, id, counted)
  }
}
