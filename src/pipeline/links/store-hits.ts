// Stores the hits of links and pictures in messages as they came, each once: the cursor moves in the same transaction.
import { EVENTS_PER_ENTRY_MAX } from '../../core/event.ts'
import { addMessageHits } from '../../store/delivery/message-hits.ts'
import type { Store } from '../../store/store.ts'
import type { Batch } from '../batch.ts'

export async function storeHits(store: Store, { entries }: Batch): Promise<void> {
  const hits = entries.flatMap((read) => {
    if (read.kind !== 'svc_hits') return []
    const first = read.entry.position * EVENTS_PER_ENTRY_MAX
    return read.hits.map((hit, index) => ({ ...hit, id: first + index }))
  })
  await addMessageHits(store, hits)
}
