// Queries of messages for the process that sends them: whose turn it is, claims, and what a process left that died.
import { sql } from 'kysely'
import type { Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'
import { changeMessages, messageRows, toRunMessage, type RunMessage } from './messages.ts'
import { runRows } from './runs.ts'

/** The states of messages that wait for their turn. Those that were deferred come first. */
const WAITING_STATES = ['deferred', 'queued'] as const

/** At most `max` messages whose turn it is, in the order of their times and of the run. */
export async function listDueMessages(
  store: Store,
  run: number,
  { now, max }: { readonly now: number; readonly max: number },
): Promise<RunMessage[]> {
  const due: RunMessage[] = []
  for (const state of WAITING_STATES) {
    if (due.length === max) break
    const waiting = messageRows(store).selectAll().where('run', '=', run).where('state', '=', state)
    const rows = waiting
      .where('next_at', '<=', now)
      .orderBy('next_at')
      .orderBy('number')
      .limit(max - due.length)
    due.push(...(await rows.execute()).map(toRunMessage))
  }
  return due
}

/** At most `max` messages that wait, whether or not their turn has come. */
export async function listWaitingMessages(store: Store, run: number, max: number): Promise<RunMessage[]> {
  return listDueMessages(store, run, { now: Number.MAX_SAFE_INTEGER, max })
}

/** When the next waiting message of a run is due; undefined if none waits. */
export async function findNextDue(store: Store, run: number): Promise<number | undefined> {
  const times = await findDueTimes(store, run, 'asc')
  return times.length > 0 ? Math.min(...times) : undefined
}

/** When the last waiting message of a run is due; undefined if none waits. */
export async function findLastDue(store: Store, run: number): Promise<number | undefined> {
  const times = await findDueTimes(store, run, 'desc')
  return times.length > 0 ? Math.max(...times) : undefined
}

/** The first or the last time of each state that waits. */
async function findDueTimes(store: Store, run: number, order: 'asc' | 'desc'): Promise<number[]> {
  const times: number[] = []
  for (const state of WAITING_STATES) {
    const waiting = messageRows(store).select('next_at').where('run', '=', run).where('state', '=', state)
    const row = await waiting.orderBy('next_at', order).limit(1).executeTakeFirst()
    if (row) times.push(row.next_at)
  }
  return times
}

/** Claims under one fence: a claim of every second for decades. */
const CLAIMS_PER_FENCE = 2 ** 30

/**
 * The first claim under a fence; the following numbers are its further ones. Each block gets its own, so that an event which the log
 * got twice ends no later claim of its message. A greater fence has greater claims.
 */
export function firstClaimUnder(fence: number): number {
  return fence * CLAIMS_PER_FENCE
}

/** The messages of a run that a process has claimed under its fence. */
interface ClaimsUnder {
  readonly run: number
  readonly fence: number
}

/** A message that is claimed: its address now, and whether it counts towards the caps from now on. */
export interface MessageClaim {
  readonly number: number
  readonly emailKey: string
  /** Null if the checks at its turn remove it. */
  readonly claimedAt: number | null
}

/** Claims those of the messages that still wait: the others belonged to people who were erased meanwhile. Returns their numbers. */
export async function claimMessages(
  store: Store,
  { run, claim }: { readonly run: number; readonly claim: number },
  claims: readonly MessageClaim[],
): Promise<number[]> {
  if (claims.length === 0) return []
  const columns = { number: 'integer', email_key: 'text', claimed_at: 'integer' } as const
  const rows = claims.map(({ number, emailKey, claimedAt }) => {
    return { number, email_key: emailKey, claimed_at: claimedAt }
  })
  const claimed = await changeMessages(store)
    .from(store.rowsOf('claimed', columns, rows))
    .set((set) => ({
      state: 'sending',
      claim,
      email_key: set.ref('claimed.email_key'),
      claimed_at: set.ref('claimed.claimed_at'),
      attempted_at: null,
    }))
    .where('messages.run', '=', run)
    .whereRef('messages.number', '=', 'claimed.number')
    .where('messages.state', 'in', WAITING_STATES)
    .returning('messages.number')
    .execute()
  return claimed.map(({ number }) => number)
}

/** Queues claimed messages again that no server was asked about. */
export async function unclaimMessages(
  store: Store,
  { run, fence }: ClaimsUnder,
  numbers: readonly number[],
): Promise<void> {
  if (numbers.length === 0) return
  const wanted = store.query.selectFrom(wantedValues(store, 'number', 'integer', numbers)).select('wanted.number')
  await changeMessages(store)
    .set({ state: 'queued', claim: null, claimed_at: null })
    .where('run', '=', run)
    .where('number', 'in', wanted)
    .where('state', '=', 'sending')
    .where('claim', '>=', firstClaimUnder(fence))
    .where('attempted_at', 'is', null)
    .execute()
}

/** What a process left that lost its lease. */
export interface SettledMessages {
  /** The numbers of those in doubt. */
  readonly inDoubt: readonly number[]
  /** When those were claimed that are queued again; those that were about to be removed are left out. */
  readonly queuedFrom: readonly number[]
}

/**
 * Settles messages that are `sending` under a smaller fence. Those with an attempt without outcome are in doubt; the others are queued
 * again. Call it once the pipeline has applied everything that the process told.
 */
export async function settleAbandoned(store: Store, { run, fence }: ClaimsUnder): Promise<SettledMessages> {
  const first = firstClaimUnder(fence)
  const abandoned = () =>
    changeMessages(store)
      .where('run', '=', run)
      .where('state', '=', 'sending')
      .where((row) => row.or([row('claim', 'is', null), row('claim', '<', first)]))
  const untried = await messageRows(store)
    .select('claimed_at')
    .where('run', '=', run)
    .where('state', '=', 'sending')
    .where((row) => row.or([row('claim', 'is', null), row('claim', '<', first)]))
    .where('attempted_at', 'is', null)
    .where('claimed_at', 'is not', null)
    .execute()
  const queued = { state: 'queued', claim: null, claimed_at: null }
  await abandoned().set(queued).where('attempted_at', 'is', null).execute()
  const doubtful = await abandoned().set({ state: 'in_doubt', attempted_at: null }).returning('number').execute()
  const queuedFrom = untried.flatMap(({ claimed_at: at }) => (at === null ? [] : [at]))
  return { inDoubt: doubtful.map(({ number }) => number), queuedFrom }
}

/** User → when they were sent messages of capped campaigns after `since`, or will be within moments. */
export async function listCapUses(
  store: Store,
  userIds: readonly number[],
  since: number,
): Promise<ReadonlyMap<number, readonly number[]>> {
  if (userIds.length === 0) return new Map()
  const at = sql<number>`coalesce(message.sent_at, message.claimed_at)`
  const capped = runRows(store).select('run.number').where('run.is_capped', '=', 1)
  const rows = await messageRows(store)
    .innerJoin(wantedValues(store, 'user_id', 'integer', userIds), 'wanted.user_id', 'message.user_id')
    .where('message.run', 'in', capped)
    .where('message.state', 'in', ['sending', 'sent', 'in_doubt'])
    .where(at, '>', since)
    .select(['message.user_id', at.as('at')])
    .execute()
  const uses = new Map<number, number[]>()
  for (const { user_id, at: time } of rows) uses.set(user_id, [...(uses.get(user_id) ?? []), time])
  return uses
}
