// Keeps names and labels of coupon lists unique in a workspace.
import { AppError } from '../../core/app-error.ts'
import type { Workspace } from '../../core/workspace.ts'
import { findTakenNames } from '../../store/coupons/coupon-lists.ts'
import type { Store } from '../../store/store.ts'

/** Throws AppError `conflict` that names every taken field. The caller must hold the lock of `lockCouponLists`. */
export async function refuseTakenNames(
  store: Store,
  workspace: Workspace,
  wanted: { readonly name?: string | undefined; readonly label?: string | undefined },
): Promise<void> {
  const taken = await findTakenNames(store, workspace.id, wanted)
  if (taken.length === 0) return
  const details = taken.map((field) => ({ field, problem: 'is already used by another coupon list in the workspace' }))
  throw new AppError(
    'conflict',
    `Another coupon list in the workspace already has this ${taken.join(' and this ')}.`,
    details,
  )
}
