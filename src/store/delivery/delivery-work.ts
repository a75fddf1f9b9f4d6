// Finds the senders that have something to do.
import type { Store } from '../store.ts'
import { cancelledDeliveries, listBusySenders } from './deliveries.ts'
import { runRows } from './runs.ts'

/** A campaign runs, a scheduled one is due, or a cancelled one has people left who wait. In the order of their numbers. */
export async function listSendersToSendFor(store: Store, now: number): Promise<number[]> {
  const busy = await listBusySenders(store, now)
  const left = await runRows(store)
    .select('run.sender')
    .distinct()
    .where('run.phase', '!=', 'finished')
    .where('run.campaign', 'in', cancelledDeliveries(store))
    .execute()
  return [...new Set([...busy, ...left.map(({ sender }) => sender)])].toSorted((left, right) => left - right)
}
