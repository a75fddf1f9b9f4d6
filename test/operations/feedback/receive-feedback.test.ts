// Receive feedback: webhooks of mail services with real signatures, through real HTTP and the pipeline, on every store ("Bounces and
// complaints"). Only Amazon's hosts are replaced.
import { createHmac, createSign, generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEFAULT_SETTINGS } from '../../../src/core/workspace.ts'
import { SecretVault } from '../../../src/store/secret-vault.ts'
import { sealFeedbackKey } from '../../../src/store/workspaces/feedback-keys.ts'
import { saveSettings } from '../../../src/store/workspaces/workspaces.ts'
import { expectRefusal, startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { messageEventsOf, sendCampaign } from './sent-campaign.ts'

const SECRET_KEY = Buffer.alloc(32, 7)
const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:bounces'
const CERTIFICATE_URL = 'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a1b.pem'
const NO_CERTIFICATE_URL = CERTIFICATE_URL.replace('0a1b', 'ffff')
const CERTIFICATE_URLS = [CERTIFICATE_URL, NO_CERTIFICATE_URL]
const CONFIRM_URL = 'https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription'
const sendGridKeys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
const amazonKeys = generateKeyPairSync('rsa', { modulusLength: 2048 })

interface FeedbackAnswer {
  readonly events: number
  readonly counted: number
  readonly ignored: Readonly<Record<string, number>>
}

interface Sent {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

type Event = Readonly<Record<string, unknown>>

describeEachStore('receive_feedback', (kind) => {
  let server: TestServer
  let workspace: TestWorkspace
  const fetched: string[] = []
  const vault = new SecretVault(SECRET_KEY)

  beforeAll(async () => {
    const fetchText = async (url: string) => {
      fetched.push(url)
      if (url === NO_CERTIFICATE_URL) return '<html>Not found</html>'
      return amazonKeys.publicKey.export({ type: 'spki', format: 'pem' })
    }
    server = await startServer(kind, { SECRET_KEY: SECRET_KEY.toString('base64') }, { fetchText })
    const seal = (key: Parameters<typeof sealFeedbackKey>[2], text: string) =>
      sealFeedbackKey(vault, 'hooked', key, text)
    const feedbackKeys = {
      sendgrid_key: seal(
        'sendgrid_key',
        sendGridKeys.publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
      ),
      mailgun_key: seal('mailgun_key', 'mailgun-secret'),
      postmark_key: seal('postmark_key', 'post:mark'),
      ses_topic: seal('ses_topic', TOPIC),
    }
    workspace = await server.makeWorkspace({ feedbackKeys }, 'hooked')
  })
  afterAll(() => server.stop())

  const send = (service: string, { body, headers }: Sent, to = workspace.id) => {
    const type = { 'content-type': 'application/json' }
    const path = `/v1/feedback/${to}/${service}`
    return server.call<FeedbackAnswer>('POST', path, { as: null, body, headers: { ...type, ...headers } })
  }
  const suppressionOf = async (email: string) => {
    const path = `/core-services/v1/suppressions?email=${encodeURIComponent(email)}`
    const { body } = await server.call<{ data: { reason: string }[] }>('GET', path, { as: workspace, tile: 'reports' })
    return body.data[0]?.reason
  }

  function sendGrid(events: readonly Event[]): Sent {
    const body = JSON.stringify(events)
    const timestamp = '1777888800'
    const signature = createSign('sha256').update(timestamp).update(body).sign(sendGridKeys.privateKey, 'base64')
    const name = 'x-twilio-email-event-webhook'
    return { body, headers: { [`${name}-signature`]: signature, [`${name}-timestamp`]: timestamp } }
  }

  function mailgun(event: Event, at = Date.now()): Sent {
    const [timestamp, token] = [String(Math.floor(at / 1000)), 'random']
    const signature = createHmac('sha256', 'mailgun-secret')
      .update(timestamp + token)
      .digest('hex')
    return { body: JSON.stringify({ signature: { timestamp, token, signature }, 'event-data': event }), headers: {} }
  }

  function postmark(event: Event, login = 'post:mark'): Sent {
    const authorization = `Basic ${Buffer.from(login).toString('base64')}`
    return { body: JSON.stringify(event), headers: { authorization } }
  }

  function ses(event: Event, changed: Readonly<Record<string, string>> = {}, version: '1' | '2' = '2'): Sent {
    const message = {
      Type: 'Notification',
      MessageId: 'm-1',
      TopicArn: TOPIC,
      Message: JSON.stringify(event),
      Timestamp: '2026-05-04T10:00:00.000Z',
      SignatureVersion: version,
      SigningCertURL: CERTIFICATE_URL,
      ...changed,
    }
    const signed = Object.entries(message).filter(([name]) => !name.startsWith('Sign'))
    const texts = signed
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, value]) => `${name}\n${value}\n`)
    const sign = createSign(version === '1' ? 'sha1' : 'sha256').update(texts.join(''))
    const body = JSON.stringify({ ...message, Signature: sign.sign(amazonKeys.privateKey, 'base64') })
    return { body, headers: { 'content-type': 'text/plain; charset=UTF-8' } }
  }

  const sesMail = (token: string) => ({ mail: { headers: [{ name: 'Message-ID', value: `<${token}@example.com>` }] } })
  const mailgunMail = (token: string) => ({ message: { headers: { 'message-id': `${token}@example.com` } } })

  const cases: [string, string, (token: string) => Sent, fact: object | undefined, suppressed: string | undefined][] = [
    [
      'SendGrid bounce',
      'sendgrid',
      (token) =>
        sendGrid([
          { event: 'bounce', type: 'bounce', 'smtp-id': `<${token}@e.com>`, status: '5.1.1', reason: '550 5.1.1 gone' },
        ]),
      { kind: 'bounce', reason: 'hard_bounce' },
      'hard_bounce',
    ],
    [
      'SendGrid bounce without a code of its own',
      'sendgrid',
      (token) =>
        sendGrid([
          { event: 'bounce', 'smtp-id': `<${token}@e.com>`, status: '5.0.0', reason: '500 unknown recipient' },
        ]),
      { kind: 'bounce', reason: 'hard_bounce' },
      'hard_bounce',
    ],
    [
      'SendGrid drop of a bounced address',
      'sendgrid',
      (token) => sendGrid([{ event: 'dropped', 'smtp-id': `<${token}@e.com>`, reason: 'Bounced Address' }]),
      { kind: 'bounce', reason: 'hard_bounce' },
      'hard_bounce',
    ],
    [
      'SendGrid drop of a spammer',
      'sendgrid',
      (token) => sendGrid([{ event: 'dropped', 'smtp-id': `<${token}@e.com>`, reason: 'Spam Reporting Address' }]),
      { kind: 'bounce', reason: 'blocked' },
      undefined,
    ],
    [
      'SendGrid block',
      'sendgrid',
      (token) => sendGrid([{ event: 'bounce', type: 'blocked', 'smtp-id': `<${token}@e.com>`, reason: '550 spam' }]),
      { kind: 'bounce', reason: 'blocked' },
      undefined,
    ],
    [
      'SendGrid complaint',
      'sendgrid',
      (token) => sendGrid([{ event: 'spamreport', 'smtp-id': `<${token}@e.com>` }]),
      { kind: 'complaint' },
      'complaint',
    ],
    [
      'SendGrid delivery',
      'sendgrid',
      (token) => sendGrid([{ event: 'delivered', 'smtp-id': `<${token}@e.com>` }]),
      { kind: 'delivered' },
      undefined,
    ],
    [
      'Mailgun bounce',
      'mailgun',
      (token) =>
        mailgun({
          event: 'failed',
          severity: 'permanent',
          'delivery-status': { code: 550, message: '5.1.1 unknown' },
          ...mailgunMail(token),
        }),
      { kind: 'bounce', reason: 'hard_bounce' },
      'hard_bounce',
    ],
    [
      'Mailgun bounce without a code',
      'mailgun',
      (token) => mailgun({ event: 'failed', severity: 'permanent', reason: 'bounce', ...mailgunMail(token) }),
      { kind: 'bounce', reason: 'hard_bounce' },
      'hard_bounce',
    ],
    [
      'Mailgun, too old',
      'mailgun',
      (token) =>
        mailgun({
          event: 'failed',
          severity: 'permanent',
          reason: 'old',
          'delivery-status': { code: 602, message: 'Too old' },
          ...mailgunMail(token),
        }),
      { kind: 'bounce', reason: 'soft_bounce' },
      undefined,
    ],
    [
      'Mailgun bounce after the delivery',
      'mailgun',
      (token) =>
        mailgun({
          event: 'failed',
          severity: 'permanent',
          'delivery-status': { 'bounce-code': '5.2.2', message: 'full' },
          ...mailgunMail(token),
        }),
      { kind: 'bounce', reason: 'soft_bounce' },
      undefined,
    ],
    [
      'Mailgun complaint',
      'mailgun',
      (token) => mailgun({ event: 'complained', ...mailgunMail(token) }),
      { kind: 'complaint' },
      'complaint',
    ],
    [
      'Postmark bounce',
      'postmark',
      (token) =>
        postmark({ RecordType: 'Bounce', Type: 'HardBounce', Metadata: { tidings: token }, Details: '550 gone' }),
      { kind: 'bounce', reason: 'hard_bounce' },
      'hard_bounce',
    ],
    [
      'Postmark full mailbox',
      'postmark',
      (token) =>
        postmark({
          RecordType: 'Bounce',
          Type: 'SoftBounce',
          Content: `Message-ID: <${token}@e.com>\r\n`,
          Details: '552 5.2.2 full',
        }),
      { kind: 'bounce', reason: 'soft_bounce' },
      undefined,
    ],
    [
      'Postmark complaint',
      'postmark',
      (token) => postmark({ RecordType: 'SpamComplaint', Metadata: { tidings: token } }),
      { kind: 'complaint' },
      'complaint',
    ],
    [
      'SES bounce',
      'ses',
      (token) =>
        ses({
          notificationType: 'Bounce',
          bounce: {
            bounceType: 'Permanent',
            bouncedRecipients: [{ status: '5.1.1', diagnosticCode: 'smtp; 550 5.1.1 no' }],
          },
          ...sesMail(token),
        }),
      { kind: 'bounce', reason: 'hard_bounce' },
      'hard_bounce',
    ],
    [
      'SES complaint, signed as version 1',
      'ses',
      (token) =>
        ses({ eventType: 'Complaint', complaint: { complaintFeedbackType: 'abuse' }, ...sesMail(token) }, {}, '1'),
      { kind: 'complaint' },
      'complaint',
    ],
    [
      'SES delivery',
      'ses',
      (token) => ses({ notificationType: 'Delivery', ...sesMail(token) }),
      { kind: 'delivered' },
      undefined,
    ],
  ]
  it.each(cases)('counts once: %s', async (what, service, make, fact, suppressed) => {
    const email = `${what.replaceAll(/\W+/g, '-').toLowerCase()}@example.com`
    const { run, tokens } = await sendCampaign(server, workspace, [email])
    const sent = make(tokens[0] as string)
    for (let times = 1; times <= 2; times++) {
      const { status, body } = await send(service, sent)
      expect([status, body]).toEqual([200, { events: 1, counted: 1, ignored: {} }])
    }
    expect(await messageEventsOf(server, `customer-${run}-1`, 1)).toMatchObject([{ ...fact, messageId: `${run}-1` }])
    expect(await suppressionOf(email)).toBe(suppressed)
  })

  it('judges each event of a request', async () => {
    const { tokens } = await sendCampaign(server, workspace, ['batch-1@example.com', 'batch-2@example.com'])
    const [one, other] = tokens.map((token) => `<${token}@example.com>`)
    const events = [
      { event: 'bounce', 'smtp-id': one, status: '5.1.1', reason: '550' },
      { event: 'delivered', 'smtp-id': other },
      { event: 'deferred', 'smtp-id': other },
      { event: 'open', 'smtp-id': other },
      { event: 'bounce', 'smtp-id': '<somebody@else.example>', status: '5.1.1' },
    ]
    const { body } = await send('sendgrid', sendGrid(events))
    expect(body).toEqual({ events: 5, counted: 2, ignored: { delayed: 1, other_event: 1, no_valid_token: 1 } })
    expect(await suppressionOf('batch-1@example.com')).toBe('hard_bounce')
  })

  it('does not count a failure that is tried again', async () => {
    const { tokens } = await sendCampaign(server, workspace, ['later@example.com'])
    const [token = ''] = tokens
    const delayed = { events: 1, counted: 0, ignored: { delayed: 1 } }
    const temporary = mailgun({ event: 'failed', severity: 'temporary', ...mailgunMail(token) })
    expect((await send('mailgun', temporary)).body).toEqual(delayed)
    const transient = postmark({ RecordType: 'Bounce', Type: 'Transient', Metadata: { tidings: token } })
    expect((await send('postmark', transient)).body).toEqual(delayed)
    expect(await suppressionOf('later@example.com')).toBeUndefined()
  })

  it('takes a key as soon as it is set', async () => {
    const { id } = await server.makeWorkspace({}, 'rekeyed')
    for (const password of ['first', 'second']) {
      const postmark_key = sealFeedbackKey(vault, id, 'postmark_key', `post:${password}`)
      const settings = { ...DEFAULT_SETTINGS, name: id, feedbackKeys: { postmark_key } }
      await server.database.write((store) => saveSettings(store, id, settings))
      const answer = await send('postmark', postmark({ RecordType: 'Open' }, `post:${password}`), id)
      expect([answer.status, answer.body]).toEqual([200, { events: 1, counted: 0, ignored: { other_event: 1 } }])
    }
    expectRefusal(await send('postmark', postmark({}, 'post:first'), id), 401, 'unauthorized')
  })

  describe('is 401', () => {
    const signed = sendGrid([{ event: 'open' }])
    const wrong: [string, string, () => Sent][] = [
      ['SendGrid with a changed body', 'sendgrid', () => ({ ...signed, body: signed.body.replace('open', 'drop') })],
      [
        'SendGrid with a changed time',
        'sendgrid',
        () => ({ ...signed, headers: { ...signed.headers, 'x-twilio-email-event-webhook-timestamp': '1' } }),
      ],
      ['SendGrid without a signature', 'sendgrid', () => ({ ...signed, headers: {} })],
      [
        'Mailgun with a changed token',
        'mailgun',
        () => ({ ...mailgun({}), body: mailgun({}).body.replace('random', 'other') }),
      ],
      ['Mailgun, recorded a day ago', 'mailgun', () => mailgun({ event: 'delivered' }, Date.now() - 86_400_000)],
      ['Postmark with another password', 'postmark', () => postmark({}, 'post:office')],
      ['Postmark without a password', 'postmark', () => ({ body: '{}', headers: {} })],
      ['SES of another topic', 'ses', () => ses({}, { TopicArn: `${TOPIC}-2` })],
      [
        'SES with a certificate of another host',
        'ses',
        () =>
          ses(
            {},
            { SigningCertURL: 'https://sns.eu-west-1.amazonaws.com.evil.example/SimpleNotificationService-0a1b.pem' },
          ),
      ],
      [
        'SES with a certificate without TLS',
        'ses',
        () => ses({}, { SigningCertURL: CERTIFICATE_URL.replace('https', 'http') }),
      ],
      [
        'SES with another file as certificate',
        'ses',
        () => ses({}, { SigningCertURL: 'https://sns.eu-west-1.amazonaws.com/x.pem' }),
      ],
      ['SES with a certificate that is none', 'ses', () => ses({}, { SigningCertURL: NO_CERTIFICATE_URL })],
      ['SES with a changed message', 'ses', () => ({ ...ses({}), body: ses({}).body.replace('m-1', 'm-2') })],
      [
        'SES with a wrong version',
        'ses',
        () => ({ ...ses({}), body: ses({}).body.replace('"SignatureVersion":"2"', '"SignatureVersion":"3"') }),
      ],
    ]
    it.each(wrong)('%s', async (_what, service, make) => {
      const before = fetched.length
      expectRefusal(await send(service, make()), 401, 'unauthorized')
      expect(fetched.slice(before).every((url) => CERTIFICATE_URLS.includes(url))).toBe(true)
    })

    it.each(['ses', 'sendgrid', 'mailgun', 'postmark'])(
      '%s where no key is set, or no workspace is',
      async (service) => {
        for (const to of ['main', 'nobody']) expectRefusal(await send(service, postmark({}), to), 401, 'unauthorized')
      },
    )
  })

  it('confirms a subscription at an address of Amazon, and at no other', async () => {
    const confirmation = { Type: 'SubscriptionConfirmation', Token: 'x', SubscribeURL: CONFIRM_URL }
    const { body } = await send('ses', ses({}, confirmation))
    expect(body).toEqual({ events: 1, counted: 0, ignored: { other_event: 1 } })
    expect(fetched.at(-1)).toBe(CONFIRM_URL)
    const elsewhere = ses({}, { ...confirmation, SubscribeURL: 'https://evil.example/' })
    expectRefusal(await send('ses', elsewhere), 401, 'unauthorized')
    expect(fetched).not.toContain('https://evil.example/')
  })

  it('knows no other service, and refuses what is no JSON', async () => {
    expectRefusal(await send('smoke', postmark({})), 404, 'not_found')
    expectRefusal(await send('postmark', { ...postmark({}), body: '{' }), 400, 'invalid_request', ['body'])
    expectRefusal(await send('sendgrid', sendGrid([1 as unknown as Event])), 400, 'invalid_request', ['body'])
  })
})
