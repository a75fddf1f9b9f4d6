// Report bounce, through real HTTP and the pipeline, on every store ("Bounces and complaints").
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeToken } from '../../../src/actions/links/link-token.ts'
import { findWorkspace } from '../../../src/store/workspaces/workspaces.ts'
import { preferenceCalls } from '../../support/calls/preference-calls.ts'
import { expectRefusal, startServer, until, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import {
  autoReply,
  eximDsn,
  exchangeDsn,
  feedbackReport,
  globalDsn,
  gmailDsn,
  postfixDsn,
  refusedContentDsn,
  statusDsn,
} from './report-mails.ts'
import { bounceToken, messageEventsOf, sendCampaign, SENT_AT } from './sent-campaign.ts'

interface BounceAnswer {
  readonly counted: boolean
  readonly kind?: string
  readonly reason?: string
}

interface SuppressionBody {
  readonly email: string | null
  readonly reason: string
  readonly evidence: string
}

describeEachStore('report_bounce', (kind) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer(kind, { PII_KEY: randomBytes(32).toString('base64') })
  })
  afterAll(() => server.stop())

  const send = (mail: string | Uint8Array, to: TestWorkspace = server.workspace, as: TestWorkspace | null = null) => {
    const headers = { 'content-type': 'message/rfc822' }
    return server.call<BounceAnswer>('POST', `/v1/bounces/${to.id}`, { as, body: mail, headers })
  }
  const suppressionOf = async (email: string, as: TestWorkspace = server.workspace) => {
    const path = `/core-services/v1/suppressions?email=${encodeURIComponent(email)}`
    const { body } = await server.call<{ data: SuppressionBody[] }>('GET', path, { as, tile: 'reports' })
    return body.data[0]
  }

  describe('a final failure', () => {
    const cases: [string, (token: string) => string, reason: string, suppressed: string | undefined][] = [
      ['of Postfix, unknown user', postfixDsn, 'hard_bounce', 'hard_bounce'],
      ['of Exim, bare 550 at RCPT', eximDsn, 'hard_bounce', 'hard_bounce'],
      ['of Exchange, named by the returned headers', exchangeDsn, 'hard_bounce', 'hard_bounce'],
      ['of Gmail, mailbox full', gmailDsn, 'soft_bounce', undefined],
      ['in UTF-8, refused by policy', globalDsn, 'blocked', undefined],
      ['after DATA, without an enhanced code', refusedContentDsn, 'soft_bounce', undefined],
      [
        '4.4.1, given up',
        (token) => postfixDsn(token, '4.4.1', 'x-postfix; connection timed out'),
        'soft_bounce',
        undefined,
      ],
      ['5.7.26', (token) => postfixDsn(token, '5.7.26', 'smtp; 550 5.7.26 Unauthenticated'), 'blocked', undefined],
      [
        '5.0.0 with a code in words',
        (token) => postfixDsn(token, '5.0.0', 'smtp; 550 5.1.1 gone'),
        'hard_bounce',
        'hard_bounce',
      ],
      ['without any code', (token) => statusDsn(token, 'Action: failed'), 'soft_bounce', undefined],
    ]
    it.each(cases)('%s', async (what, mailOf, reason, suppressed) => {
      const email = `${what.replaceAll(/\W+/g, '-')}@example.com`
      const { run, tokens } = await sendCampaign(server, server.workspace, [email])
      const mail = mailOf(tokens[0] as string)
      const first = await send(mail)
      expect([first.status, first.body]).toEqual([200, { counted: true, kind: 'bounce', reason }])
      expect((await send(mail)).body).toEqual(first.body)
      // A fact that comes later shows that the repeat was applied, too.
      const { tokens: later } = await sendCampaign(server, server.workspace, [`after-${email}`])
      await send(postfixDsn(later[0] as string))
      await messageEventsOf(server, `customer-${run + 1}-1`, 1)
      expect(await messageEventsOf(server, `customer-${run}-1`, 1)).toMatchObject([
        { kind: 'bounce', reason, time: SENT_AT, platform: 'EMAIL', messageId: `${run}-1` },
      ])
      expect((await suppressionOf(email))?.reason).toBe(suppressed)
    })

    it('is explained in words', async () => {
      const { tokens } = await sendCampaign(server, server.workspace, ['words@example.com'])
      await send(postfixDsn(tokens[0] as string))
      expect((await suppressionOf('words@example.com'))?.evidence).toBe(
        '5.1.1 (Bad destination mailbox address): 550 5.1.1 <a@b.example>: User unknown',
      )
    })

    it('for now suppresses the address when it is the fifth run in a row', async () => {
      const email = 'full@example.com'
      for (let times = 1; times <= 5; times++) {
        expect(await suppressionOf(email)).toBeUndefined()
        const { tokens } = await sendCampaign(server, server.workspace, [email])
        for (let repeats = 1; repeats <= 2; repeats++) await send(gmailDsn(tokens[0] as string))
      }
      expect((await suppressionOf(email))?.reason).toBe('soft_bounce')
    })
  })

  describe('a complaint', () => {
    it('suppresses the address, opts the person out with a proof, and is a fact', async () => {
      const { run, tokens } = await sendCampaign(server, server.workspace, ['spam@example.com'])
      const customerId = `customer-${run}-1`
      const calls = preferenceCalls(server, server.workspace)
      for (let times = 1; times <= 2; times++) {
        expect((await send(feedbackReport(tokens[0] as string))).body).toEqual({ counted: true, kind: 'complaint' })
      }
      expect((await suppressionOf('spam@example.com'))?.reason).toBe('complaint')
      expect((await calls.readOne(customerId)).opt_in_status).toBe('OPTED_OUT')
      const path = `/v1.0/opt-in-management/user-preferences/history?customer_id=${customerId}`
      const { body } = await server.call<{ data: { by: string }[] }>('GET', path)
      expect(body.data.map(({ by }) => by)).toEqual([`complaint:${run}-1`])
      expect(await messageEventsOf(server, customerId, 1)).toMatchObject([{ kind: 'complaint', time: SENT_AT }])
    })

    it('that is none changes nothing', async () => {
      const { tokens } = await sendCampaign(server, server.workspace, ['fine@example.com'])
      const { body } = await send(feedbackReport(tokens[0] as string, 'not-spam'))
      expect(body).toEqual({ counted: false, reason: 'not_spam' })
      expect(await suppressionOf('fine@example.com')).toBeUndefined()
    })
  })

  describe('ignored with a reason is', () => {
    const cases: [string, (token: string, key: string, run: number) => string | Uint8Array, reason: string][] = [
      ['a delay', (token) => statusDsn(token, 'Action: delayed', 'Status: 4.4.1'), 'delayed'],
      ['a relay', (token) => statusDsn(token, 'Action: relayed', 'Status: 2.0.0'), 'delivered'],
      ['a delivery', (token) => statusDsn(token, 'Action: delivered', 'Status: 2.0.0'), 'delivered'],
      ['an auto-reply', autoReply, 'auto_reply'],
      ['a usual mail', (token) => autoReply(token).replace('Auto-Submitted: auto-replied\r\n', ''), 'not_a_report'],
      ['a report without a recipient', (token) => statusDsn(token, 'X-Note: none'), 'not_a_report'],
      ['an opinion of another type', (token) => feedbackReport(token, 'virus'), 'unknown_feedback_type'],
      ['a mail without a token', () => postfixDsn('news'), 'no_valid_token'],
      ['a forged token', (_, __, run) => postfixDsn(bounceToken('x'.repeat(43), run, 1)), 'no_valid_token'],
      ['a token with a changed letter', (token) => postfixDsn(`B${token.slice(1)}`), 'no_valid_token'],
      [
        'a token for another purpose',
        (_, key, run) => postfixDsn(makeToken(key, { purpose: 'unsubscribe', run, message: 1, link: 0 })),
        'no_valid_token',
      ],
      ['a message that does not exist', (_, key, run) => postfixDsn(bounceToken(key, run, 99)), 'unknown_message'],
      ['a test', (_, key, run) => postfixDsn(bounceToken(key, run, 0)), 'test_message'],
      ['nothing', () => '', 'not_a_report'],
      ['noise', () => Buffer.alloc(1000, 0xff), 'not_a_report'],
      ['too many headers', () => 'x: y\r\n'.repeat(100_000), 'unreadable'],
    ]
    it.each(cases)('%s', async (what, mailOf, reason) => {
      const email = `${what.replaceAll(' ', '-')}@example.com`
      const { run, tokens } = await sendCampaign(server, server.workspace, [email])
      const key = (await findWorkspace(server.database, server.workspace.id))?.workspace.linkKey as string
      const { status, body } = await send(mailOf(tokens[0] as string, key, run))
      expect([status, body]).toEqual([200, { counted: false, reason }])
      expect(await suppressionOf(email)).toBeUndefined()
    })
  })

  it('counts for a message that was tried and is deferred, and not for one that is queued', async () => {
    const { run, tokens } = await sendCampaign(server, server.workspace, ['queued@example.com', 'deferred@example.com'])
    const change = (number: number, changes: object) =>
      server.database.write(({ query }) =>
        query.updateTable('messages').set(changes).where('run', '=', run).where('number', '=', number).execute(),
      )
    await change(1, { state: 'queued', sent_at: null, first_tried_at: null })
    await change(2, { state: 'deferred', sent_at: null })
    expect((await send(postfixDsn(tokens[0] as string))).body).toEqual({ counted: false, reason: 'not_sent' })
    expect(await suppressionOf('queued@example.com')).toBeUndefined()
    expect((await send(postfixDsn(tokens[1] as string))).body).toMatchObject({ counted: true, reason: 'hard_bounce' })
    expect(await messageEventsOf(server, `customer-${run}-2`, 1)).toMatchObject([{ kind: 'bounce', time: SENT_AT }])
  })

  it('of an erased person is of an unknown message, and creates nobody', async () => {
    const workspace = await server.makeWorkspace()
    const { run, tokens } = await sendCampaign(server, workspace, ['gone@example.com', 'here@example.com'])
    const erased = await until('the person is erased', async () => {
      const path = `/v1/customer/${workspace.id}?customer_id=customer-${run}-1`
      const answer = await server.call('DELETE', path, { as: workspace })
      return answer.status !== 503 && answer
    })
    expect(erased.status).toBe(200)
    for (const mail of [postfixDsn(tokens[0] as string), feedbackReport(tokens[0] as string)]) {
      expect((await send(mail, workspace)).body).toEqual({ counted: false, reason: 'unknown_message' })
    }
    // A fact that comes later shows that everything before it was applied.
    expect((await send(postfixDsn(tokens[1] as string), workspace)).body).toMatchObject({ counted: true })
    await messageEventsOf(server, `customer-${run}-2`, 1)
    const { query } = server.database
    const users = query.selectFrom('users').select('customer_id').where('workspace_id', '=', workspace.id)
    expect(await users.execute()).toEqual([{ customer_id: `customer-${run}-2` }])
    const suppressed = query.selectFrom('suppressions').select('email_key').where('workspace_id', '=', workspace.id)
    expect(await suppressed.execute()).toEqual([{ email_key: 'here@example.com' }])
  })

  it('does not count in another workspace', async () => {
    const { tokens } = await sendCampaign(server, server.workspace, ['mine@example.com'])
    const { body } = await send(postfixDsn(tokens[0] as string), await server.makeWorkspace())
    expect(body).toEqual({ counted: false, reason: 'no_valid_token' })
  })

  it('needs no key, but one that is sent must be right', async () => {
    const { workspace } = server
    expect((await send(autoReply('x'), workspace, workspace)).status).toBe(200)
    expectRefusal(await send('', workspace, { ...workspace, dataKey: 'wrong' }), 401, 'unauthorized')
    const other = await server.makeWorkspace()
    expectRefusal(await send('', workspace, other), 403, 'forbidden', ['path.Workspace_ID'])
  })

  it('refuses an unknown workspace, a suspended one, another media type, and a mail of more than 1 MiB', async () => {
    const { workspace } = server
    expectRefusal(await send('', { ...workspace, id: 'nobody' }), 401, 'unauthorized')
    const suspended = await server.makeWorkspace({ suspended: true })
    expectRefusal(await send('', suspended), 403, 'forbidden')
    const options = { as: null, body: '', headers: { 'content-type': 'text/plain' } }
    expectRefusal(await server.call('POST', '/v1/bounces/main', options), 415, 'unsupported_media_type')
    expectRefusal(await send(Buffer.alloc(1024 * 1024 + 1)), 413, 'payload_too_large')
  })

  it('shows the address of a bounce where emails are encrypted', async () => {
    const workspace = await server.makeWorkspace({ emailProtection: 'encrypted' })
    const { tokens } = await sendCampaign(server, workspace, ['Sealed@example.com'])
    expect((await send(postfixDsn(tokens[0] as string), workspace)).body.counted).toBe(true)
    expect(await suppressionOf('sealed@example.com', workspace)).toMatchObject({ email: 'Sealed@example.com' })
  })
})
