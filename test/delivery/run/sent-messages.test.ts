// What happens around messages that were really sent: their attachments, their opens and clicks, and the page that shows them.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import PostalMime from 'postal-mime'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { CampaignBody } from '../../../src/operations/campaigns/campaign-body.ts'
import { readMail } from '../../support/mail-sink/read-mail.ts'
import { startMailSink, type MailSink } from '../../support/mail-sink/mail-sink.ts'
import { addMailing, addPeople, changeMailing, untilFinished, type Mailing } from '../../support/delivery/mailing.ts'
import { expectRefusal, startServer, until, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const BASE = 'http://127.0.0.1:8080'
const BROWSER = { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0) Chrome/126.0.0.0 Safari/537.36' }
/** Every byte, and not a multiple of three, which base64 pads. */
const FILE = Buffer.from(Array.from({ length: 100_001 }, (_, at) => (at * 7 + (at >> 8)) % 256))
const JUDGED_MS = 11_000

interface StatsBody {
  readonly data: Readonly<Record<string, readonly [{ readonly platforms: Readonly<Record<string, unknown>> }]>>
}

describeEachStore('messages that were sent', (kind) => {
  let server: TestServer
  let sink: MailSink
  let files: Server
  let asked = 0

  beforeAll(async () => {
    sink = await startMailSink()
    files = createServer((_, answer) => {
      asked++
      answer.writeHead(200, { 'content-type': 'application/pdf' }).end(FILE)
    })
    await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve))
    const environment = {
      PUBLIC_URL: BASE,
      SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      ATTACHMENT_HOSTS: '127.0.0.1',
    }
    server = await startServer(kind, environment)
    await addPeople(server, [
      { customer_id: 'ada', email: 'ada@example.com', first_name: 'Ada' },
      { customer_id: 'bob', email: 'bob@example.com', first_name: 'Bob' },
    ])
  })
  afterAll(async () => {
    await server.stop()
    await sink.stop()
    files.close()
  })

  /** Sends a campaign; returns its id, and the mail to a person. */
  const send = async (mailing: Mailing, to = 'ada@example.com') => {
    sink.mails.clear()
    const campaign = await addMailing(server, sink, mailing)
    await changeMailing(server, campaign, 'start')
    await untilFinished(server, campaign)
    const mail = sink.mails.list().find((one) => one.to.includes(to))
    if (!mail) throw new Error(`${to} got nothing`)
    return { campaign, mail, html: readMail(mail.raw).html ?? '' }
  }

  /** The first address under `/path/` in a mail, at the server. */
  const linkIn = (html: string, path: string) => {
    const [found] = new RegExp(`${BASE}/${path}/[\\w-]+`).exec(html) ?? []
    if (found === undefined) throw new Error(`no link under /${path}/ in ${html}`)
    return found.replace(BASE, server.url)
  }

  const numbersOf = async (campaign: string) => {
    const today = new Date().toISOString().slice(0, 10)
    const body = {
      request_id: 'r',
      start_date: today,
      end_date: today,
      attribution_type: 'CLICK_THROUGH',
      metric_type: 'TOTAL',
    }
    const path = '/core-services/v1/campaign-stats'
    const answer = await server.call<StatsBody>('POST', path, { tile: 'reports', body })
    return JSON.stringify(answer.body.data[campaign]?.[0].platforms['all_platforms'])
  }

  it('bring the attachments of their template byte for byte, fetched once at the start', async () => {
    const { port } = files.address() as AddressInfo
    const attachments = [{ name: 'Preise.pdf', url: `http://127.0.0.1:${port}/prices.pdf` }]
    asked = 0
    const { mail } = await send({ template: { attachments } })
    expect(sink.mails.count).toBe(2)
    const [attachment, ...others] = (await PostalMime.parse(mail.raw)).attachments
    expect(others).toEqual([])
    expect(attachment).toMatchObject({ filename: 'Preise.pdf', mimeType: 'application/pdf' })
    expect(Buffer.from(attachment?.content as ArrayBuffer).equals(FILE)).toBe(true)
    expect(asked).toBe(1)
  })

  it('are counted as opened and clicked ten seconds after their picture and their link were asked for', async () => {
    const { campaign, html } = await send({ template: { email_content: '<a href="https://shop.example/">Shop</a>' } })
    await fetch(linkIn(html, 'o'), { headers: BROWSER })
    const clicked = await fetch(linkIn(html, 'c'), { headers: BROWSER, redirect: 'manual' })
    expect(clicked.headers.get('location')).toBe('https://shop.example/')
    expect(await numbersOf(campaign)).toMatch(/"impression":0,.*"click":0|"click":0,.*"impression":0/)
    server.setClock(Date.now() + JUDGED_MS)
    await until('both are counted', async () => {
      const numbers = await numbersOf(campaign)
      return /"impression":1\b/.test(numbers) && /"click":1\b/.test(numbers)
    })
    server.setClock(undefined)
  })

  it('are shown in a browser while they are under way, and not after their template was deleted', async () => {
    await addPeople(server, [{ customer_id: 'slow', email: 'slow-250@example.com' }])
    sink.mails.clear()
    const audience = { include: [{ attribute: 'email', operator: 'is', value: 'slow-250@example.com' }] }
    const template = { email_content: '<a href="{{ view_url }}">View</a>' }
    const campaign = await addMailing(server, sink, { template, delivery: { audience } })
    await changeMailing(server, campaign, 'start')
    const mail = await until('the mail came', () => sink.mails.list()[0])
    const link = linkIn(readMail(mail.raw).html ?? '', 'v')
    expect((await fetch(link)).status).toBe(200)
    await untilFinished(server, campaign)
    expect((await fetch(link)).status).toBe(200)
    const path = `/core-services/v1/campaigns/${campaign}`
    const { body } = await server.call<CampaignBody>('GET', path, { tile: 'reports' })
    const id = body.delivery?.variations[0]?.external_template_id
    expect((await server.call('DELETE', `/v1.0/custom-templates/email/${id}`)).status).toBe(204)
    expect((await fetch(link)).status).toBe(404)
    const preview = await server.call('POST', `${path}/preview`, { tile: 'reports', body: { customer_id: 'slow' } })
    expectRefusal(preview, 400, 'invalid_request', ['delivery.variations'])
    await server.call('DELETE', `/v1/customer/${server.workspace.id}?customer_id=slow`)
  })

  it('are shown in a browser as they were sent, without a picture that counts, and without scripts', async () => {
    const email_content =
      '<p>{{ first_name }}</p><a href="https://shop.example/">Shop</a><a href="{{ view_url }}">View</a>'
    const { html } = await send({ template: { email_content } })
    const page = await fetch(linkIn(html, 'v'))
    expect(page.status).toBe(200)
    const shown = await page.text()
    expect(shown).toContain('<p>Ada</p>')
    expect(linkIn(shown, 'c')).toBe(linkIn(html, 'c'))
    expect(shown).not.toContain('<img')
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'; img-src http: https: data:")
    expect(policy).not.toContain('script')
    await server.call('DELETE', `/v1/customer/${server.workspace.id}?customer_id=ada`)
    expect((await fetch(linkIn(html, 'v'))).status).toBe(404)
  })
})
