// Finds the coupon list that a path names. An id of another workspace looks like an unknown one ("Unknown id").
import { AppError } from '../core/app-error.ts'
import type { Workspace } from '../core/workspace.ts'
import { findCouponList, type StoredCouponList } from '../store/coupons/coupon-lists.ts'
import type { Store } from '../store/store.ts'

/** Throws AppError `not_found` if the workspace has no coupon list with this id. */
export async function requireCouponList(store: Store, workspace: Workspace, id: string): Promise<StoredCouponList> {
  const list = await findCouponList(store, workspace.id, id)
  if (!list) throw new AppError('not_found', 'The workspace has no coupon list with this id.')
  return list
}
