// Previews and test messages of campaigns through real HTTP and SMTP, on every store.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { RenderJob } from '../../../src/delivery/content/render-job.ts'
import { Renderer } from '../../../src/delivery/content/renderer.ts'
import { openPreviewed } from '../../../src/delivery/preview/previewed-campaign.ts'
import { sendTests } from '../../../src/delivery/preview/send-tests.ts'
import { findWorkspace } from '../../../src/store/workspaces/workspaces.ts'
import { CAMPAIGNS_PATH } from '../../support/calls/campaign-calls.ts'
import { addMailing, addPeople, readRun } from '../../support/delivery/mailing.ts'
import { readMail } from '../../support/mail-sink/read-mail.ts'
import { startMailSink, type MailSink } from '../../support/mail-sink/mail-sink.ts'
import { expectRefusal, startServer, until, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const TEMPLATE = {
  subject: 'Hi {{ first_name }}',
  email_content: '<p>{{ first_name }}</p><a href="https://shop.example/">Shop</a>{{Coupons.CouponListName[Spring]}}',
}
const REPORTS = { tile: 'reports' } as const

describeEachStore('Preview campaign (preview_campaign) and Send test messages (test_campaign)', (kind) => {
  let server: TestServer
  let sink: MailSink
  let campaign: string

  beforeAll(async () => {
    sink = await startMailSink()
    server = await startServer(kind, { PUBLIC_URL: 'https://links.shop.example' }, { withDelivery: false })
    await addPeople(server, [
      { customer_id: 'ada', email: 'ada@example.com', first_name: 'Ada' },
      { customer_id: 'out', email: 'out@example.com', first_name: 'Out', opt_in_status: 'OPTED_OUT' },
      { customer_id: 'ghost', first_name: 'Ghost' },
      { customer_id: 'nameless', email: 'nameless@example.com' },
    ])
    const audience = { include: [{ created: { after: '1971-01-01T00:00:00Z' } }] }
    campaign = await addMailing(server, sink, { template: TEMPLATE, delivery: { audience } })
  })
  beforeEach(() => sink.mails.clear())
  afterAll(async () => {
    await server.stop()
    await sink.stop()
  })

  const preview = (body: object, id = campaign) =>
    server.call<Record<string, unknown>>('POST', `${CAMPAIGNS_PATH}/${id}/preview`, { ...REPORTS, body })
  const test = (body: object, id = campaign) =>
    server.call<{ data: readonly object[] }>('POST', `${CAMPAIGNS_PATH}/${id}/test`, { ...REPORTS, body })

  it('shows the message of a person in a draft, with plain links and without a coupon', async () => {
    const { status, body } = await preview({ customer_id: 'ada' })
    expect(status).toBe(200)
    expect(body).toMatchObject({ subject: 'Hi Ada', would_send: true })
    expect(body['html']).toContain('<p>Ada</p><a href="https://shop.example/">Shop</a>TEST-CODE')
    expect(body['text']).toContain('TEST-CODE')
    expect(body['headers']).toMatchObject({
      From: 'The shop <news@shop.example>',
      To: 'ada@example.com',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    })
    expect(body).not.toHaveProperty('reason')
  })

  it.each([
    ['out', 'user_removed_due_to_opt_out'],
    ['ghost', 'user_removed_due_to_missing_address'],
    ['nameless', 'user_removed_due_to_personalization_failed'],
  ])('says why %s would be sent nothing: %s', async (customer_id, reason) => {
    expect((await preview({ customer_id })).body).toMatchObject({ would_send: false, reason })
  })

  it('says that a person is not in the audience', async () => {
    const audience = { include: [{ attribute: 'first_name', operator: 'is', value: 'Bob' }] }
    const other = await addMailing(server, sink, { delivery: { audience } })
    expect((await preview({ customer_id: 'ada' }, other)).body).toMatchObject({ reason: 'not_in_audience' })
  })

  it('refuses unknown users, variations and campaigns', async () => {
    expectRefusal(await preview({ customer_id: 'nobody' }), 404, 'not_found')
    expectRefusal(await preview({ customer_id: 'ada' }, 'unknown'), 404, 'not_found')
    expectRefusal(await preview({ customer_id: 'ada', variation: 'Z' }), 400, 'invalid_request', ['variation'])
  })

  it('sends a test to each address at once, marked, in no statistics and without a person', async () => {
    const to = ['one@example.com', 'reject-550-5.1.1@example.com', 'two@example.com']
    const { status, body } = await test({ to, customer_id: 'ada' })
    expect(status).toBe(200)
    expect(body.data).toMatchObject([
      { to: to[0], result: 'sent', reply: expect.stringMatching(/^250 /) as string },
      { to: to[1], result: 'failed', reply: expect.stringMatching(/^550 /) as string },
      { to: to[2], result: 'sent' },
    ])
    const mails = sink.mails.list()
    expect(mails.map((mail) => mail.to)).toEqual([[to[0]], [to[2]]])
    const { headers, html } = readMail((mails[0] as (typeof mails)[number]).raw)
    expect(headers.find(([name]) => name === 'Subject')).toEqual(['Subject', '[Test] Hi Ada'])
    expect(html).toContain('<p>Ada</p><a href="https://shop.example/">Shop</a>TEST-CODE')
    expect(html).not.toContain('<img')
    expect(await readRun(server, campaign)).toBeUndefined()
  })

  it('says why a test was not sent: a value that is missing, or a server that takes no connection', async () => {
    const missing = await test({ to: ['one@example.com'] })
    expect(missing.body.data).toEqual([{ to: 'one@example.com', result: 'failed', reply: 'No value for first_name.' }])
    const smtp = { host: '127.0.0.1', port: 1, security: 'none' }
    const closed = await addMailing(server, sink, { sender: { smtp } })
    expect((await test({ to: ['one@example.com'] }, closed)).body.data).toMatchObject([{ result: 'failed' }])
    expect(sink.mails.count).toBe(0)
  })

  it('ends its connection if a message cannot be made for want of a thread', async () => {
    const ended = new (class extends Renderer {
      override async render(job: RenderJob) {
        if (sink.mails.count > 0) await this.close()
        return super.render(job)
      }
    })()
    const { workspace: found } = (await findWorkspace(server.database, server.workspace.id)) ?? {}
    if (!found) throw new Error('the workspace is missing')
    const key = { workspaceId: found.id, campaignId: await addMailing(server, sink) }
    const previewed = await openPreviewed(server.database, key)
    const surroundings = {
      workspace: found,
      secretVault: undefined,
      publicUrl: 'https://l.example',
      attachmentHosts: [],
    }
    const options = { ...surroundings, to: ['a@b.example', 'c@b.example'], person: undefined, now: 1, renderer: ended }
    await expect(sendTests(server.database, previewed, options)).rejects.toThrow('closed')
    expect(sink.mails.count).toBe(1)
    await until('the connection has ended', () => sink.connections.current === 0, 5_000)
  })

  it('refuses more than ten addresses, and what is none', async () => {
    const eleven = Array.from({ length: 11 }, (_, index) => `p${index}@example.com`)
    expectRefusal(await test({ to: eleven }), 400, 'invalid_request', ['to'])
    expectRefusal(await test({ to: ['a@example.com', 'b'] }), 400, 'invalid_request', ['to[1]'])
    expectRefusal(await test({ to: [] }), 400, 'invalid_request', ['to'])
  })
})
