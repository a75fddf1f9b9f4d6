// Leaves out decisions behind links in messages whose persons were erased. Otherwise resolving their customer ids would create them
// again. No person is erased while a batch is applied: both hold a lock (`lockTables`).
import { findMessageOwners } from '../../store/delivery/linked-messages.ts'
import type { Store } from '../../store/store.ts'
import type { Batch, ReadEntry } from '../batch.ts'

/** The batch with empty reports in place of those decisions. */
export async function leaveOutErased(store: Store, batch: Batch): Promise<Batch> {
  const keys = batch.entries.flatMap((read) => keyOf(read) ?? [])
  if (keys.length === 0) return batch
  const owners = await findMessageOwners(store, keys)
  const living = new Set(owners.flatMap((owner) => (owner.userId === undefined ? [] : [textOf(owner)])))
  const entries = batch.entries.map((read) => {
    const key = keyOf(read)
    return key === undefined || living.has(textOf(key)) ? read : emptied(read)
  })
  return { ...batch, entries }
}

interface MessageKey {
  readonly run: number
  readonly number: number
}

function keyOf(read: ReadEntry): MessageKey | undefined {
  if (read.kind !== 'svc_opt_in' || !read.optIn) return undefined
  const { run, message } = read.optIn.body
  return { run, number: message }
}

function textOf({ run, number }: MessageKey): string {
  return `${run}-${number}`
}

function emptied(read: ReadEntry): ReadEntry {
  const { kind, entry } = read
  if (kind !== 'svc_opt_in') return read
  return { kind, entry, subjects: [], memberships: [], messages: [], subjectOf: new Map() }
}
