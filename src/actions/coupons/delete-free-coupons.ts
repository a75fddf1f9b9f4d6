// Deletes codes of a list that nobody has, in the caller's transaction. The caller has locked the list (`lockCouponListRows`), so
// that no message takes one of them meanwhile.
import { countDeletedCoupons } from '../../store/coupons/coupon-lists.ts'
import { deleteCodes, type StoredCode } from '../../store/coupons/coupons.ts'
import { findHolders } from '../../store/coupons/held-coupons.ts'
import { removeReleased } from '../../store/coupons/released-coupons.ts'
import type { Store } from '../../store/store.ts'

/** A code that stays, because somebody has it. */
export interface KeptCode {
  readonly code: string
  readonly isIssued: boolean
}

export interface FreeDeletion {
  readonly listNumber: number
  /** Codes of the list. */
  readonly codes: readonly StoredCode[]
  readonly now: number
}

/** Deletes those that nobody has and takes them off the counts of the list. Returns the others. */
export async function deleteFreeCoupons(store: Store, { listNumber, codes, now }: FreeDeletion): Promise<KeptCode[]> {
  const holders = await findHolders(
    store,
    listNumber,
    codes.map(({ id }) => id),
  )
  const free = codes.map(({ id }) => id).filter((id) => !holders.has(id))
  await deleteCodes(store, free)
  await removeReleased(store, listNumber, free)
  if (free.length > 0) await countDeletedCoupons(store, listNumber, { count: free.length, now })
  return codes.flatMap(({ id, code }) => {
    const holder = holders.get(id)
    return holder ? [{ code, isIssued: holder.isIssued }] : []
  })
}
