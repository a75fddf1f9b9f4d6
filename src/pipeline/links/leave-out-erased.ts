// Leaves out what links in messages and delivery tell of persons who were erased. Otherwise resolving their customer ids would create
// them again. No person is erased while a batch is applied: both hold a lock (`lockTables`).
import type { DeliveryBody, DeliveryEvent } from '../../core/delivery/delivery-entry.ts'
import { findMessageOwners } from '../../store/delivery/linked-messages.ts'
import type { MessageKey } from '../../store/delivery/messages.ts'
import type { Store } from '../../store/store.ts'
import type { Batch, ReadEntry, ReportEntry } from '../batch.ts'

/** The batch without the facts of those persons. Their messages still get their states, which tell nothing of them. */
export async function leaveOutErased(store: Store, batch: Batch): Promise<Batch> {
  // Nearly all batches are of events, and look at nothing further.
  if (!batch.entries.some(({ kind }) => kind === 'svc_opt_in' || kind === 'svc_delivery')) return batch
  const keys = new Map(batch.entries.flatMap(keysOf).map((key) => [textOf(key), key]))
  const owners = await findMessageOwners(store, [...keys.values()])
  const living = new Set(owners.flatMap((owner) => (owner.userId === undefined ? [] : [textOf(owner)])))
  const entries = batch.entries.map((read) => {
    const isLiving = keysOf(read).every((key) => living.has(textOf(key)))
    return isLiving || (read.kind !== 'svc_opt_in' && read.kind !== 'svc_delivery') ? read : withoutErased(read, living)
  })
  return { ...batch, entries }
}

/** The messages that an entry tells of. */
function keysOf(read: ReadEntry): MessageKey[] {
  if (read.kind === 'svc_opt_in' && read.optIn) {
    const { run, message } = read.optIn.body
    return [{ run, number: message }]
  }
  if (read.kind !== 'svc_delivery' || !read.delivery) return []
  const { run, events } = read.delivery
  return events.map(({ message }) => ({ run, number: message }))
}

function textOf({ run, number }: MessageKey): string {
  return `${run}-${number}`
}

/** `living`: the messages whose persons exist. */
function withoutErased(read: ReportEntry, living: ReadonlySet<string>): ReportEntry {
  const { kind, entry, delivery } = read
  if (!delivery) return { kind, entry, subjects: [], memberships: [], messages: [], subjectOf: new Map() }
  const isErased = ({ message }: DeliveryEvent) => !living.has(textOf({ run: delivery.run, number: message }))
  const gone = new Set(delivery.events.filter(isErased).map(({ customer_id }) => customer_id))
  const stays = ({ customerId }: { readonly customerId: string }) => !gone.has(customerId)
  const subjectOf = new Map([...read.subjectOf].filter(([customerId]) => !gone.has(customerId)))
  const body: DeliveryBody = {
    ...delivery,
    events: delivery.events.map((event) => (isErased(event) ? onlyState(event) : event)),
  }
  return {
    kind,
    entry,
    subjects: [...subjectOf.values()],
    memberships: read.memberships.filter(stays),
    messages: read.messages.filter(stays),
    subjectOf,
    delivery: body,
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
