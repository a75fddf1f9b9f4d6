// A run that is under way, with something in every table of delivery: people whose messages were sent, failed and wait, a file, links,
// hits and coupons that are held and were given back.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { couponCallsOf, couponsPath } from '../calls/coupon-calls.ts'
import { startMailSink } from '../mail-sink/mail-sink.ts'
import { readMail } from '../mail-sink/read-mail.ts'
import { until, type TestServer } from '../server.ts'
import { addMailing, addPeople, changeMailing, readMessages, readRun } from './mailing.ts'

/** What the server needs in its environment. */
export const MAILING_ENVIRONMENT = { PUBLIC_URL: 'http://127.0.0.1:8080', ATTACHMENT_HOSTS: '127.0.0.1' }

const REPORTS = { tile: 'reports' } as const
const BROWSER = { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0) Chrome/126.0.0.0 Safari/537.36' }
/** Longer than a hit waits for its judgement. */
const JUDGED_MS = 11_000

/** Paths of operations whose answers show the run. */
export async function fillMailing(server: TestServer): Promise<string[]> {
  const sink = await startMailSink()
  const files = createServer((_, answer) => answer.end('prices')).listen(0, '127.0.0.1')
  await once(files, 'listening')
  const url = `http://127.0.0.1:${(files.address() as AddressInfo).port}/prices.txt`
  await addPeople(
    server,
    ['sent', 'reject-552-5.2.2', 'defer-450-4.2.1'].map((name) => ({
      customer_id: name,
      email: `${name}@mailing.example`,
      mailing: 'yes',
    })),
  )
  await server.call('POST', '/core-services/v1/suppressions', { ...REPORTS, body: { email: 'never@mailing.example' } })
  const where = { attribute: 'mailing', operator: 'is', value: 'yes' }
  const made = await server.call<{ segment_id: string }>('POST', '/core-services/v1/segments', {
    ...REPORTS,
    body: { name: 'Mailing', where, created_by: 'anna' },
  })
  const list = await couponCallsOf(server).make({ name: 'Mailing', label: 'mailing' })
  await couponCallsOf(server).addJson(list, ['ONE', 'TWO', 'THREE', 'FOUR'])
  const campaign = await addMailing(server, sink, {
    sender: { limits: { connections: 1, per_second: 10_000 } },
    template: {
      email_content: '<a href="https://shop.example/">Shop</a> {{Coupons.CouponListName[mailing]}}',
      attachments: [{ name: 'Prices.txt', url }],
    },
    delivery: { audience: { include: [{ segment: made.body.segment_id }] } },
  })
  await changeMailing(server, campaign, 'start')
  const run = await until('every message was tried', async () => {
    const shown = await readRun(server, campaign)
    return shown?.states['sent'] === 1 && shown.states['deferred'] === 1 && shown.states['failed'] === 1 && shown
  })
  expect(run.audience).toBe(3)
  const [picture] = /[\w./:-]+\/o\/[\w-]+/.exec(readMail(sink.mails.list()[0]?.raw as Buffer).html ?? '') ?? []
  expect((await fetch(server.url + new URL(picture as string).pathname, { headers: BROWSER })).status).toBe(200)
  // Judged, so that nothing is told of it later.
  server.setClock(Date.now() + JUDGED_MS)
  await until('the picture is counted', async () => {
    const messages = await readMessages(server, campaign)
    return messages.some(({ impressions }) => impressions === 1)
  })
  server.setClock(undefined)
  await sink.stop()
  files.close()
  const root = '/core-services/v1'
  const own = [`${root}/campaigns/${campaign}`, couponsPath(list)]
  return [...own, ...['segments', 'senders', 'suppressions'].map((noun) => `${root}/${noun}`)]
}
