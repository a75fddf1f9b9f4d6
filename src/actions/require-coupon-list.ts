// The coupon list that a path names, or the refusal that says nothing of other workspaces ("Unknown id").
import { AppError } from '../core/app-error.ts'
import type { Workspace } from '../core/workspace.ts'
import { findCouponList, type StoredCouponList } from '../store/coupons/coupon-lists.ts'
import type { Store } from '../store/store.ts'

/** Throws AppError `not_found` for an id that the workspace does not have. */
export async function requireCouponList(store: Store, workspace: Workspace, id: string): Promise<StoredCouponList> {
  const list = await findCouponList(store, workspace.id, id)
  if (!list) throw new AppError('not_found', 'The workspace has no coupon list with this id.')
  return list
}
