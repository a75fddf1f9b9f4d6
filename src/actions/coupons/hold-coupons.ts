// Gives coupon codes to messages: holds them when a message is claimed, issues them once it was sent or may have been, and takes
// them back when it ended unsent ("Coupons"). Each function works in the caller's transaction and keeps the counts of the lists.
//
// A function locks the lists that it changes, in the order of their numbers, until the transaction ends, so no two transactions
// get the same code. A transaction that calls several of them may lock the lists in another order than a second one: then
// PostgreSQL aborts one of the two, and `Database.write` runs it again.
import {
  countTransfer,
  lockCouponListRows,
  type CouponTransfer,
  type StoredCouponList,
} from '../../store/coupons/coupon-lists.ts'
import { findCodesById } from '../../store/coupons/coupons.ts'
import {
  addHeldCoupons,
  findHeldCoupons,
  issueHeldCoupons,
  removeHeldCoupons,
  type HeldCoupon,
} from '../../store/coupons/held-coupons.ts'
import { addReleased, type ListedCoupon } from '../../store/coupons/released-coupons.ts'
import type { Store } from '../../store/store.ts'
import { FreeCoupons } from './free-coupons.ts'

/** The codes of one message: the number of the list → its code. */
export type MessageCodes = ReadonlyMap<number, string>

export interface WantedCoupons {
  readonly run: number
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The numbers of messages, each once, with the numbers of the ACTIVE lists of which each needs a code. */
  readonly wanted: readonly { readonly message: number; readonly listNumbers: readonly number[] }[]
}

/**
 * Gives each message one code of each of its lists. A code that the message has already stays with it. Undefined for a message of
 * which some list has no code left: then it gets none.
 */
export async function holdCoupons(
  store: Store,
  { run, at, wanted }: WantedCoupons,
): Promise<Map<number, MessageCodes | undefined>> {
  const lists = await lockCouponListRows(store, [...new Set(wanted.flatMap(({ listNumbers }) => listNumbers))])
  const messages = wanted.map(({ message }) => message)
  const held = await findHeldCodes(store, run, messages)
  const lacking = wanted.map(({ message, listNumbers }) => {
    return [...new Set(listNumbers)].filter((number) => !held.get(message)?.has(number))
  })
  const free = await findFree(store, lists, lacking.flat())
  const taken: HeldCoupon[] = []
  const codes = new Map<number, MessageCodes | undefined>()
  for (const [index, { message, listNumbers }] of wanted.entries()) {
    const missing = lacking[index] ?? []
    if (missing.some((number) => free.get(number)?.isEmpty ?? true)) {
      codes.set(message, undefined)
      continue
    }
    const own = new Map([...(held.get(message) ?? [])].filter(([number]) => listNumbers.includes(number)))
    for (const number of missing) {
      const { id, code } = (free.get(number) as FreeCoupons).take()
      own.set(number, code)
      taken.push({ listNumber: number, coupon: id, run, message, isIssued: false, at })
    }
    codes.set(message, own)
  }
  await addHeldCoupons(store, taken)
  for (const [number, coupons] of free) {
    const count = await coupons.save()
    if (count > 0) await countTransfer(store, number, { available: -count, held: count })
  }
  return codes
}

/** Issues the codes that messages hold: they were sent, or may have been. Repeats change nothing. */
export async function issueCoupons(store: Store, run: number, messages: readonly number[]): Promise<void> {
  await lockListsOf(store, run, messages)
  const issued = await issueHeldCoupons(store, run, messages)
  await countTransfers(store, issued, (count) => ({ held: -count, issued: count }))
}

/**
 * Makes the codes that messages hold available again: not one byte of the messages was accepted. Issued codes stay issued. Repeats
 * change nothing.
 */
export async function releaseCoupons(store: Store, run: number, messages: readonly number[]): Promise<void> {
  await lockListsOf(store, run, messages)
  const released = await removeHeldCoupons(store, run, messages)
  await addReleased(store, released)
  await countTransfers(store, released, (count) => ({ held: -count, available: count }))
}

/** The codes that messages have, held or issued; messages without codes are left out. */
export async function findHeldCodes(
  store: Store,
  run: number,
  messages: readonly number[],
): Promise<Map<number, MessageCodes>> {
  const held = await findHeldCoupons(store, run, messages)
  const texts = await findCodesById(
    store,
    held.map(({ coupon }) => coupon),
  )
  const textOf = new Map(texts.map(({ id, code }) => [id, code]))
  const codes = new Map<number, Map<number, string>>()
  for (const { message, listNumber, coupon } of held) {
    const own = codes.get(message) ?? new Map<number, string>()
    codes.set(message, own.set(listNumber, textOf.get(coupon) as string))
  }
  return codes
}

/** As many free codes of each list as are lacking. */
async function findFree(
  store: Store,
  lists: ReadonlyMap<number, StoredCouponList>,
  lacking: readonly number[],
): Promise<Map<number, FreeCoupons>> {
  const counts = new Map<number, number>()
  for (const number of lacking) counts.set(number, (counts.get(number) ?? 0) + 1)
  const free = new Map<number, FreeCoupons>()
  for (const list of lists.values()) {
    const count = counts.get(list.number)
    if (count !== undefined) free.set(list.number, await FreeCoupons.find(store, list, count))
  }
  return free
}

async function lockListsOf(store: Store, run: number, messages: readonly number[]): Promise<void> {
  const held = await findHeldCoupons(store, run, messages)
  await lockCouponListRows(store, [...new Set(held.map(({ listNumber }) => listNumber))])
}

async function countTransfers(
  store: Store,
  coupons: readonly ListedCoupon[],
  transferOf: (count: number) => CouponTransfer,
): Promise<void> {
  const counts = new Map<number, number>()
  for (const { listNumber } of coupons) counts.set(listNumber, (counts.get(listNumber) ?? 0) + 1)
  for (const [number, count] of counts) await countTransfer(store, number, transferOf(count))
}
