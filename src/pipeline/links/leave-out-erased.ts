// Leaves out what Tidings itself tells of persons who were erased after it was told: audiences, delivery, hits, feedback and decisions by
// links. Otherwise resolving their customer ids would create them again. Reports of clients stay as they are. No person is erased while
// a batch is applied: both hold a lock (`lockTables`).
import type { DeliveryEvent, ToldMessage } from '../../core/delivery/delivery-entry.ts'
import { findMessageOwners } from '../../store/delivery/linked-messages.ts'
import type { MessageKey } from '../../store/delivery/messages.ts'
import type { Store } from '../../store/store.ts'
import { isReport, type Batch, type ReadEntry, type ReportEntry } from '../batch.ts'

/** The batch without the facts of those persons. Their messages still get their states, which tell nothing of them. */
export async function leaveOutErased(store: Store, batch: Batch): Promise<Batch> {
  const told = new Map(batch.entries.flatMap(toldIn).map((message) => [textOf(message), message]))
  // Nearly all batches are of events, and look at nothing further.
  if (told.size === 0) return batch
  const owners = await findMessageOwners(store, [...told.values()])
  const living = new Set(owners.flatMap((owner) => (owner.userId === undefined ? [] : [textOf(owner)])))
  const entries = batch.entries.map((read) => {
    const gone = toldIn(read).filter((message) => !living.has(textOf(message)))
    return gone.length > 0 && isReport(read) ? withoutErased(read, gone) : read
  })
  return { ...batch, entries }
}

function toldIn(read: ReadEntry): readonly ToldMessage[] {
  return isReport(read) ? read.told : []
}

function textOf({ run, number }: MessageKey): string {
  return `${run}-${number}`
}

/** `gone`: the messages of the entry whose persons do not exist. A decision of such a person changes nothing. */
function withoutErased(
  { kind, entry, told, delivery, ...read }: ReportEntry,
  gone: readonly ToldMessage[],
): ReportEntry {
  const customers = new Set(gone.map(({ customerId }) => customerId))
  const numbers = new Set(gone.map(({ number }) => number))
  const stays = ({ customerId }: { readonly customerId: string }) => !customers.has(customerId)
  const subjectOf = new Map([...read.subjectOf].filter(([customerId]) => !customers.has(customerId)))
  const toKept = (event: DeliveryEvent) => (numbers.has(event.message) ? onlyState(event) : event)
  return {
    kind,
    entry,
    subjects: [...subjectOf.values()],
    memberships: read.memberships.filter(stays),
    messages: read.messages.filter(stays),
    subjectOf,
    told: told.filter(stays),
    ...(delivery && { delivery: { ...delivery, events: delivery.events.map(toKept) } }),
  }
}

/** Without what a server said, and without the person's links. */
function onlyState(event: DeliveryEvent): DeliveryEvent {
  const { message, at, claim } = event
  const basis = { message, at, claim, customer_id: '' }
  switch (event.kind) {
    case 'attempted':
      return { ...basis, kind: 'attempted' }
    case 'sent':
      return { ...basis, kind: 'sent', reply: NO_REPLY }
    case 'failed':
      return { ...basis, kind: 'failed', reason: event.reason }
    case 'deferred':
      return { ...basis, kind: 'deferred', until: event.until, reply: NO_REPLY }
    case 'released':
      return { ...basis, kind: 'released', until: event.until }
    case 'in_doubt':
      return { ...basis, kind: 'in_doubt' }
    case 'removed':
      return { ...basis, kind: 'removed', reason: event.reason, variation: event.variation, locale: event.locale }
  }
}

const NO_REPLY = { code: null, enhancedCode: null, text: '', host: '' }
