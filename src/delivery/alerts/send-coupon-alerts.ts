// Sends the alerts of coupon lists, in every process that delivers. An alert is decided in the transaction that remembers it, so it
// is decided once; who sends it moves it on before, so that it is sent once unless a process dies in between.
import { alertText } from '../../core/coupons/alert-text.ts'
import { decideAlerts } from '../../core/coupons/coupon-alerts.ts'
import { calendarDate } from '../../core/coupons/coupon-list.ts'
import { judgeFailure } from '../../core/delivery/failures.ts'
import { DAY_MS } from '../../core/time-zone.ts'
import type { Workspace } from '../../core/workspace.ts'
import { startRepeating } from '../../runtime/repeat.ts'
import {
  addAlert,
  claimAlert,
  listDueAlerts,
  removeAlert,
  type StoredAlert,
} from '../../store/coupons/coupon-alerts.ts'
import {
  findCouponListsByNumber,
  listAlertingLists,
  lockCouponListRows,
  saveSentAlerts,
  type StoredCouponList,
} from '../../store/coupons/coupon-lists.ts'
import type { SecretVault } from '../../store/secret-vault.ts'
import { findSender, type StoredSender } from '../../store/senders/senders.ts'
import type { Database } from '../../store/store.ts'
import { findWorkspace, listWorkspaces } from '../../store/workspaces/workspaces.ts'
import { toDkimSettings } from '../senders/dkim-settings.ts'
import { toSmtpSettings } from '../senders/smtp-settings.ts'
import { SmtpFailure } from '../smtp/smtp-failure.ts'
import { openSmtpSession } from '../smtp/smtp-session.ts'
import { toAlertMail } from './alert-mail.ts'

/** How often lists are looked at. */
const LOOK_EVERY_MS = 5_000
const LISTS_AT_ONCE = 500
const ALERTS_AT_ONCE = 100
/** When an alert is tried again that was not taken, or whose process died. */
const RETRIED_AFTER_MS = 5 * 60_000
/** Short, because the others wait meanwhile. */
const TIMEOUTS = { connectMs: 5_000, greetingMs: 5_000, socketMs: 10_000, exchangeMs: 15_000, quitMs: 1_000 }
/** An alert that is older is news no longer. */
const ALERT_AGE_MS_MAX = DAY_MS

export interface CouponAlertOptions {
  readonly database: Database
  readonly secretVault: SecretVault | undefined
  /** Milliseconds since the epoch. */
  readonly clock: () => number
  /** Called for a failure, and for an alert that was given up. */
  readonly onFailed: (what: string, error: unknown) => void
}

/** Looks at the lists again and again; the returned function stops it, and resolves when nothing is being sent. */
export function startCouponAlerts(options: CouponAlertOptions): () => Promise<void> {
  const look = async (isStopping: () => boolean) => {
    await decideDueAlerts(options, isStopping)
    await sendDueAlerts(options, isStopping)
  }
  const onFailed = (error: unknown) => options.onFailed('cannot send alerts of coupon lists; retrying', error)
  return startRepeating(look, { everyMs: LOOK_EVERY_MS, onFailed })
}

async function decideDueAlerts({ database, clock }: CouponAlertOptions, isStopping: () => boolean): Promise<void> {
  const sending = (await listWorkspaces(database)).filter(({ workspace }) => sendsAlerts(workspace))
  const workspaces = new Map(sending.map(({ workspace }) => [workspace.id, workspace]))
  if (workspaces.size === 0) return
  for (let after = 0; !isStopping();) {
    const numbers = await listAlertingLists(database, after, LISTS_AT_ONCE)
    for (const list of await findCouponListsByNumber(database, numbers)) {
      const workspace = workspaces.get(list.workspaceId)
      if (workspace && isDue(list, workspace, clock())) await decideFor(database, list.number, workspace, clock())
    }
    if (numbers.length < LISTS_AT_ONCE) return
    after = numbers.at(-1) ?? after
  }
}

/** A workspace that sends none now decides none either: what is due comes when it sends again. */
function sendsAlerts({ suspended, alertSenderId }: Workspace): boolean {
  return !suspended && alertSenderId !== null
}

function isDue(list: StoredCouponList, workspace: Workspace, now: number): boolean {
  const { next } = decideAlerts(list, list.sentAlerts, calendarDate(workspace.timezone, now))
  return next.shortage !== list.sentAlerts.shortage || next.expiryDay !== list.sentAlerts.expiryDay
}

async function decideFor(
  database: Database,
  number: number,
  { timezone }: Pick<Workspace, 'timezone'>,
  now: number,
): Promise<void> {
  await database.write(async (store) => {
    const list = (await lockCouponListRows(store, [number])).get(number)
    if (!list) return
    const { news: due, next } = decideAlerts(list, list.sentAlerts, calendarDate(timezone, now))
    for (const news of due) {
      await addAlert(store, { listNumber: number, recipients: list.emailAlertSubscribers, news, now })
    }
    await saveSentAlerts(store, number, next)
  })
}

/** After a failure of a sender's server, the sender's other alerts wait too, so that none of another sender waits for them. */
async function sendDueAlerts(options: CouponAlertOptions, isStopping: () => boolean): Promise<void> {
  const { database, clock } = options
  const waiting = new Set<string>()
  for (const alert of await listDueAlerts(database, clock(), ALERTS_AT_ONCE)) {
    if (isStopping()) return
    const until = clock() + RETRIED_AFTER_MS
    if (!(await database.write((store) => claimAlert(store, alert, until)))) continue
    const [list] = await findCouponListsByNumber(database, [alert.listNumber])
    const sender = list && (await findAlertSender(database, list.workspaceId))
    if (sender && waiting.has(sender.id)) continue
    const isOver = !list || !sender || (await trySending(options, { list, sender, alert }))
    if (isOver) await database.write((store) => removeAlert(store, alert.id))
    else waiting.add(sender.id)
  }
}

interface SentAlert {
  readonly list: StoredCouponList
  readonly sender: StoredSender
  readonly alert: StoredAlert
}

/** True if nothing is left to do. */
async function trySending(options: CouponAlertOptions, sent: SentAlert): Promise<boolean> {
  try {
    await sendAlert(options, sent)
    return true
  } catch (error) {
    const isLate = options.clock() - sent.alert.madeAt > ALERT_AGE_MS_MAX
    const isRefused = error instanceof SmtpFailure && judgeFailure(error.reply).to === 'failed'
    const isOver = isLate || isRefused
    const what = isOver ? 'an alert of a coupon list is given up' : 'an alert of a coupon list waits; retrying'
    options.onFailed(what, error)
    return isOver
  }
}

async function findAlertSender(database: Database, workspaceId: string): Promise<StoredSender | undefined> {
  const stored = await findWorkspace(database, workspaceId)
  if (!stored || !sendsAlerts(stored.workspace)) return undefined
  return findSender(database, workspaceId, stored.workspace.alertSenderId ?? '')
}

/** One connection for each alert: there are few. */
async function sendAlert(
  { secretVault, clock }: CouponAlertOptions,
  { sender, list, alert }: SentAlert,
): Promise<void> {
  const letter = { ...alertText(list, alert.news), to: alert.recipient, date: clock() }
  const mail = toAlertMail(sender, toDkimSettings(sender, secretVault), letter)
  const session = await openSmtpSession({ ...toSmtpSettings(sender, secretVault), timeouts: TIMEOUTS })
  try {
    await session.send(mail, { beforeEnd: async () => {} })
  } finally {
    await session.quit()
  }
}
