// The first owner of a server, and what strangers may send (`docs/api/people.md`).
import { afterEach, expect, it } from 'vitest'
import { makeAccessLink, makeSetupLink, type MadeLink } from '../../../src/actions/accounts/access-links.ts'
import { EVERY_WORKSPACE } from '../../../src/core/accounts/person.ts'
import { OPERATIONS } from '../../../src/operations/operations.ts'
import { findPersonByEmail } from '../../../src/store/accounts/people.ts'
import { acceptLink, getSession, personOf, readLink, signIn, tokenOf } from '../../support/accounts/account-calls.ts'
import { addMember } from '../../support/accounts/sign-in-as.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const MINUTE_MS = 60_000
const ADA = { email: 'Ada@Example.com', name: 'Ada Lovelace' }

describeEachStore('The set-up of a server (read_access_link, accept_access_link)', (kind) => {
  let server: TestServer
  const start = async () => {
    server = await startServer(kind)
    const now = Date.now()
    server.setClock(now)
    return now
  }
  afterEach(() => server.stop())

  const makeLink = async (now: number) => tokenOf(((await makeSetupLink(server.database, now)) as MadeLink).path)
  const accept = (token: string, more: object = {}) => acceptLink(server, { token, ...ADA, ...more })

  it('makes an owner of every workspace, also of those to come', async () => {
    const now = await start()
    const token = await makeLink(now)
    expect((await readLink(server, token)).body).toEqual({
      kind: 'setup',
      email: null,
      role: 'owner',
      workspace_id: EVERY_WORKSPACE,
      has_account: false,
      expires_at: new Date(now + 30 * MINUTE_MS).toISOString(),
    })
    const accepted = await accept(token)
    expect(accepted.body).toMatchObject({
      person: { ...ADA, has_totp: false, created_at: new Date(now).toISOString() },
      workspaces: [{ workspace_id: 'main', role: 'owner' }],
    })
    const { id } = await server.makeWorkspace()
    const { workspaces } = (await getSession(server, personOf(accepted))).body
    expect(workspaces.map(({ workspace_id, role }) => [workspace_id, role])).toEqual([
      ['main', 'owner'],
      [id, 'owner'],
    ])
  })

  it('stores neither the password nor the tokens', async () => {
    const token = await makeLink(await start())
    const { cookie } = personOf(await accept(token, { password: 'a sentence to look for' }))
    const stored = JSON.stringify([
      await findPersonByEmail(server.database, ADA.email),
      await server.database.query.selectFrom('access_links').selectAll().execute(),
      await server.database.query.selectFrom('sessions').selectAll().execute(),
    ])
    for (const secret of ['a sentence to look for', token, cookie.split('=')[1] as string]) {
      expect(stored).not.toContain(secret)
    }
  })

  it('happens once, and makes the links of other starts useless', async () => {
    const now = await start()
    const [first, second] = [await makeLink(now), await makeLink(now)]
    expect((await readLink(server, first)).status).toBe(200)
    expect((await accept(second)).status).toBe(200)
    expectRefusal(await accept(second), 404, 'not_found')
    expectRefusal(await readLink(server, first), 404, 'not_found')
    expectRefusal(await accept(first, { email: 'eve@example.com' }), 404, 'not_found')
    expect(await makeSetupLink(server.database, now)).toBeUndefined()
  })

  it('happens once, also if two links are used at the same moment', async () => {
    const now = await start()
    const links = [await makeLink(now), await makeLink(now)]
    const answers = await Promise.all(links.map((token, index) => accept(token, { email: `p${index}@example.com` })))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 404]))
  })

  it('is over when there are people, however they came', async () => {
    const now = await start()
    const token = await makeLink(now)
    await addMember(server, 'analyst')
    expectRefusal(await accept(token), 404, 'not_found')
    expect(await makeSetupLink(server.database, now)).toBeUndefined()
  })

  it('must happen within 30 minutes', async () => {
    const now = await start()
    const token = await makeLink(now)
    server.setClock(now + 30 * MINUTE_MS)
    expectRefusal(await readLink(server, token), 404, 'not_found')
    expectRefusal(await accept(token), 404, 'not_found')
    const again = await makeLink(now + 30 * MINUTE_MS)
    server.setClock(now + 60 * MINUTE_MS - 1)
    expect((await accept(again)).status).toBe(200)
  })

  it('names every fault, and can then be repeated', async () => {
    const token = await makeLink(await start())
    const none = { email: undefined, name: undefined, password: 'short' }
    expectRefusal(await accept(token, none), 400, 'invalid_request', ['email', 'name', 'password'])
    expectRefusal(await accept(token, { email: 'ada' }), 400, 'invalid_request', ['email'])
    expectRefusal(await accept(token, { password: ADA.email }), 400, 'invalid_request', ['password'])
    expectRefusal(await accept(token, { password: 'Ada Lovelace 1' }), 400, 'invalid_request', ['password'])
    expectRefusal(await accept(token, { password: 'x'.repeat(257) }), 400, 'invalid_request', ['password'])
    expectRefusal(await accept(token, { role: 'owner' }), 400, 'invalid_request', ['role'])
    expect((await accept(token)).status).toBe(200)
    expect((await signIn(server, { email: 'ada@example.COM', password: 'another sentence of theirs' })).status).toBe(
      200,
    )
  })

  it('is nothing that the hash of a token gives access to', async () => {
    const now = await start()
    const link = { kind: 'setup', email: null, role: 'owner', workspaceId: EVERY_WORKSPACE, now } as const
    await server.database.write((store) => makeAccessLink(store, link))
    const [stored] = await server.database.query.selectFrom('access_links').select('hash').execute()
    expectRefusal(await accept(stored?.hash as string), 404, 'not_found')
    expectRefusal(await readLink(server, 'x'.repeat(129)), 400, 'invalid_request', ['token'])
  })

  it('takes small bodies only, as all that strangers may send', async () => {
    await start()
    const open = OPERATIONS.filter(({ requires, body }) => requires === 'nothing' && body !== null)
    expect(open.map(({ name }) => name).toSorted()).toEqual(['accept_access_link', 'read_access_link', 'sign_in'])
    for (const { method, url } of open) {
      const body = { token: 'x'.repeat(16 * 1024) }
      expectRefusal(await server.call(method, url, { as: null, body }), 413, 'payload_too_large')
    }
  })
})
