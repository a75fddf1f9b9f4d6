// Invitations to a workspace: who may use them, for what, and how often (`docs/api/people.md`).
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { makeAccessLink } from '../../../src/actions/accounts/access-links.ts'
import type { Role } from '../../../src/core/accounts/role.ts'
import { removeAccessLinks } from '../../../src/store/accounts/access-links.ts'
import {
  acceptLink,
  getSession,
  NEW_PASSWORD,
  personOf,
  readLink,
  signIn,
  tokenOf,
  type SessionAnswer,
} from '../../support/accounts/account-calls.ts'
import { peopleCalls } from '../../support/accounts/people-calls.ts'
import { addMember, signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import { expectRefusal, startServer, until, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const DAY_MS = 24 * 60 * 60_000
const INVITATIONS_MAX = 200
const NAME = 'Grace Hopper'

describeEachStore('Invitations (invite_person, remove_invitation, accept_access_link, join_workspace)', (kind) => {
  let server: TestServer
  let owner: SignedInPerson
  let addresses = 0

  beforeAll(async () => {
    server = await startServer(kind, { TRUSTED_PROXIES: '127.0.0.1' })
    owner = await signInAs(server, 'owner', 'main')
  })
  afterEach(() => server.setClock(undefined))
  afterAll(() => server.stop())

  const main = () => peopleCalls(server, owner)
  const newAddress = () => `grace-${++addresses}@example.com`
  /** A workspace with an owner of its own. */
  const shop = async () => {
    const { id } = await server.makeWorkspace()
    const shopOwner = await signInAs(server, 'owner', id)
    return { id, ...peopleCalls(server, shopOwner, id) }
  }
  const accept = (token: string, more: object = {}) => acceptLink(server, { token, name: NAME, ...more })
  const join = (token: string, person?: { readonly cookie: string }) =>
    server.call<object>('POST', '/v1/access-links/join', {
      as: null,
      person,
      body: { token },
    }) as Promise<SessionAnswer>
  const rolesOf = ({ body }: SessionAnswer): [string, Role][] =>
    body.workspaces.map(({ workspace_id, role }) => [workspace_id, role])

  it('let somebody create an account with the role, and sign them in', async () => {
    const email = newAddress()
    const invited = await main().invite(email, 'marketer')
    expect(invited.status).toBe(201)
    expect(invited.body.path).toMatch(/^\/dashboard\/invitation#[\w-]{43}$/)
    const { expires_at } = invited.body
    const token = tokenOf(invited.body.path)
    const open = { email, role: 'marketer', created_at: expect.any(String) as string, expires_at }
    expect((await main().list()).invitations).toContainEqual(open)
    const link = { kind: 'invitation', email, role: 'marketer', workspace_id: 'main', has_account: false, expires_at }
    expect((await readLink(server, token)).body).toEqual(link)
    const accepted = await accept(token)
    expect(accepted.body).toMatchObject({ person: { email, name: NAME, has_totp: false } })
    expect(rolesOf(accepted)).toEqual([['main', 'marketer']])
    expect((await getSession(server, personOf(accepted))).body).toEqual(accepted.body)
    expect((await signIn(server, { email, password: NEW_PASSWORD })).status).toBe(200)
    const people = await main().list()
    expect(people.data.map((person) => [person.email, person.role])).toContainEqual([email, 'marketer'])
    expect(people.invitations.map((invitation) => invitation.email)).not.toContain(email)
  })

  it('work once', async () => {
    const token = await main().invited(newAddress())
    expect((await accept(token)).status).toBe(200)
    expectRefusal(await accept(token), 404, 'not_found')
    expectRefusal(await readLink(server, token), 404, 'not_found')
  })

  it('work once, also if they are used twice at the same moment', async () => {
    const token = await main().invited(newAddress())
    const answers = await Promise.all([accept(token), accept(token)])
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 404]))
  })

  it('of many people work at the same moment', async () => {
    const tokens: string[] = []
    while (tokens.length < 8) tokens.push(await main().invited(newAddress()))
    const answers = await Promise.all(tokens.map((token) => accept(token)))
    expect(answers.map(({ status }) => status)).toEqual(tokens.map(() => 200))
    expect(new Set(answers.map(({ body }) => body.person.person_id))).toHaveLength(tokens.length)
  })

  it('work for seven days', async () => {
    const now = Date.now()
    server.setClock(now)
    const [email, other] = [newAddress(), newAddress()]
    const [token, late] = [await main().invited(email), await main().invited(other)]
    server.setClock(now + 7 * DAY_MS - 1)
    expect((await accept(token)).status).toBe(200)
    server.setClock(now + 7 * DAY_MS)
    expectRefusal(await readLink(server, late), 404, 'not_found')
    expectRefusal(await accept(late), 404, 'not_found')
    const again = personOf(await signIn(server, owner))
    expect((await peopleCalls(server, again).list()).invitations.map(({ email }) => email)).not.toContain(other)
  })

  it('are replaced by a later one for the same address, however it is spelt', async () => {
    const email = newAddress()
    const first = await main().invited(email, 'owner')
    const second = await main().invited(email.toUpperCase(), 'analyst')
    expectRefusal(await accept(first), 404, 'not_found')
    expect(rolesOf(await accept(second))).toEqual([['main', 'analyst']])
  })

  it('can be taken back', async () => {
    const email = newAddress()
    const token = await main().invited(email)
    expect((await main().removeInvitation(email.toUpperCase())).status).toBe(204)
    expectRefusal(await accept(token), 404, 'not_found')
    expectRefusal(await main().removeInvitation(email), 404, 'not_found')
  })

  it('give nothing if they are taken back while somebody joins', async ({ skip }) => {
    skip(kind !== 'postgres', 'SQLite runs one transaction at a time')
    const person = await signInAs(server, 'analyst', (await shop()).id)
    const token = await main().invited(person.email, 'owner')
    const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    const joined = await server.database.write(async (store) => {
      await removeAccessLinks(store, { kind: 'invitation', email: person.email, workspaceId: 'main' })
      const joining = join(token, person)
      await until('the join waits', async () => (await waiting.execute(server.database.query)).rows.length > 0)
      return { joining }
    })
    expectRefusal(await joined.joining, 404, 'not_found')
    expect(rolesOf(await getSession(server, person))).toHaveLength(1)
  })

  it('can be taken back only in the workspace that made them', async () => {
    const email = newAddress()
    const token = await main().invited(email)
    expectRefusal(await (await shop()).removeInvitation(email), 404, 'not_found')
    expect((await readLink(server, token)).status).toBe(200)
  })

  it('to another workspace stay open for whoever was given that link, who must sign in to the account', async () => {
    const [email, other] = [newAddress(), await shop()]
    const [token, toShop] = [await main().invited(email, 'owner'), await other.invited(email, 'analyst')]
    // Who owns the shop has this link and knows the address; the role in `main` is not theirs.
    const accepted = await accept(toShop)
    expect(rolesOf(accepted)).toEqual([[other.id, 'analyst']])
    expect((await readLink(server, token)).body).toMatchObject({ has_account: true, workspace_id: 'main' })
    expectRefusal(await accept(token), 409, 'conflict')
    expectRefusal(await join(token), 401, 'unauthorized')
    const joined = await join(token, personOf(accepted))
    expect(rolesOf(joined)).toEqual([
      ['main', 'owner'],
      [other.id, 'analyst'],
    ])
    expectRefusal(await join(token, personOf(accepted)), 404, 'not_found')
  })

  it('give nothing before somebody joins, although the address has an account', async () => {
    const other = await shop()
    const person = await signInAs(server, 'analyst', other.id)
    const invited = await main().invite(person.email)
    expect(Object.keys(invited.body).toSorted()).toEqual(['expires_at', 'path'])
    expect(rolesOf(await getSession(server, person))).toEqual([[other.id, 'analyst']])
    expect(rolesOf(await join(tokenOf(invited.body.path), person))).toHaveLength(2)
  })

  it('are for the address of the account that joins', async () => {
    const stranger = await signInAs(server, 'analyst', (await shop()).id)
    expectRefusal(await join(await main().invited(newAddress()), stranger), 403, 'forbidden')
  })

  it('are no other links: nobody joins with one for a new password', async () => {
    const person = await signInAs(server, 'analyst', 'main')
    const { body } = await main().resetPassword(person.personId)
    expectRefusal(await join(tokenOf(body.path), person), 404, 'not_found')
    expectRefusal(await join('unknown', person), 404, 'not_found')
    const later = Date.now() + 8 * DAY_MS
    const other = await signInAs(server, 'analyst', (await shop()).id)
    const token = await main().invited(other.email)
    server.setClock(later)
    expectRefusal(await join(token, personOf(await signIn(server, other))), 404, 'not_found')
  })

  it('are not made for somebody who has a role in the workspace already, nor used by them', async () => {
    const [member, everywhere] = [await addMember(server, 'analyst', 'main'), await addMember(server, 'analyst')]
    expectRefusal(await main().invite(member.email, 'owner'), 409, 'conflict')
    expectRefusal(await main().invite(everywhere.email, 'owner'), 409, 'conflict')
    const person = await signInAs(server, 'analyst', 'main')
    const wanted = { kind: 'invitation', email: person.email, role: 'owner', workspaceId: 'main' } as const
    const made = await server.database.write((store) => makeAccessLink(store, { ...wanted, now: Date.now() }))
    expectRefusal(await join(tokenOf(made.path), person), 409, 'conflict')
    expect(rolesOf(await getSession(server, person))).toEqual([['main', 'analyst']])
  })

  it('name every fault of their request', async () => {
    const send = (body: object) => server.call('POST', '/v1/workspaces/main/people', { as: null, person: owner, body })
    expectRefusal(await send({ email: 'grace', role: 'admin', name: 'x' }), 400, 'invalid_request', [
      'email',
      'name',
      'role',
    ])
    expectRefusal(await send({}), 400, 'invalid_request', ['email', 'role'])
  })

  it('name every fault of what somebody chose, and still work afterwards', async () => {
    const email = newAddress()
    const token = await main().invited(email)
    const faulty = { name: undefined, email, password: email }
    expectRefusal(await accept(token, faulty), 400, 'invalid_request', ['email', 'name', 'password'])
    expectRefusal(await accept(token, { name: ' ', password: NAME }), 400, 'invalid_request', ['name'])
    expectRefusal(await accept(token, { password: NAME }), 400, 'invalid_request', ['password'])
    expectRefusal(await accept(token, { password: 'password1234' }), 400, 'invalid_request', ['password'])
    expect((await accept(token)).status).toBe(200)
  })

  it('are at most 200 in a workspace, of which one may still be replaced', async () => {
    const other = await shop()
    const wanted = { kind: 'invitation', role: 'analyst', workspaceId: other.id, now: Date.now() } as const
    await server.database.write(async (store) => {
      for (let count = 1; count <= INVITATIONS_MAX; count++) {
        await makeAccessLink(store, { ...wanted, email: `guest-${count}@example.com` })
      }
    })
    expectRefusal(await other.invite(newAddress()), 409, 'conflict')
    expect((await other.invite('guest-1@example.com')).status).toBe(201)
    expect((await other.list()).invitations).toHaveLength(INVITATIONS_MAX)
    expect((await other.removeInvitation('guest-2@example.com')).status).toBe(204)
    expect((await other.invite(newAddress())).status).toBe(201)
  })
})
