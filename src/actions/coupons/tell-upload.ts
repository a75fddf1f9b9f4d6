// Alerts the subscribers of a coupon list of an upload, if the list wants that ("Alerts of coupon lists").
import type { AlertNews } from '../../core/coupons/coupon-alerts.ts'
import { addAlert } from '../../store/coupons/coupon-alerts.ts'
import { findCouponListsByNumber, type StoredCouponList } from '../../store/coupons/coupon-lists.ts'
import type { OpenUpload } from '../../store/coupons/coupon-uploads.ts'
import type { Store } from '../../store/store.ts'
import { findWorkspace } from '../../store/workspaces/workspaces.ts'

type UploadNews = Extract<AlertNews, { readonly kind: 'upload_succeeded' | 'upload_failed' }>

const BROKEN_OFF =
  'The upload was broken off: its client, or the server, ended before all codes had come. Send it again.'

export async function tellOfUpload(store: Store, list: StoredCouponList, news: UploadNews, now: number): Promise<void> {
  const { successAlert, failureAlert } = list.alertConditions
  if (!(news.kind === 'upload_succeeded' ? successAlert : failureAlert)) return
  const stored = await findWorkspace(store, list.workspaceId)
  if (stored === undefined || stored.workspace.alertSenderId === null) return
  await addAlert(store, { listNumber: list.number, recipients: list.emailAlertSubscribers, news, now })
}

/** For an upload that somebody else gives up than who began it. Nothing is told of one that was given up before. */
export async function tellOfBrokenUpload(store: Store, upload: OpenUpload, now: number): Promise<void> {
  if (upload.heartbeatAt === null) return
  const [list] = await findCouponListsByNumber(store, [upload.listNumber])
  if (list) await tellOfUpload(store, list, { kind: 'upload_failed', problem: BROKEN_OFF }, now)
}
