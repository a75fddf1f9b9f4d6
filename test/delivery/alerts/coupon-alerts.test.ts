// Alerts of coupon lists, sent by a real server to a mail sink: of uploads, of a shortage and of the expiry.
import { expect, it } from 'vitest'
import { localDay, toCalendarDate } from '../../../src/core/time-zone.ts'
import { couponsPath, LISTS_PATH } from '../../support/calls/coupon-calls.ts'
import { addSender } from '../../support/delivery/mailing.ts'
import { useMailingBench, type MailingWorkspace } from '../../support/delivery/mailing-server.ts'
import { headerOf, readMail } from '../../support/mail-sink/read-mail.ts'
import { until, type CallOptions } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const REPORTS = { tile: 'reports' } as const
const DAY_MS = 86_400_000
/** Longer than the pause between two looks at the lists. */
const QUIET_MS = 7_000
const RETRIED_MS = 6 * 60_000

interface ShownAlert {
  readonly to: string
  readonly subject: string | undefined
  readonly text: string | undefined
}

describeEachStore('Alerts of coupon lists', (kind) => {
  const bench = useMailingBench(kind)
  let made = 0

  /** A workspace with a sender of alerts. */
  const makeAlerting = async (isOn = true) => {
    const workspace = await bench.makeWorkspace()
    const sender = await addSender(workspace, bench.sink, { from_email: 'alerts@shop.example', from_name: 'Shop' })
    if (isOn) await workspace.change({ alertSenderId: sender })
    return workspace
  }
  /** A list with one subscriber of its own; its id and the subscriber. */
  const makeList = async (workspace: MailingWorkspace, fields: Readonly<Record<string, unknown>>) => {
    const [name, subscriber] = [`Summer ${++made}`, `subscriber-${kind}-${made}@shop.example`]
    const body = {
      name,
      label: `summer-${made}`,
      expires_at: '2199-12-31',
      created_by: 'anna',
      email_alert_subscribers: [subscriber],
      ...fields,
    }
    const { status, body: list } = await workspace.call<{ _id: string }>('POST', LISTS_PATH, { ...REPORTS, body })
    expect(status).toBe(201)
    const { _id: id } = list
    return { id, name, subscriber }
  }
  const add = (workspace: MailingWorkspace, list: { readonly id: string }, options: CallOptions) =>
    workspace.call('POST', couponsPath(list.id), { ...REPORTS, ...options })
  const csv = (text: string): CallOptions => ({ body: text, headers: { 'content-type': 'text/csv' } })
  const alertsTo = (subscriber: string): ShownAlert[] =>
    bench.sink.mails
      .list()
      .filter(({ to }) => to.includes(subscriber))
      .map(({ to, raw }) => {
        const mail = readMail(raw)
        return { to: to.join(), subject: headerOf(mail, 'subject'), text: mail.text?.replaceAll('\r\n', '\n') }
      })
  const untilAlerts = (subscriber: string, count: number) =>
    until(`${count} alerts`, () => alertsTo(subscriber).length >= count && alertsTo(subscriber))

  it('tell of uploads that added codes, and of those that failed with every fault', async () => {
    const workspace = await makeAlerting()
    const list = await makeList(workspace, { alert_conditions: { success_alert: true, failure_alert: true } })
    expect(await add(workspace, list, { body: { coupons: ['A', 'B', 'A'] } })).toMatchObject({ status: 200 })
    expect(await add(workspace, list, csv('code\nC\nx;y\nz|z\n'))).toMatchObject({ status: 400 })
    expect(await add(workspace, list, { body: { coupons: ['D', 'E\n\u0001'] } })).toMatchObject({ status: 400 })
    // Refused before an upload begins.
    expect(await add(workspace, list, { body: { coupons: ['F', 1] } })).toMatchObject({ status: 400 })
    const [added, ...others] = await untilAlerts(list.subscriber, 3)
    const failed = others.find(({ text }) => text?.includes('line 3'))
    const failedJson = others.find(({ text }) => text?.includes('coupons[1]: '))
    expect(added).toMatchObject({
      subject: `Coupon list ${list.name}: 2 codes added`,
      text: expect.stringContaining('1 code had been in the list already') as string,
    })
    expect(failed?.subject).toBe(`Coupon list ${list.name}: an upload failed`)
    expect(failedJson?.subject).toBe(failed?.subject)
    expect(alertsTo(list.subscriber)).toHaveLength(3)
    expect(failed?.text).toMatch(/No codes were added\. 2 lines are not valid codes.*\nline 3: .*\nline 4: /)
  })

  it('tell of a shortage once, and again after the list was refilled', async () => {
    const workspace = await makeAlerting()
    const conditions = { coupon_shortage_alert: { alert: true, threshold_count: 2 } }
    const list = await makeList(workspace, { alert_conditions: conditions })
    await add(workspace, list, { body: { coupons: ['A', 'B'] } })
    const [first] = await untilAlerts(list.subscriber, 1)
    expect(first?.subject).toBe(`Coupon list ${list.name} is running short: 2 codes left`)
    const { body } = await add(workspace, list, { body: { coupons: ['C', 'D'] } })
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
    expect(alertsTo(list.subscriber)).toHaveLength(1)
    const { upload } = body as { upload: string }
    const deleted = await workspace.call('DELETE', couponsPath(list.id), { ...REPORTS, body: { upload } })
    expect(deleted.status).toBe(200)
    expect(await untilAlerts(list.subscriber, 2)).toHaveLength(2)
  })

  it('tell of the expiry daily, from the day that the list names', async () => {
    const workspace = await makeAlerting()
    const expiresAt = toCalendarDate(localDay('UTC', Date.now() + 2 * DAY_MS))
    const conditions = { expiry_alert: { alert: true, days_before: 3 } }
    const list = await makeList(workspace, { expires_at: expiresAt, alert_conditions: conditions })
    await untilAlerts(list.subscriber, 1)
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
    expect(alertsTo(list.subscriber)).toHaveLength(1)
    // What falls due while the workspace is suspended comes afterwards.
    const senders = await workspace.call<{ data: { sender_id: string }[] }>('GET', '/core-services/v1/senders', REPORTS)
    const alertSenderId = senders.body.data[0]?.sender_id ?? null
    await workspace.change({ alertSenderId, suspended: true })
    bench.server.setClock(Date.now() + DAY_MS)
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
    expect(alertsTo(list.subscriber)).toHaveLength(1)
    await workspace.change({ alertSenderId })
    const [today, next] = await untilAlerts(list.subscriber, 2)
    bench.server.setClock(undefined)
    expect(today?.subject).toMatch(/expires in 2 days$/)
    expect(next?.subject).toMatch(/expires tomorrow$/)
    expect(next?.text).toContain(expiresAt)
  })

  it('come again after a server that did not take them, and not from a workspace without a sender of alerts', async () => {
    const [workspace, silent] = [await makeAlerting(), await makeAlerting(false)]
    const conditions = { success_alert: true }
    const deferred = `defer-once-450-4.2.1+${kind}@shop.example`
    const list = await makeList(workspace, { alert_conditions: conditions, email_alert_subscribers: [deferred] })
    const other = await makeList(silent, { alert_conditions: conditions })
    await add(silent, other, { body: { coupons: ['A'] } })
    await add(workspace, list, { body: { coupons: ['A'] } })
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
    expect(alertsTo(deferred)).toEqual([])
    bench.server.setClock(Date.now() + RETRIED_MS)
    expect(await untilAlerts(deferred, 1)).toHaveLength(1)
    bench.server.setClock(undefined)
    expect(alertsTo(other.subscriber)).toEqual([])
  })
})
