// The check of a sender against a real SMTP server and a real DNS server, both on loopback.
import { getServers, setServers } from 'node:dns'
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { dkimPublicKeyOf } from '../../../src/actions/senders/dkim-private-key.ts'
import { makeDkimKey, SENDER, senderCallsOf } from '../../support/calls/sender-calls.ts'
import { startDnsServer, type DnsServer } from '../../support/dns/dns-server.ts'
import { startMailSink, type MailSink } from '../../support/mail-sink/mail-sink.ts'
import { findFreePorts } from '../../support/free-ports.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const CREDENTIALS = { username: 'news', password: 'open sesame' }
const DOMAIN = 'shop.example.com'
const SPF = 'v=spf1 include:_spf.example.net ~all'
const DMARC = 'v=DMARC1; p=reject'

describeEachStore('The check of a sender (check_sender)', (kind) => {
  let server: TestServer
  let calls: ReturnType<typeof senderCallsOf>
  let sink: MailSink
  let dns: DnsServer
  const before = getServers()

  beforeAll(async () => {
    server = await startServer(kind, { SECRET_KEY: randomBytes(32).toString('base64') })
    calls = senderCallsOf(server)
    sink = await startMailSink({ credentials: CREDENTIALS })
    dns = await startDnsServer()
    setServers([dns.address])
  })
  beforeEach(() => dns.texts.clear())
  afterAll(async () => {
    setServers(before)
    await Promise.all([dns.stop(), sink.stop()])
    await server.stop()
  })

  const smtp = (password = CREDENTIALS.password, port = sink.port) => {
    return { host: '127.0.0.1', port, security: 'none', username: CREDENTIALS.username, password }
  }
  const privateKey = makeDkimKey('rsa')
  const dkim = { domain: DOMAIN, selector: 's1', private_key: privateKey }
  /** Check → result, of a new sender. */
  const resultsOf = async (changes: object) => {
    const { body } = await calls.create({ ...SENDER, smtp: smtp(), ...changes })
    const answer = await calls.check(body.sender_id)
    expect(answer.status).toBe(200)
    expect(JSON.stringify(answer.body)).not.toContain(CREDENTIALS.password)
    return Object.fromEntries(answer.body.data.map(({ check, result }) => [check, result]))
  }

  it('finds everything right', async () => {
    dns.texts
      .set(DOMAIN, ['something else', SPF])
      .set(`s1._domainkey.${DOMAIN}`, [recordOf(privateKey)])
      .set(`_dmarc.${DOMAIN}`, [DMARC])
    const results = await resultsOf({ dkim })
    expect(results).toEqual({ connection: 'ok', authentication: 'ok', spf: 'ok', dkim: 'ok', dmarc: 'ok' })
    expect(sink.mails.count).toBe(0)
  })

  it('names a server that is not there, and then cannot know about the credentials', async () => {
    const [port] = await findFreePorts(1)
    expect(await resultsOf({ smtp: smtp('x', port) })).toMatchObject({
      connection: 'failed',
      authentication: 'unknown',
    })
  })

  it('names refused credentials', async () => {
    expect(await resultsOf({ smtp: smtp('wrong') })).toMatchObject({ connection: 'ok', authentication: 'failed' })
  })

  it('needs encryption where the sender does', async () => {
    const { body } = await calls.create({ ...SENDER, smtp: { ...smtp(), security: 'starttls' } })
    const [connection, authentication] = (await calls.check(body.sender_id)).body.data
    const detail = expect.stringContaining('does not offer STARTTLS, which the sender requires') as string
    expect(connection).toMatchObject({ check: 'connection', result: 'failed', detail })
    expect(authentication).toMatchObject({ check: 'authentication', result: 'unknown' })
  })

  it('does not authenticate without a user name', async () => {
    const plain = { host: '127.0.0.1', port: sink.port, security: 'none' }
    expect(await resultsOf({ smtp: plain })).toMatchObject({ connection: 'ok', authentication: 'ok' })
  })

  const cases: [what: string, texts: Record<string, readonly string[] | 'fail'>, results: object][] = [
    ['nothing in DNS', {}, { spf: 'warning', dkim: 'failed', dmarc: 'warning' }],
    ['two SPF records', { [DOMAIN]: [SPF, SPF] }, { spf: 'failed' }],
    ['an SPF record for everybody', { [DOMAIN]: ['v=spf1 +all'] }, { spf: 'warning' }],
    [
      'a resolver that fails',
      { [DOMAIN]: 'fail', [`s1._domainkey.${DOMAIN}`]: 'fail' },
      { spf: 'unknown', dkim: 'unknown' },
    ],
    ['the key of somebody else', { [`s1._domainkey.${DOMAIN}`]: [recordOf(makeDkimKey('rsa'))] }, { dkim: 'failed' }],
    ['a key of another kind', { [`s1._domainkey.${DOMAIN}`]: [recordOf(makeDkimKey())] }, { dkim: 'failed' }],
    ['a revoked key', { [`s1._domainkey.${DOMAIN}`]: ['v=DKIM1; p='] }, { dkim: 'failed' }],
    ['a key under test', { [`s1._domainkey.${DOMAIN}`]: [`${recordOf(privateKey)}; t=y`] }, { dkim: 'warning' }],
    ['the DMARC policy of the organisation', { '_dmarc.example.com': [DMARC] }, { dmarc: 'ok' }],
    ['two DMARC records', { [`_dmarc.${DOMAIN}`]: [DMARC, DMARC] }, { dmarc: 'failed' }],
    [
      'a DMARC record without a policy',
      { [`_dmarc.${DOMAIN}`]: ['v=DMARC1; rua=mailto:a@b.example'] },
      { dmarc: 'failed' },
    ],
  ]
  it.each(cases)('judges %s', async (_what, texts, results) => {
    for (const [name, records] of Object.entries(texts)) dns.texts.set(name, records)
    expect(await resultsOf({ dkim })).toMatchObject(results)
  })

  it('looks up SPF at the domain of bounces, and names in other alphabets as DNS has them', async () => {
    dns.texts.set('b.xn--bcher-kva.example', [SPF]).set('_dmarc.xn--bcher-kva.example', [DMARC])
    const from = { from_email: 'post@bücher.example', return_path_domain: 'b.bücher.example' }
    expect(await resultsOf(from)).toMatchObject({ spf: 'ok', dkim: 'warning', dmarc: 'ok' })
  })

  it('warns where neither the signature nor the envelope belongs to the domain of From', async () => {
    dns.texts.set(`_dmarc.${DOMAIN}`, [DMARC])
    const others = { return_path_domain: 'bounces.other.example', dkim: { ...dkim, domain: 'other.example' } }
    expect(await resultsOf(others)).toMatchObject({ dmarc: 'warning' })
  })
})

function recordOf(privateKey: string): string {
  const { type, text } = dkimPublicKeyOf(privateKey)
  return `v=DKIM1; k=${type}; p=${text}`
}
