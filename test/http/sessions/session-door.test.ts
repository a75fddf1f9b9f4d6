// A session where a key may be: which workspace it is for, when it has ended, and what comes first (`docs/api/people.md`).
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { Credential } from '../../../src/core/accounts/credential.ts'
import type { Permission } from '../../../src/core/accounts/permission.ts'
import { DEFAULT_SETTINGS } from '../../../src/core/workspace.ts'
import { callerRefusal } from '../../../src/http/refuse-caller.ts'
import type { RequestContext } from '../../../src/http/request-context.ts'
import type { Operation } from '../../../src/operations/operation.ts'
import type { ErrorBody } from '../../../src/http/answers/error-answer.ts'
import { getSession, listSessions, personOf, signIn } from '../../support/accounts/account-calls.ts'
import { PREFERENCES_PATH, type HistoryBody } from '../../support/calls/preference-calls.ts'
import { addMember, signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import {
  expectRefusal,
  startServer,
  until,
  type Answer,
  type CallOptions,
  type TestServer,
  type TestWorkspace,
} from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const CAMPAIGNS = '/core-services/v1/campaigns'

describeEachStore('A session in place of a key (get_session, list_sessions, end_session)', (kind) => {
  let server: TestServer
  let shop: TestWorkspace
  let marketer: SignedInPerson

  beforeAll(async () => {
    server = await startServer(kind)
    shop = await server.makeWorkspace()
    marketer = await signInAs(server, 'marketer', 'main')
  })
  afterEach(() => server.setClock(undefined))
  afterAll(() => server.stop())

  const listCampaigns = (options: CallOptions) => server.call<ErrorBody>('GET', CAMPAIGNS, options)
  const listUsers = (workspaceId: string, options: CallOptions) =>
    server.call<ErrorBody>('GET', `/v1/customer/${workspaceId}/users`, options)
  /** What a client sees, without the id. */
  const seenIn = ({ status, body }: Answer<ErrorBody>) => ({ status, error: { ...body.error, request_id: '' } })

  it('is for the workspace of the path or, where the path has none, of the header SVC-APPKEY', async () => {
    expect((await listUsers('main', { person: marketer, as: null })).status).toBe(200)
    expect((await listUsers('main', { person: marketer, as: shop })).status).toBe(200)
    expectRefusal(await listUsers(shop.id, { person: marketer }), 403, 'forbidden')
    expect((await listCampaigns({ person: marketer })).status).toBe(200)
    expectRefusal(await listCampaigns({ person: marketer, as: shop }), 403, 'forbidden')
  })

  it('is for no workspace without either, and says how to name one', async () => {
    const refused = await listCampaigns({ person: marketer, as: null })
    expectRefusal(refused, 403, 'forbidden', ['header.SVC-APPKEY'])
  })

  it.each(['unknown', '*', 'main, main', 'MAIN', "' or ''='", 'm'.repeat(3_000)])(
    'gets the same answer for the workspace %s, which does not exist, as for one of others',
    async (id) => {
      const ofOthers = await listCampaigns({ person: marketer, as: shop })
      const unknown = await listCampaigns({ person: marketer, headers: { 'svc-appkey': id } })
      expectRefusal(unknown, 403, 'forbidden')
      expect(seenIn(unknown)).toEqual(seenIn(ofOthers))
    },
  )

  it('counts in a workspace that was made a moment ago', async () => {
    const everywhere = await signInAs(server, 'analyst')
    const made = await server.makeWorkspace()
    expect((await listCampaigns({ person: everywhere, as: made })).status).toBe(200)
    const { workspaces } = (await getSession(server, everywhere)).body
    expect(workspaces.map(({ workspace_id }) => workspace_id)).toEqual(
      expect.arrayContaining(['main', shop.id, made.id]),
    )
  })

  it('gives way to a key, right or wrong', async () => {
    const key = (id: string, secret: string) => ({
      authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
    })
    const analyst = await signInAs(server, 'analyst', 'main')
    const { id, dataKey, reportsKey } = server.workspace
    const asKey = (secret: string, more: object = {}) =>
      listUsers('main', { person: analyst, headers: { ...key(id, secret), ...more } })
    expectRefusal(await listUsers('main', { person: analyst }), 403, 'forbidden')
    expect((await asKey(dataKey)).status).toBe(200)
    expect((await asKey(dataKey, { 'sec-fetch-site': 'cross-site' })).status).toBe(200)
    expectRefusal(await asKey('wrong'), 401, 'unauthorized')
    const marketerWithKey = await listUsers('main', { person: marketer, headers: key(id, reportsKey) })
    expectRefusal(marketerWithKey, 403, 'forbidden')
  })

  it('is not used by a page of another site', async () => {
    const from = (headers: Record<string, string>) => listCampaigns({ person: marketer, headers })
    for (const site of ['cross-site', 'same-site']) {
      expectRefusal(await from({ 'sec-fetch-site': site }), 403, 'forbidden')
    }
    expectRefusal(await from({ origin: 'http://evil.example' }), 403, 'forbidden')
    expectRefusal(await from({ origin: 'null' }), 403, 'forbidden')
    for (const site of ['same-origin', 'none']) expect((await from({ 'sec-fetch-site': site })).status).toBe(200)
    expect((await from({ origin: server.url })).status).toBe(200)
  })

  it('tracks events and changes preferences as a key does, in its own name', async () => {
    const developer = await signInAs(server, 'developer', 'main')
    const track = { type: 'event', customer_id: 'tracked', actions: [{ action: 'Visit' }] }
    expect((await server.call('POST', '/v1/event/main', { as: null, person: developer, body: track })).status).toBe(200)
    expectRefusal(
      await server.call('POST', '/v1/event/main', { as: null, person: marketer, body: track }),
      403,
      'forbidden',
    )
    const body = { user_preferences: { customer_id: 'tracked', opt_in_status: 'OPTED_IN' } }
    await until('the preference is changed', async () => {
      return (await server.call('PUT', PREFERENCES_PATH, { person: marketer, body })).status === 200
    })
    const path = `${PREFERENCES_PATH}/history?customer_id=tracked`
    const history = await server.call<HistoryBody>('GET', path, { person: marketer })
    expect(history.body.data.map(({ by }) => by)).toEqual([`person:${marketer.email}`])
  })

  it('lets people look around in a suspended workspace, and nobody change anything there', async () => {
    const suspended = await server.makeWorkspace({ suspended: true })
    const person = await signInAs(server, 'marketer', suspended.id)
    const inIt = { as: suspended, person }
    expect((await listUsers(suspended.id, inIt)).status).toBe(200)
    const search = { page: 1, entries: 10, template_name: 'x', is_count_required: true }
    const templates = '/v1.0/custom-templates/email/search'
    expect((await server.call('POST', templates, { ...inIt, body: search })).status).toBe(200)
    expectRefusal(await server.call('POST', CAMPAIGNS, { ...inIt, body: {} }), 403, 'forbidden')
    expectRefusal(await listUsers(suspended.id, { as: suspended }), 403, 'forbidden')
    expect((await getSession(server, person)).body.workspaces).toMatchObject([{ suspended: true }])
  })

  it('changes the settings of a suspended workspace, or nobody could resume it', () => {
    const workspace = { ...DEFAULT_SETTINGS, id: 'main', name: '', createdAt: 0, globalControlSeed: '', linkKey: '' }
    const person = { kind: 'person', personId: '', email: '', sessionId: '', role: 'developer' } as const
    const refusalTo = (credential: Credential, requires: Permission) => {
      const operation = { method: 'PATCH', requires } as Operation
      const caller = { workspace: { ...workspace, suspended: true }, credential }
      return callerRefusal({ params: {}, headers: {} } as RequestContext, caller, operation)?.message
    }
    expect(refusalTo(person, 'settings.write')).toBeUndefined()
    expect(refusalTo(person, 'categories.write')).toBe('The workspace is suspended.')
    expect(refusalTo({ kind: 'key', tile: 'data' }, 'settings.write')).toBe('The workspace is suspended.')
  })

  it('ends after 12 hours without a request', async () => {
    const now = Date.now()
    server.setClock(now)
    const person = personOf(await signIn(server, marketer))
    server.setClock(now + 12 * HOUR_MS - 1)
    expect((await listCampaigns({ person })).status).toBe(200)
    server.setClock(now + 24 * HOUR_MS - 2)
    expect((await listCampaigns({ person })).status).toBe(200)
    server.setClock(now + 36 * HOUR_MS - 2)
    expectRefusal(await listCampaigns({ person }), 401, 'unauthorized')
    expectRefusal(await getSession(server, person), 401, 'unauthorized')
  })

  it('is not kept alive by Get changes, which open pages ask by themselves', async () => {
    const now = Date.now()
    server.setClock(now)
    const person = personOf(await signIn(server, marketer))
    const getChanges = () => server.call<ErrorBody>('GET', '/v1/workspaces/main/changes', { person })
    server.setClock(now + 6 * HOUR_MS)
    expect((await getChanges()).status).toBe(200)
    server.setClock(now + 12 * HOUR_MS - 1)
    expect((await getChanges()).status).toBe(200)
    server.setClock(now + 12 * HOUR_MS)
    expectRefusal(await getChanges(), 401, 'unauthorized')
  })

  it('ends after 30 days, however it is used', async () => {
    const now = Date.now()
    server.setClock(now)
    const person = personOf(await signIn(server, marketer))
    for (let hours = 11; hours < 30 * 24; hours += 11) {
      server.setClock(now + hours * HOUR_MS)
      expect((await getSession(server, person)).status).toBe(200)
    }
    server.setClock(now + 30 * DAY_MS - 1)
    const [session] = await listSessions(server, person)
    expect(session?.expires_at).toBe(new Date(now + 30 * DAY_MS).toISOString())
    server.setClock(now + 30 * DAY_MS)
    expectRefusal(await getSession(server, person), 401, 'unauthorized')
  })

  it('is listed with its browser and address, the last used first', async () => {
    const now = Date.now()
    server.setClock(now)
    const member = await addMember(server, 'analyst', 'main')
    const first = personOf(await signIn(server, member, { 'user-agent': 'Firefox' }))
    server.setClock(now + MINUTE_MS)
    const second = personOf(await signIn(server, member, { 'user-agent': 'x'.repeat(1_000) }))
    const listed = await listSessions(server, second)
    expect(listed.map(({ is_current, agent }) => [is_current, agent])).toEqual([
      [true, 'x'.repeat(256)],
      [false, 'Firefox'],
    ])
    expect(listed[1]).toMatchObject({
      created_at: new Date(now).toISOString(),
      last_seen_at: new Date(now).toISOString(),
      expires_at: new Date(now + 12 * HOUR_MS).toISOString(),
      address: '127.0.0.1',
    })
    server.setClock(now + 2 * MINUTE_MS)
    const again = await listSessions(server, first)
    expect(again.map(({ is_current }) => is_current)).toEqual([true, false])
    expect(again[0]?.last_seen_at).toBe(new Date(now + 2 * MINUTE_MS).toISOString())
    server.setClock(now + 3 * MINUTE_MS - 1)
    expect((await listSessions(server, first))[0]?.last_seen_at).toBe(again[0]?.last_seen_at)
    server.setClock(now + 13 * HOUR_MS)
    const later = personOf(await signIn(server, member))
    expect(await listSessions(server, later)).toHaveLength(1)
  })

  it('is ended by its person from another browser, and by nobody else', async () => {
    const member = await addMember(server, 'analyst', 'main')
    const [here, there] = [personOf(await signIn(server, member)), personOf(await signIn(server, member))]
    const idOfThere = (await getSession(server, there)).body.session_id
    const end = (person: { cookie: string }, id = idOfThere) =>
      server.call('DELETE', `/v1/sessions/${id}`, { as: null, person })
    expectRefusal(await end(marketer), 404, 'not_found')
    expect((await getSession(server, there)).status).toBe(200)
    expect((await end(here)).status).toBe(204)
    expectRefusal(await getSession(server, there), 401, 'unauthorized')
    expectRefusal(await end(here), 404, 'not_found')
    expectRefusal(await end(here, 'unknown'), 404, 'not_found')
    expect(await listSessions(server, here)).toHaveLength(1)
  })

  it('is one of 50 of a person at most: the one that was used least recently ends', async () => {
    const now = Date.now()
    const member = await addMember(server, 'analyst', 'main')
    const people: { cookie: string }[] = []
    for (let count = 0; count < 50; count++) {
      server.setClock(now + count * MINUTE_MS)
      people.push(personOf(await signIn(server, member)))
    }
    const [oldest, second] = people as [{ cookie: string }, { cookie: string }]
    server.setClock(now + 50 * MINUTE_MS)
    expect((await getSession(server, oldest)).status).toBe(200)
    const newest = personOf(await signIn(server, member))
    expect(await listSessions(server, newest)).toHaveLength(50)
    expectRefusal(await getSession(server, second), 401, 'unauthorized')
    expect((await getSession(server, oldest)).status).toBe(200)
  })

  it('shows who is signed in, and nothing of the token', async () => {
    const entered = await signIn(server, marketer)
    const session = await getSession(server, personOf(entered))
    expect(session.body).toEqual(entered.body)
    expect(session.body).toMatchObject({
      is_secure: true,
      person: { person_id: marketer.personId, email: marketer.email, name: 'The marketer', has_totp: false },
    })
    const token = personOf(entered).cookie.split('=')[1] as string
    expect(token).toHaveLength(43)
    expect(JSON.stringify(session.body)).not.toContain(token)
    expect(JSON.stringify(await listSessions(server, marketer))).not.toContain(token)
  })
})
