// Senders through real HTTP, on every store: creating, reading, changing and deleting them, and what is refused.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SecretVault } from '../../../src/store/secret-vault.ts'
import { openDkimKey, openPassword } from '../../../src/store/senders/sender-secrets.ts'
import { findSender, findSenderByNumber, SENDERS_MAX } from '../../../src/store/senders/senders.ts'
import { makeDkimKey, SENDER, senderCallsOf } from '../../support/calls/sender-calls.ts'
import { deliveryCallsOf } from '../../support/delivery/delivery-calls.ts'
import { expectRefusal, LIMITS_OF_TESTS, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore, describeOnPostgres } from '../../support/stores.ts'

const SECRET_KEY = randomBytes(32)
const ENVIRONMENT = { SECRET_KEY: SECRET_KEY.toString('base64') }
const UNKNOWN = '00000000-0000-7000-8000-000000000000'
const PASSWORD = 'hunter2 hunter2'

describeEachStore('Senders (create_sender, get_sender, list_senders, update_sender, delete_sender)', (kind) => {
  let server: TestServer
  let calls: ReturnType<typeof senderCallsOf>

  beforeAll(async () => {
    server = await startServer(kind, ENVIRONMENT)
    calls = senderCallsOf(server)
  })
  afterAll(() => server.stop())

  const withPassword = { ...SENDER, smtp: { ...SENDER.smtp, username: 'news', password: PASSWORD } }
  const stored = async (id: string, workspaceId = server.workspace.id) => {
    const sender = await findSender(server.database, workspaceId, id)
    if (!sender) throw new Error('the sender is not stored')
    return sender
  }

  it('creating answers 201 with the whole sender, with defaults, and reading returns the same', async () => {
    const created = await calls.create(SENDER)
    expect(created.status).toBe(201)
    expect(created.body).toEqual({
      sender_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      name: 'Newsletter',
      from_email: 'news@shop.example.com',
      from_name: 'The Shop',
      reply_to: null,
      return_path_domain: null,
      smtp: { host: '127.0.0.1', port: 2525, security: 'none', username: null, has_password: false },
      dkim: null,
      limits: { per_second: 14, per_day: null, connections: 4, messages_per_connection: 100 },
      tracking_url: null,
      created_at: expect.stringMatching(/Z$/) as string,
      updated_at: created.body.created_at,
    })
    expect(await calls.get(created.body.sender_id)).toMatchObject({ status: 200, body: created.body })
  })

  it('lists all senders, newest first, as one page', async () => {
    const as = await server.makeWorkspace({ limits: LIMITS_OF_TESTS })
    const one = await calls.create({ ...SENDER, name: 'One' }, { as })
    const two = await calls.create({ ...SENDER, name: 'Two' }, { as })
    expect((await calls.call('GET', '', { as })).body).toEqual({ data: [two.body, one.body] })
  })

  it('keeps passwords and private keys encrypted, and never answers them', async () => {
    const dkim = { domain: 'shop.example.com', selector: 's1', private_key: makeDkimKey() }
    const created = await calls.create({ ...withPassword, dkim })
    expect(created.body.smtp).toMatchObject({ username: 'news', has_password: true })
    expect(created.body.dkim).toEqual({ domain: 'shop.example.com', selector: 's1', has_private_key: true })
    const sender = await stored(created.body.sender_id)
    const vault = new SecretVault(SECRET_KEY)
    expect(openPassword(vault, sender)).toBe(PASSWORD)
    expect(openDkimKey(vault, sender)).toBe(dkim.private_key)
    const read = await calls.get(created.body.sender_id)
    const list = await calls.call('GET')
    const keyText = dkim.private_key.split('\n')[1] as string
    for (const shown of [sender, created.body, read.body, list.body].map((value) => JSON.stringify(value))) {
      expect(shown).not.toContain(PASSWORD)
      expect(shown).not.toContain(keyText)
    }
  })

  it('binds a secret to its sender', async () => {
    const [one, other] = [await calls.create(withPassword), await calls.create(withPassword)]
    const [from, to] = [await stored(one.body.sender_id), await stored(other.body.sender_id)]
    const swapped = { ...to, sealedPassword: from.sealedPassword }
    expect(() => openPassword(new SecretVault(SECRET_KEY), swapped)).toThrow(/cannot be opened/)
  })

  it('names all faults at once', async () => {
    const wrong = {
      from_email: 'nobody',
      from_name: '',
      reply_to: 'a@b@c',
      return_path_domain: 'no domain',
      smtp: { host: 'smtp.example.com:587', port: 0, security: 'none', password: 'x' },
      dkim: { domain: 'localhost', selector: 'a..b', private_key: 'no key' },
      limits: { per_second: 0, per_day: 0, connections: 101, messages_per_connection: 10_001 },
      tracking_url: 'ftp://example.com',
      colour: 'red',
    }
    expectRefusal(await calls.create(wrong), 400, 'invalid_request', [
      'colour',
      'dkim.domain',
      'dkim.private_key',
      'dkim.selector',
      'from_email',
      'from_name',
      'limits.connections',
      'limits.messages_per_connection',
      'limits.per_day',
      'limits.per_second',
      'name',
      'reply_to',
      'return_path_domain',
      'smtp.host',
      'smtp.port',
      'smtp.security',
      'smtp.username',
      'tracking_url',
    ])
  })

  const refused: [what: string, change: object, field: string][] = [
    ['plain text to another machine', { smtp: { ...SENDER.smtp, host: 'smtp.example.com' } }, 'smtp.security'],
    [
      'plain text to a name that begins like loopback',
      { smtp: { ...SENDER.smtp, host: '127.example.com' } },
      'smtp.security',
    ],
    ['a password without a user name', { smtp: { ...SENDER.smtp, password: 'x' } }, 'smtp.username'],
    ['an address in a domain of one label', { from_email: 'news@localhost' }, 'from_email'],
    ['a tracking_url with a query', { tracking_url: 'https://example.com/?a=1' }, 'tracking_url'],
    ['a tracking_url with a user', { tracking_url: 'https://me:secret@example.com' }, 'tracking_url'],
    [
      'a short RSA key',
      { dkim: { domain: 'example.com', selector: 's', private_key: rsaKey(512) } },
      'dkim.private_key',
    ],
    [
      'a key of an elliptic curve',
      { dkim: { domain: 'example.com', selector: 's', private_key: ecKey() } },
      'dkim.private_key',
    ],
    ['a dkim without a key', { dkim: { domain: 'example.com', selector: 's' } }, 'dkim.private_key'],
    ['too many messages per second', { limits: { per_second: 10_001 } }, 'limits.per_second'],
  ]
  it.each(refused)('refuses %s', async (_what, change, field) => {
    expectRefusal(await calls.create({ ...SENDER, ...change }), 400, 'invalid_request', [field])
  })

  const accepted: [what: string, change: object][] = [
    ['plain text to localhost', { smtp: { ...SENDER.smtp, host: 'localhost' } }],
    ['plain text to ::1', { smtp: { ...SENDER.smtp, host: '::1' } }],
    ['domains in any alphabet', { from_email: 'post@bücher.example', return_path_domain: 'b.bücher.example' }],
    ['an RSA key of 1024 bits', { dkim: { domain: 'shop.example.com', selector: 's', private_key: rsaKey(1024) } }],
    ['the greatest limits', { limits: { per_second: 10_000, connections: 100, messages_per_connection: 10_000 } }],
    ['null for what is optional', { reply_to: null, dkim: null, tracking_url: null, limits: { per_day: null } }],
  ]
  it.each(accepted)('takes %s', async (_what, change) => {
    const { status, body } = await calls.create({ ...SENDER, ...change })
    expect({ status, warnings: body.warnings }).toEqual({ status: 201, warnings: undefined })
  })

  const warned: [what: string, change: object, field: string][] = [
    [
      'a DKIM domain of somebody else',
      { dkim: { domain: 'other.example', selector: 's', private_key: makeDkimKey() } },
      'dkim.domain',
    ],
    ['links without https', { tracking_url: 'http://links.example.com/' }, 'tracking_url'],
    ['a user name without a password', { smtp: { ...SENDER.smtp, username: 'news' } }, 'smtp.password'],
  ]
  it.each(warned)('warns of %s', async (_what, change, field) => {
    const { status, body } = await calls.create({ ...SENDER, ...change })
    expect({ status, fields: body.warnings?.map((warning) => warning.field) }).toEqual({ status: 201, fields: [field] })
  })

  it('a repeat with the same Idempotency-Key creates nothing', async () => {
    const headers = { 'idempotency-key': 'sender-1' }
    const first = await calls.create(SENDER, { headers })
    const again = await calls.create(SENDER, { headers })
    expect(again.body.sender_id).toBe(first.body.sender_id)
  })

  it('has room for a hundred in a workspace', async () => {
    const as = await server.makeWorkspace({ limits: LIMITS_OF_TESTS })
    for (let made = 0; made < SENDERS_MAX; made++) expect((await calls.create(SENDER, { as })).status).toBe(201)
    expectRefusal(await calls.create(SENDER, { as }), 409, 'conflict')
  })

  describe('Changing', () => {
    it('keeps what is not sent, also within smtp, dkim and limits', async () => {
      const dkim = { domain: 'shop.example.com', selector: 's1', private_key: makeDkimKey() }
      const { body: before } = await calls.create({ ...withPassword, dkim, limits: { per_second: 5, per_day: 1_000 } })
      const changes = { name: 'New', smtp: { port: 25 }, dkim: { selector: 's2' }, limits: { per_second: 6 } }
      const changed = await calls.change(before.sender_id, changes)
      expect(changed).toMatchObject({ status: 200, body: { name: 'New', from_name: 'The Shop' } })
      expect(changed.body.smtp).toEqual({ ...before.smtp, port: 25 })
      expect(changed.body.dkim).toEqual({ ...before.dkim, selector: 's2' })
      expect(changed.body.limits).toEqual({ ...before.limits, per_second: 6 })
      const sender = await stored(before.sender_id)
      expect(openPassword(new SecretVault(SECRET_KEY), sender)).toBe(PASSWORD)
      expect(openDkimKey(new SecretVault(SECRET_KEY), sender)).toBe(dkim.private_key)
    })

    it('null removes', async () => {
      const full = {
        ...withPassword,
        reply_to: 'answers@shop.example.com',
        return_path_domain: 'bounces.shop.example.com',
        dkim: { domain: 'shop.example.com', selector: 's1', private_key: makeDkimKey() },
        limits: { per_second: 5, per_day: 1_000 },
        tracking_url: 'https://links.shop.example.com/t/',
      }
      const { body: before } = await calls.create(full)
      expect(before.tracking_url).toBe('https://links.shop.example.com/t')
      const nothing = { reply_to: null, return_path_domain: null, dkim: null, tracking_url: null }
      const changes = { ...nothing, smtp: { username: null }, limits: { per_second: null, per_day: null } }
      const { body } = await calls.change(before.sender_id, changes)
      expect(body).toMatchObject({ ...nothing, limits: { per_second: 14, per_day: null } })
      expect(body.smtp).toMatchObject({ username: null, has_password: false })
      expect(await stored(before.sender_id)).toMatchObject({ sealedPassword: null, sealedDkimKey: null })
    })

    it('needs the password again for another host', async () => {
      const { body } = await calls.create(withPassword)
      const moved = { smtp: { host: 'localhost' } }
      expectRefusal(await calls.change(body.sender_id, moved), 400, 'invalid_request', ['smtp.password'])
      expect((await calls.change(body.sender_id, { smtp: { ...moved.smtp, password: 'new' } })).status).toBe(200)
    })

    it('refuses what only the stored sender makes wrong, together with everything else', async () => {
      const { body } = await calls.create({
        ...SENDER,
        smtp: { ...SENDER.smtp, security: 'tls', host: 'smtp.example.com' },
      })
      const wrong = { from_email: 'nobody', smtp: { security: 'none' }, dkim: { selector: 's1' } }
      const fields = ['dkim.domain', 'dkim.private_key', 'from_email', 'smtp.security']
      expectRefusal(await calls.change(body.sender_id, wrong), 400, 'invalid_request', fields)
    })

    it('needs at least one member', async () => {
      const { body } = await calls.create(SENDER)
      expectRefusal(await calls.change(body.sender_id, {}), 400, 'invalid_request', ['body'])
    })
  })

  it('deleting removes a sender and its secrets for good, and its number is never used again', async () => {
    const { body } = await calls.create(withPassword)
    const { number } = await stored(body.sender_id)
    expect((await calls.remove(body.sender_id)).status).toBe(204)
    expectRefusal(await calls.get(body.sender_id), 404, 'not_found')
    expectRefusal(await calls.remove(body.sender_id), 404, 'not_found')
    expect(await findSenderByNumber(server.database, number)).toBeUndefined()
    const next = await calls.create(SENDER)
    expect((await stored(next.body.sender_id)).number).toBe(number + 1)
  })

  it('cannot delete the sender of a campaign that is started and not over', async () => {
    const campaigns = deliveryCallsOf(server)
    const { id } = await campaigns.addSender()
    const campaign = await campaigns.makeDelivered({ sender_id: id, start_at: '2199-01-01T00:00:00Z' })
    expect((await campaigns.put(campaign, 'start')).status).toBe(204)
    const refused = await calls.remove(id)
    expectRefusal(refused, 409, 'conflict')
    expect(JSON.stringify(refused.body)).toContain(campaign)
    await campaigns.put(campaign, 'cancel')
    expect((await calls.remove(id)).status).toBe(204)
  })

  it('cannot delete the sender of alerts', async () => {
    const as = await server.makeWorkspace({ limits: LIMITS_OF_TESTS })
    const { body } = await calls.create(SENDER, { as })
    await server.changeSettings(as, { limits: LIMITS_OF_TESTS, alertSenderId: body.sender_id })
    expectRefusal(await calls.remove(body.sender_id, { as }), 409, 'conflict')
    await server.changeSettings(as, { limits: LIMITS_OF_TESTS })
    expect((await calls.remove(body.sender_id, { as })).status).toBe(204)
  })

  it('unknown ids, and those of another workspace, are 404', async () => {
    const as = await server.makeWorkspace()
    const { body } = await calls.create(SENDER)
    for (const [id, options] of [
      [UNKNOWN, {}],
      [body.sender_id, { as }],
    ] as const) {
      expectRefusal(await calls.get(id, options), 404, 'not_found')
      expectRefusal(await calls.change(id, { name: 'x' }, options), 404, 'not_found')
      expectRefusal(await calls.remove(id, options), 404, 'not_found')
      expectRefusal(await calls.call('POST', `/${id}/check`, options), 404, 'not_found')
    }
  })

  it('are for the key of the tile reports', async () => {
    expectRefusal(await calls.create(SENDER, { tile: 'data' }), 403, 'forbidden')
  })
})

describeOnPostgres('Senders on a server without SECRET_KEY (create_sender)', () => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer('postgres')
  })
  afterAll(() => server.stop())

  it('are stored without secrets, and refused with them by an answer that says so', async () => {
    const { create } = senderCallsOf(server)
    expect((await create(SENDER)).status).toBe(201)
    const smtp = { ...SENDER.smtp, username: 'news', password: PASSWORD }
    const answer = await create({ ...SENDER, smtp })
    expectRefusal(answer, 400, 'invalid_request', ['smtp.password'])
    expect(JSON.stringify(answer.body)).toContain('SECRET_KEY')
    expect(JSON.stringify(answer.body)).not.toContain(PASSWORD)
    const wrong = {
      ...SENDER,
      name: '',
      smtp,
      dkim: { domain: 'example.com', selector: 's', private_key: makeDkimKey() },
    }
    expectRefusal(await create(wrong), 400, 'invalid_request', ['dkim.private_key', 'name', 'smtp.password'])
  })
})

describe('Senders on a server with ALLOW_PLAIN_SMTP=1 (create_sender)', () => {
  it('may use plain text with other machines', async () => {
    const server = await startServer('sqlite', { ALLOW_PLAIN_SMTP: '1' })
    const sender = { ...SENDER, smtp: { ...SENDER.smtp, host: 'smtp.example.com' } }
    const answer = await senderCallsOf(server).create(sender)
    await server.stop()
    expect(answer.status).toBe(201)
  })
})

function rsaKey(modulusLength: number): string {
  return generateKeyPairSync('rsa', { modulusLength }).privateKey.export({ type: 'pkcs1', format: 'pem' })
}

function ecKey(): string {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'sec1', format: 'pem' })
}
