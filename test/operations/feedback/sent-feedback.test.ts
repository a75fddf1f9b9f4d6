// What comes back for a campaign that was really sent: the tokens are those of the mails that arrived, and the numbers those of Fetch
// Campaign Stats.
import { generateKeyPairSync } from 'node:crypto'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  finishMailing,
  startMailing,
  type FinishedMailing,
  type MailingWorkspace,
} from '../../support/delivery/mailing-server.ts'
import { addPeople } from '../../support/delivery/mailing.ts'
import { statsOf } from '../../support/delivery/mailing-stats.ts'
import { startMailSink, type MailSink } from '../../support/mail-sink/mail-sink.ts'
import { headerOf, readMail } from '../../support/mail-sink/read-mail.ts'
import { startServer, until, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { feedbackReport, postfixDsn } from './report-mails.ts'

const BASE = 'http://127.0.0.1:8080'
const BROWSER = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0' }
/** Longer than hits wait until they are judged. */
const JUDGED_MS = 20_000
const CONTENT = '<a href="https://shop.example/">Shop</a>'
const dkimKeys = generateKeyPairSync('rsa', { modulusLength: 2048 })

describeEachStore('what comes back for a campaign', (kind) => {
  let server: TestServer
  let sink: MailSink
  let mailing: MailingWorkspace
  let sent: FinishedMailing

  beforeAll(async () => {
    sink = await startMailSink()
    server = await startServer(kind, {
      PUBLIC_URL: BASE,
      SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      MACHINE_NETWORKS: '127.0.0.0/8=opens',
    })
    const change = (settings: object) => server.changeSettings(server.workspace, settings)
    const call: TestServer['call'] = (method, path, options) => server.call(method, path, options)
    mailing = { server, workspace: server.workspace, call, change }
    await addPeople(
      mailing,
      ['ann', 'bob', 'cleo', 'dan'].map((id) => ({ customer_id: id, email: `${id}@people.example` })),
    )
    const private_key = dkimKeys.privateKey.export({ type: 'pkcs8', format: 'pem' })
    const campaign = await startMailing(mailing, sink, {
      sender: {
        return_path_domain: 'bounces.shop.example',
        dkim: { domain: 'shop.example', selector: 's1', private_key },
      },
      template: { email_content: CONTENT },
    })
    sent = await finishMailing(mailing, campaign)
  })
  afterAll(async () => {
    await server.stop()
    await sink.stop()
  })

  const mailTo = (person: string) => {
    const mail = sink.mails.list().find(({ to }) => to.includes(`${person}@people.example`))
    if (!mail) throw new Error(`${person} got nothing`)
    return mail
  }
  const tokenIn = (person: string) => /^b\+([\w-]+)@/.exec(mailTo(person).from)?.[1] ?? ''
  const linkIn = (person: string, path: string) => {
    const [found = ''] = new RegExp(`${BASE}/${path}/[\\w-]+`).exec(readMail(mailTo(person).raw).html ?? '') ?? []
    return found.replace(BASE, server.url)
  }
  const report = (mail: string) =>
    server.call('POST', `/v1/bounces/${server.workspace.id}`, {
      as: null,
      body: mail,
      headers: { 'content-type': 'message/rfc822' },
    })
  const performance = async () => (await statsOf(mailing, sent.campaign, sent.run)).all.performance_stats

  it('begins with mails that name their message, are signed, and can be unsubscribed from', async () => {
    const { from, raw } = mailTo('ann')
    expect(from).toMatch(/^b\+[\w-]+@bounces\.shop\.example$/)
    const mail = readMail(raw)
    expect(headerOf(mail, 'message-id')).toBe(`<${tokenIn('ann')}@shop.example>`)
    expect(headerOf(mail, 'list-unsubscribe')).toMatch(/^<http:\/\/127\.0\.0\.1:8080\/u\/[\w-]+>$/)
    expect(headerOf(mail, 'list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
    const record = dkimKeys.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
    const resolver = () => Promise.resolve([[`v=DKIM1; k=rsa; p=${record}`]])
    const { results } = await dkimVerify(raw, { resolver })
    expect(results.map(({ status, signingDomain }) => [status.result, signingDomain])).toEqual([
      ['pass', 'shop.example'],
    ])
  })

  it('is counted: bounces and complaints, with their rates', async () => {
    const bounced = await report(postfixDsn(tokenIn('ann')))
    expect(bounced.body).toEqual({ counted: true, kind: 'bounce', reason: 'hard_bounce' })
    expect((await report(feedbackReport(tokenIn('bob')))).body).toEqual({ counted: true, kind: 'complaint' })
    expect(await performance()).toMatchObject({
      sent: 4,
      bounce: 1,
      hard_bounce: 1,
      soft_bounce: 0,
      complaint: 1,
      bounce_rate: 25,
      complaint_rate: 25,
      delivery_rate: 75,
    })
  })

  it('is counted: each hit of a machine as one, and people apart, whom segments see', async () => {
    await fetch(linkIn('cleo', 'o'), { headers: BROWSER })
    const headers = { ...BROWSER }
    const click = (person: string, method: string) =>
      fetch(linkIn(person, 'c'), { method, headers, redirect: 'manual' })
    const answers = await Promise.all([click('cleo', 'HEAD'), click('cleo', 'HEAD'), click('cleo', 'HEAD')])
    expect([...answers, await click('dan', 'GET')].map(({ status }) => status)).toEqual([302, 302, 302, 302])
    server.setClock(Date.now() + JUDGED_MS)
    const numbers = await until('the hits are counted', async () => {
      const counted = await performance()
      return counted.click === 1 && counted.machine_click > 0 && counted.machine_impression > 0 && counted
    })
    server.setClock(undefined)
    expect(numbers).toMatchObject({ click: 1, machine_click: 3, impression: 0, machine_impression: 1 })
    const where = { campaign: sent.campaign, did: 'click' }
    const { body } = await server.call('POST', '/core-services/v1/segments/count', { tile: 'reports', body: { where } })
    expect(body).toMatchObject({ users: 1, sample: ['dan'] })
  })
})
