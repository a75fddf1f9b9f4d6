// Freezes the audience of a run: walks the users of the workspace in slices, and makes a message of each who is in it. A slice is one
// transaction that also records how far the walk is, so that another process can go on. Then removes duplicates, slice by slice.
import { placePeople, type Candidate } from './place-people.ts'
import { chooseDuplicates } from '../../core/delivery/audience/duplicates.ts'
import { listMessagesTo, listSharedAddresses, removeQueued } from '../../store/delivery/frozen-messages.ts'
import { findSurvivors } from '../../store/delivery/linked-messages.ts'
import { addMessages, findLastNumber, type FrozenMessage } from '../../store/delivery/messages.ts'
import { beginPhase, findRunCondition, saveFrozenSlice } from '../../store/delivery/runs.ts'
import { lockTables } from '../../store/entries/lock-tables.ts'
import { listMatches, type Match } from '../../store/segments/matches.ts'
import { requireSenderLease, type SenderLease } from '../../store/senders/sender-leases.ts'
import type { Database, Store } from '../../store/store.ts'
import type { OpenRun } from './open-run.ts'

/** Users of one slice: its transaction takes some 50 ms. */
const USERS_PER_SLICE = 5_000
/** Addresses that are compared at once. */
const ADDRESSES_PER_SLICE = 2_000

/**
 * Freezes one slice. Looks people up before the transaction, so that other writers wait only for the rows: consent, suppressions and
 * caps are looked at again when a message's turn comes. After the last slice the run goes on with `comparing`. Throws LeaseLost.
 */
export async function freezeSlice(database: Database, lease: SenderLease, open: OpenRun): Promise<void> {
  const { workspace, run } = open
  const { number, evaluatedAt: now, frozenThrough: after, lastUser } = run
  const condition = await findRunCondition(database, number)
  const { matches, next } = await listMatches(database, { workspace, condition, now, after, max: USERS_PER_SLICE })
  const people = matches.filter(({ userId }) => userId <= lastUser)
  const candidates = people.flatMap(toCandidate)
  const messages = await placeAll(database, open, candidates)
  const withoutAddress = people.length - candidates.length
  await database.write(async (store) => {
    await requireSenderLease(store, lease)
    // Nobody is erased or merged until the messages are there, so none is left to a person who is gone.
    await lockTables(store)
    const present = await findPresent(store, messages)
    // People may have been erased meanwhile, so the audience may be smaller than the last number.
    const last = await findLastNumber(store, number)
    await addMessages(
      store,
      present.map((message, index) => ({ ...message, number: last + index + 1 })),
    )
    await saveFrozenSlice(store, number, { through: next ?? lastUser, withoutAddress })
    if (next === undefined || next >= lastUser) await beginPhase(store, number, 'comparing')
  })
}

/** None for people without an address. Facts name people by customer ids, so who has none cannot be sent to either. */
function toCandidate({ userId, customerId, emailKey, locale }: Match): Candidate[] {
  return customerId === null || emailKey === null ? [] : [{ userId, customerId, emailKey, locale }]
}

async function placeAll(
  store: Store,
  { run, delivery, workspace }: OpenRun,
  candidates: readonly Candidate[],
): Promise<FrozenMessage[]> {
  const { settings, seed, pinned } = delivery
  const rules = { workspace, delivery: settings, variations: pinned ?? [], seed, now: run.evaluatedAt }
  const places = await placePeople(store, rules, candidates)
  return places.map(({ group, variation, template, removed }, index) => {
    const { userId, customerId, emailKey } = candidates[index] as Candidate
    const state = group === 'target' ? (removed ? 'removed' : 'queued') : 'control'
    const key = { run: run.number, number: index + 1 }
    const { locale } = template
    return { ...key, userId, customerId, emailKey, group, variation, locale, state, reason: removed ?? null }
  })
}

/** Without people who were erased since they were looked up; of those who were merged, for the users who stayed. */
async function findPresent(store: Store, messages: readonly FrozenMessage[]): Promise<FrozenMessage[]> {
  const users = await findSurvivors(
    store,
    messages.map(({ userId }) => userId),
  )
  return messages.flatMap((message) => {
    const userId = users.get(message.userId)
    return userId === undefined ? [] : [{ ...message, userId }]
  })
}

/**
 * Removes the duplicates among some addresses of a run, after the address `after`, in the caller's transaction. Returns the last
 * address; undefined after the last slice, when the run goes on with `telling`. Throws LeaseLost.
 */
export async function compareSlice(
  store: Store,
  lease: SenderLease,
  { run: { number } }: OpenRun,
  after: string,
): Promise<string | undefined> {
  await requireSenderLease(store, lease)
  const addresses = await listSharedAddresses(store, number, { after, max: ADDRESSES_PER_SLICE })
  const byAddress = Map.groupBy(await listMessagesTo(store, number, addresses), ({ emailKey }) => emailKey)
  const duplicates = [...byAddress.values()].flatMap(chooseDuplicates)
  await removeQueued(store, number, duplicates, 'user_removed_due_to_duplicate')
  if (addresses.length === ADDRESSES_PER_SLICE) return addresses.at(-1)
  await beginPhase(store, number, 'telling')
  return undefined
}
