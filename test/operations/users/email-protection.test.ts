// Email protection through real HTTP, on every store: no file or table contains a protected address, and users can still be found.
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { EmailProtection } from '../../../src/core/workspace.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { trackingOf, type Tracking } from '../../support/calls/tracking.ts'

const ADDRESS = 'Anna.Secret@Example.com'
const IDEMPOTENCY = { 'idempotency-key': 'k1' }

/** All data that the server has written: the files of log and state, and every row of every table of PostgreSQL. */
async function written(server: TestServer): Promise<string> {
  const files = readdirSync(server.dataDir, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
  const texts = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
  if (server.databaseUrl !== undefined) texts.push(...(await readTables(server.databaseUrl)))
  return texts.join('\n').toLowerCase()
}

async function readTables(url: string): Promise<string[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const tables = await client.query<{ name: string }>(
      `select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'`,
    )
    const texts: string[] = []
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ text: string }>(`select t::text as text from ${name} t`)
      // PostgreSQL shows bytes in hexadecimal; they must be searched too.
      const bytes = rows.flatMap(({ text }) => [...text.matchAll(/\\\\x([0-9a-f]+)/g)].map(([, hex = '']) => hex))
      texts.push(...rows.map(({ text }) => text), ...bytes.map((hex) => Buffer.from(hex, 'hex').toString('latin1')))
    }
    return texts
  } finally {
    await client.end()
  }
}

describeEachStore('Email protection (track_user, get_user)', (kind) => {
  let server: TestServer
  const trackings: Partial<Record<EmailProtection, Tracking>> = {}

  beforeAll(async () => {
    server = await startServer(kind, { PII_KEY: randomBytes(32).toString('base64') })
    for (const emailProtection of ['none', 'tokenized', 'encrypted'] as const) {
      const workspace = await server.makeWorkspace({ emailProtection, identityResolution: ['crm'] }, emailProtection)
      trackings[emailProtection] = trackingOf(server, workspace)
    }
  })
  afterAll(() => server.stop())

  const tracked = (protection: EmailProtection) => trackings[protection] as Tracking
  const user = (attributes: object, customer_id = 'c1') => ({ type: 'customer', customer_id, attributes })

  const hiding: [EmailProtection, shown: unknown][] = [
    ['tokenized', { plan: 'free' }],
    ['encrypted', { plan: 'free', email: ADDRESS }],
  ]
  it.each(hiding)('writes the address to no file and no table if emails are %s', async (protection, shown) => {
    const tracking = tracked(protection)
    const body = { ...user({ plan: 'free', email: ADDRESS }), email: ADDRESS, contact: { email: ADDRESS } }
    await tracking.fateOf(await tracking.user(body, IDEMPOTENCY))
    expect((await tracking.getUser({ customer_id: 'c1' })).body.attributes).toEqual(shown)
    const text = await written(server)
    expect(text).not.toContain('anna.secret')
    expect(text).not.toContain(Buffer.from(ADDRESS).toString('base64').slice(0, -4).toLowerCase())
    // The search does find stored attributes.
    expect(text).toContain('plan')
  })

  it('stores the address as it was sent if emails are not protected', async () => {
    const address = 'Open.Address@Example.com'
    await tracked('none').apply(user({ email: address }))
    expect(await written(server)).toContain(address.toLowerCase())
  })

  it('does not write ignored user_identifiers if emails are tokenized', async () => {
    const workspace = await server.makeWorkspace({ emailProtection: 'tokenized' })
    const tracking = trackingOf(server, workspace)
    await tracking.apply({ ...user({}), user_identifiers: { email: ADDRESS } })
    expect(await written(server)).not.toContain('anna.secret')
  })

  it.each(['tokenized', 'encrypted'] as const)(
    'stores other attributes as they were sent if emails are %s',
    async (protection) => {
      const attributes = { Email: 'free-form', EMAIL: 'too' }
      await tracked(protection).apply(user({ ...attributes, email: 'x@example.com' }, 'capitals'))
      const shown = await tracked(protection).getUser({ customer_id: 'capitals' })
      expect(shown.body.attributes).toMatchObject(attributes)
    },
  )

  it('finds users by identifiers if emails are protected', async () => {
    for (const protection of ['tokenized', 'encrypted'] as const) {
      const body = { ...user({ email: 'x@example.com' }, 'named'), user_identifiers: { crm: `crm-${protection}` } }
      await tracked(protection).apply(body)
      const query = { identifier_name: 'crm', identifier_value: `crm-${protection}` }
      expect((await tracked(protection).getUser(query)).body.customer_id).toBe('named')
    }
  })

  it.each(['none', 'encrypted'] as const)('finds users by email if emails are %s', async (protection) => {
    await tracked(protection).apply(user({ email: 'Find.Me@Example.com' }, 'found'))
    const { status, body } = await tracked(protection).getUser({ email: ' find.me@EXAMPLE.com' })
    expect({ status, id: body.customer_id }).toEqual({ status: 200, id: 'found' })
    expect(body.attributes['email']).toBe('Find.Me@Example.com')
  })

  it('refuses the lookup by email with the reason if emails are tokenized', async () => {
    const answer = await tracked('tokenized').getUser({ email: ADDRESS })
    expectRefusal(answer, 400, 'invalid_request', ['query.email'])
    expect(JSON.stringify(answer.body)).toContain('stores no email addresses')
  })

  it('replaces the address by a new one, and clears it with null, if emails are encrypted', async () => {
    const tracking = tracked('encrypted')
    await tracking.apply(user({ email: 'old@example.com' }, 'moves'), user({ email: 'new@example.com' }, 'moves'))
    expectRefusal(await tracking.getUser({ email: 'old@example.com' }), 404, 'not_found')
    expect((await tracking.getUser({ email: 'new@example.com' })).body.customer_id).toBe('moves')
    await tracking.apply(user({ email: null }, 'moves'))
    expectRefusal(await tracking.getUser({ email: 'new@example.com' }), 404, 'not_found')
    expect((await tracking.getUser({ customer_id: 'moves' })).body.attributes).toEqual({ email: null })
  })

  it.each(['none', 'tokenized', 'encrypted'] as const)(
    'ignores an empty address, and stores a number as mobile as a string, if emails are %s',
    async (protection) => {
      const tracking = tracked(protection)
      await tracking.apply(
        user({ email: 'kept@example.com', plan: 'x' }, 'empty'),
        user({ email: '', timezone: '', mobile: 49_170 }, 'empty'),
        { type: 'customer', customer_id: 'empty', attributes: null },
      )
      const shown = protection === 'tokenized' ? {} : { email: 'kept@example.com' }
      const { body } = await tracking.getUser({ customer_id: 'empty' })
      expect(body.attributes).toEqual({ ...shown, plan: 'x', mobile: '49170' })
    },
  )

  it('keeps the newest address of merged users if emails are encrypted', async () => {
    const tracking = tracked('encrypted')
    await tracking.apply(
      { type: 'customer', user_identifiers: { crm: 'e1' }, attributes: { email: 'first@example.com' } },
      user({ email: 'second@example.com' }, 'e2'),
      { type: 'customer', customer_id: 'e2', user_identifiers: { crm: 'e1' } },
    )
    const { body } = await tracking.getUser({ email: 'second@example.com' })
    expect(body).toMatchObject({ customer_id: 'e2', user_identifiers: { crm: 'e1' } })
    expectRefusal(await tracking.getUser({ email: 'first@example.com' }), 404, 'not_found')
  })

  const retries: [EmailProtection, what: string, attributes: object, status: number][] = [
    ['tokenized', 'the same body', { plan: 'free', email: ADDRESS }, 200],
    ['tokenized', 'another address, which is not stored', { plan: 'free', email: 'b@example.com' }, 200],
    ['tokenized', 'another attribute', { plan: 'paid', email: ADDRESS }, 409],
    ['encrypted', 'the same body, encrypted again', { plan: 'free', email: ADDRESS }, 200],
    ['encrypted', 'the same address by its keyed hash', { plan: 'free', email: ADDRESS.toUpperCase() }, 200],
    ['encrypted', 'another address', { plan: 'free', email: 'b@example.com' }, 409],
    ['encrypted', 'no address', { plan: 'free' }, 409],
    ['encrypted', 'another attribute', { plan: 'paid', email: ADDRESS }, 409],
  ]
  it.each(retries)(
    'if emails are %s, recognises a retry without a hash of the address: with %s',
    async (protection, what, attributes, status) => {
      const headers = { 'idempotency-key': what }
      const first = await tracked(protection).user(user({ plan: 'free', email: ADDRESS }), headers)
      const retry = await tracked(protection).user(user(attributes), headers)
      expect([retry.status, retry.body.request_id === first.body.request_id]).toEqual([status, status === 200])
    },
  )

  it('encrypts the same address differently each time, and hashes it differently in each workspace', async () => {
    const other = await server.makeWorkspace({ emailProtection: 'encrypted' })
    await tracked('encrypted').apply(
      user({ email: 'same@example.com' }, 's1'),
      user({ email: 'same@example.com' }, 's2'),
    )
    await trackingOf(server, other).apply(user({ email: 'same@example.com' }, 's1'))
    const rows = await server.database.query
      .selectFrom('users')
      .select(['workspace_id', 'email_key', 'attributes'])
      .where('customer_id', 'in', ['s1', 's2'])
      .execute()
    expect(rows).toHaveLength(3)
    expect(new Set(rows.map(({ attributes }) => attributes)).size).toBe(3)
    expect(new Set(rows.map(({ workspace_id, email_key }) => `${workspace_id} ${email_key}`)).size).toBe(2)
    expect(new Set(rows.map(({ email_key }) => email_key)).size).toBe(2)
  })

  it.each(['none', 'tokenized', 'encrypted'] as const)(
    'refuses a malformed email if emails are %s, without repeating it',
    async (protection) => {
      const answer = await tracked(protection).user(user({ email: 'anna.secret at example' }))
      expectRefusal(answer, 400, 'invalid_request', ['attributes.email'])
      expect(JSON.stringify(answer.body)).not.toContain('anna.secret')
    },
  )

  it('refuses an address that must be encrypted with 503 if the server has no PII_KEY', async () => {
    const keyless = await startServer(kind)
    try {
      const workspace = await keyless.makeWorkspace({ emailProtection: 'encrypted' })
      const tracking = trackingOf(keyless, workspace)
      expectRefusal(await tracking.user(user({ email: ADDRESS })), 503, 'unavailable')
      expect(await written(keyless)).not.toContain('anna.secret')
      expect((await tracking.user(user({ plan: 'free' }))).status).toBe(200)
    } finally {
      await keyless.stop()
    }
  })
})
