// The table of sender leases. One process at a time sends for a sender, so that the sender's limits hold over all processes without
// further agreement. A process that takes a lease over gets a greater fence: messages claimed under a smaller one have no process.
import type { Halt } from '../../core/delivery/delivery.ts'
import { RATE_WINDOW_MS } from '../../core/senders/sender.ts'
import { databaseNow } from '../database-clock.ts'
import type { SqlTypes, Store } from '../store.ts'

interface SenderLeaseRow {
  /** `senders.number`. */
  sender: number
  /** Grows each time a process takes the lease. */
  fence: number
  /** The process that has the lease. */
  holder: string
  /** The lease ends at this time. */
  leased_until: number
  /** The UTC day that `sent_today` counts, as days since the epoch. */
  day: number
  /** Messages of that day that were claimed and not given back. */
  sent_today: number
  /** JSON of `Halt` while the SMTP server takes no mail; else null. */
  waiting: string | null
}

declare module '../tables.ts' {
  interface Tables {
    sender_leases: SenderLeaseRow
  }
}

export async function createSenderLeases({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('sender_leases')
    .addColumn('sender', integer, (column) => column.primaryKey())
    .addColumn('fence', integer, (column) => column.notNull())
    .addColumn('holder', text, (column) => column.notNull())
    .addColumn('leased_until', integer, (column) => column.notNull())
    .addColumn('day', integer, (column) => column.notNull())
    .addColumn('sent_today', integer, (column) => column.notNull())
    .addColumn('waiting', text)
    .execute()
}

/** The right to send for a sender. A greater fence has replaced it. */
export interface SenderLease {
  readonly sender: number
  readonly fence: number
}

export interface TakenLease extends SenderLease {
  /** The last holder may have sent a moment ago. */
  readonly isJustLeft: boolean
}

/** Another process has taken the sender over. The catcher, the loop of the sender, stops sending for it. */
export class LeaseLost extends Error {}

/** A process that wants to send for a sender. */
export interface LeaseWish {
  readonly sender: number
  /** Identifies one run of a process. */
  readonly holder: string
  readonly keptMs: number
  /** No other process can be sending: an unexpired lease was left by a process that died. */
  readonly isAlone: boolean
}

/** Whether another process has the lease now, as far as can be seen without waiting for that process. */
export async function isSenderLeased(store: Store, { sender, keptMs }: Omit<LeaseWish, 'holder'>): Promise<boolean> {
  const now = await databaseNow(store)
  const leases = store.query.selectFrom('sender_leases').where('sender', '=', sender)
  const lease = await leases.select('leased_until').executeTakeFirst()
  return lease !== undefined && isHeldAt(lease.leased_until, { now, keptMs })
}

/** An end beyond `now + keptMs` dates from before the clock was set back. */
function isHeldAt(until: number, { now, keptMs }: { readonly now: number; readonly keptMs: number }): boolean {
  return until > now && until <= now + keptMs
}

/** Takes a lease that is free; undefined if another process has it. Call it in a transaction. */
export async function takeSenderLease(
  store: Store,
  { sender, holder, keptMs, isAlone }: LeaseWish,
): Promise<TakenLease | undefined> {
  await store.lock(`sender ${sender}`)
  const now = await databaseNow(store)
  const leases = store.query.selectFrom('sender_leases').where('sender', '=', sender)
  const lease = await leases.select(['fence', 'leased_until']).executeTakeFirst()
  if (!lease) {
    const row = { sender, fence: 1, holder, leased_until: now + keptMs, day: 0, sent_today: 0, waiting: null }
    await store.query.insertInto('sender_leases').values(row).execute()
    return { sender, fence: 1, isJustLeft: false }
  }
  const isHeld = isHeldAt(lease.leased_until, { now, keptMs })
  if (isHeld && !isAlone) return undefined
  const fence = lease.fence + 1
  // Whether the server takes mail, this process has yet to find out.
  await setLease(store, sender, { fence, holder, leased_until: now + keptMs, waiting: null })
  return { sender, fence, isJustLeft: isHeld }
}

/** Extends a lease by `keptMs` from now; false if another process has taken it. */
export async function renewSenderLease(store: Store, lease: SenderLease, keptMs: number): Promise<boolean> {
  const until = (await databaseNow(store)) + keptMs
  const renewed = await ownLease(store, lease).set({ leased_until: until }).executeTakeFirst()
  return renewed.numUpdatedRows > 0
}

/** Gives a lease back. Another process can take it after a second, so that it need not know what was sent within that second. */
export async function releaseSenderLease(store: Store, lease: SenderLease): Promise<void> {
  const until = (await databaseNow(store)) + RATE_WINDOW_MS
  await ownLease(store, lease).set({ leased_until: until, waiting: null }).execute()
}

/** Makes sure that the lease still holds, until the transaction ends. Throws LeaseLost. Every change of a run calls it first. */
export async function requireSenderLease(store: Store, { sender, fence }: SenderLease): Promise<void> {
  await store.lock(`sender ${sender}`)
  const leases = store.query.selectFrom('sender_leases').select('fence').where('sender', '=', sender)
  const lease = await leases.executeTakeFirst()
  if (lease?.fence !== fence) throw new LeaseLost()
}

/** How many messages may be claimed on a day. */
export interface DailyQuota {
  /** Days since the epoch, in UTC. */
  readonly day: number
  /** Null: no limit. */
  readonly perDay: number | null
}

/** Takes at most `wanted` of the quota; returns how many. Call it under `requireSenderLease`. */
export async function takeQuota(
  store: Store,
  { sender }: SenderLease,
  { day, perDay, wanted }: DailyQuota & { readonly wanted: number },
): Promise<number> {
  const lease = await store.query
    .selectFrom('sender_leases')
    .select(['day', 'sent_today'])
    .where('sender', '=', sender)
    .executeTakeFirstOrThrow()
  const used = lease.day === day ? lease.sent_today : 0
  const taken = perDay === null ? wanted : Math.max(0, Math.min(wanted, perDay - used))
  await setLease(store, sender, { day, sent_today: used + taken })
  return taken
}

/** Gives back what was taken on that day and not used. */
export async function returnQuota(store: Store, { sender }: SenderLease, day: number, unused: number): Promise<void> {
  if (unused === 0) return
  await store.query
    .updateTable('sender_leases')
    .set((row) => ({ sent_today: row('sent_today', '-', unused) }))
    .where('sender', '=', sender)
    .where('day', '=', day)
    .execute()
}

/** Shows why the sender sends nothing; undefined: it sends. */
export async function saveWaiting(store: Store, lease: SenderLease, halt: Halt | undefined): Promise<void> {
  await ownLease(store, lease)
    .set({ waiting: halt ? JSON.stringify(halt) : null })
    .execute()
}

/** The senders that send nothing now, for queries of their campaigns. */
export function waitingSenders({ query }: Store) {
  return query.selectFrom('sender_leases as lease').select('lease.sender').where('lease.waiting', 'is not', null)
}

/** Sender → why it sends nothing; senders that send are left out. */
export async function findWaiting({ query }: Store, senders: readonly number[]): Promise<Map<number, Halt>> {
  if (senders.length === 0) return new Map()
  const rows = await query
    .selectFrom('sender_leases')
    .select(['sender', 'waiting'])
    .where('sender', 'in', senders)
    .where('waiting', 'is not', null)
    .execute()
  return new Map(rows.map(({ sender, waiting }) => [sender, JSON.parse(waiting as string) as Halt]))
}

function ownLease({ query }: Store, { sender, fence }: SenderLease) {
  return query.updateTable('sender_leases').where('sender', '=', sender).where('fence', '=', fence)
}

async function setLease({ query }: Store, sender: number, row: Partial<SenderLeaseRow>): Promise<void> {
  await query.updateTable('sender_leases').set(row).where('sender', '=', sender).execute()
}
