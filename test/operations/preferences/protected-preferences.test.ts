// Email preferences of workspaces that tokenize or encrypt emails, through real HTTP, on every store.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { preferenceCalls, type PreferenceCalls } from '../../support/calls/preference-calls.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const EMAIL = 'Anna@Example.com'
const STATUS = { opt_in_status: 'OPTED_IN' }

describeEachStore('Preferences where emails are tokenized', (kind) => {
  let server: TestServer
  let calls: PreferenceCalls

  beforeAll(async () => {
    server = await startServer(kind)
    calls = preferenceCalls(server, await server.makeWorkspace({ emailProtection: 'tokenized' }))
    await calls.makeUsers(['c1', 'c2'], EMAIL)
  })
  afterAll(() => server.stop())

  it.each([
    ['another address', 'other@example.com'],
    ['their address', EMAIL],
    ['a malformed address', 'anna'],
  ])('are changed only by customer_id, even if %s is sent with it', async (_what, email_id) => {
    for (const opt_in_status of ['OPTED_OUT', 'OPTED_IN']) {
      await calls.set({ customer_id: 'c1', email_id, opt_in_status })
      const { body } = await calls.read({ customer_id: 'c1', email_id })
      expect(body.data).toMatchObject([{ customer_id: 'c1', opt_in_status }])
    }
    expect((await calls.readOne('c2')).opt_in_status).toBe('OPT_IN_PENDING')
  })

  it('answer 400 with the reason for email_id alone', async () => {
    const changed = await calls.update({ email_id: EMAIL, ...STATUS })
    expectRefusal(changed, 400, 'invalid_request', ['user_preferences.email_id'])
    expect(JSON.stringify(changed.body)).toContain('stores no email addresses')
    const read = await calls.read({ email_id: EMAIL })
    expectRefusal(read, 400, 'invalid_request', ['query.email_id'])
    expect(JSON.stringify(read.body)).toContain('stores no email addresses')
  })

  it('answer 404 for an unknown customer_id', async () => {
    expectRefusal(await calls.update({ customer_id: 'c9', email_id: EMAIL, ...STATUS }), 404, 'not_found')
  })
})

describeEachStore('Preferences where emails are encrypted', (kind) => {
  let server: TestServer
  let calls: PreferenceCalls

  beforeAll(async () => {
    server = await startServer(kind, { PII_KEY: randomBytes(32).toString('base64') })
    calls = preferenceCalls(server, await server.makeWorkspace({ emailProtection: 'encrypted' }))
    await calls.makeUsers(['c1', 'c2'], EMAIL)
    await calls.makeUsers(['c3'], 'other@example.com')
  })
  afterAll(() => server.stop())

  it('are changed by the decrypted address, for all users who have it', async () => {
    await calls.set({ email_id: ' anna@EXAMPLE.com', opt_in_status: 'DOUBLE_OPTED_IN' })
    const { body } = await calls.read({ email_id: 'ANNA@example.com' })
    expect(body.data).toMatchObject([
      { customer_id: 'c1', opt_in_status: 'DOUBLE_OPTED_IN' },
      { customer_id: 'c2', opt_in_status: 'DOUBLE_OPTED_IN' },
    ])
    expect((await calls.readOne('c3')).opt_in_status).toBe('OPT_IN_PENDING')
  })

  it('are changed by customer_id', async () => {
    await calls.set({ customer_id: 'c3', opt_in_status: 'OPTED_OUT' })
    expect((await calls.readOne('c3')).opt_in_status).toBe('OPTED_OUT')
  })

  it('answer 404 for an unknown email even with an existing customer_id, and 400 for a malformed one', async () => {
    const unknown = await calls.update({ customer_id: 'c1', email_id: 'nobody@example.com', ...STATUS })
    expectRefusal(unknown, 404, 'not_found')
    const malformed = await calls.update({ customer_id: 'c1', email_id: 'nobody', ...STATUS })
    expectRefusal(malformed, 400, 'invalid_request', ['user_preferences.email_id'])
  })
})

describeEachStore('Preferences of a workspace that encrypts emails on a server without PII_KEY', (kind) => {
  let server: TestServer
  let calls: PreferenceCalls

  beforeAll(async () => {
    server = await startServer(kind)
    calls = preferenceCalls(server)
    await calls.makeUsers(['c1'])
    await server.changeSettings(server.workspace, { emailProtection: 'encrypted' })
  })
  afterAll(() => server.stop())

  it('answer 503 for an address, and can be changed by customer_id', async () => {
    for (const answer of [await calls.update({ email_id: EMAIL, ...STATUS }), await calls.read({ email_id: EMAIL })]) {
      expectRefusal(answer, 503, 'unavailable')
      expect(JSON.stringify(answer.body)).toContain('PII_KEY')
    }
    await calls.set({ customer_id: 'c1', ...STATUS })
    expect((await calls.readOne('c1')).opt_in_status).toBe('OPTED_IN')
  })
})
