// The people of a workspace and their roles (`docs/api/people.md`).
import { afterAll, beforeAll, expect, it } from 'vitest'
import { saveGrant } from '../../../src/store/accounts/person-roles.ts'
import { getSession, signIn, type SessionBody } from '../../support/accounts/account-calls.ts'
import { peopleCalls } from '../../support/accounts/people-calls.ts'
import { addMember, signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const RACES = 10

describeEachStore('People of a workspace (list_people, change_role, remove_person)', (kind) => {
  let server: TestServer
  let owner: SignedInPerson

  beforeAll(async () => {
    server = await startServer(kind)
    owner = await signInAs(server, 'owner', 'main')
  })
  afterAll(() => server.stop())

  const main = () => peopleCalls(server, owner)
  const isOwnerOf = async (workspaceId: string, person: SignedInPerson) => {
    const { workspaces } = (await getSession(server, person)).body as Partial<SessionBody>
    return workspaces?.some(({ workspace_id, role }) => workspace_id === workspaceId && role === 'owner') ?? false
  }
  const workspaceOf = async (...roles: readonly ('owner' | 'analyst')[]) => {
    const { id } = await server.makeWorkspace()
    const people: SignedInPerson[] = []
    for (const role of roles) people.push(await signInAs(server, role, id))
    return { id, people }
  }
  /** An operation that analysts may not use, and developers may. */
  const listUsers = (person: SignedInPerson) => server.call('GET', '/v1/customer/main/users', { as: null, person })

  it('are listed with their roles, and nobody else', async () => {
    const other = await workspaceOf('owner')
    const [member, everywhere] = [await addMember(server, 'analyst', 'main'), await signInAs(server, 'developer')]
    await server.database.write((store) =>
      saveGrant(store, everywhere.number, { workspaceId: other.id, role: 'marketer' }),
    )
    const { data } = await main().list()
    const shown = { name: 'The analyst', role: 'analyst', is_everywhere: false, has_totp: false, last_seen_at: null }
    const created_at = expect.stringMatching(/^\d{4}-.*Z$/) as string
    expect(data).toContainEqual({ person_id: member.personId, email: member.email, created_at, ...shown })
    const found = data.find(({ person_id }) => person_id === everywhere.personId)
    expect(found).toMatchObject({ role: 'developer', is_everywhere: true, last_seen_at: created_at })
    expect(data.map(({ email }) => email)).not.toContain(other.people[0]?.email)
    const inOther = await peopleCalls(server, other.people[0] as SignedInPerson, other.id).list()
    expect(inOther.data.find(({ person_id }) => person_id === everywhere.personId)).toMatchObject({
      role: 'marketer',
      is_everywhere: false,
    })
  })

  it('get another role from their next request on', async () => {
    const person = await signInAs(server, 'analyst', 'main')
    expectRefusal(await listUsers(person), 403, 'forbidden')
    const changed = await main().changeRole(person.personId, 'developer')
    expect([changed.status, changed.body]).toEqual([200, { person_id: person.personId }])
    expect((await listUsers(person)).status).toBe(200)
    await main().changeRole(person.personId, 'analyst')
    expectRefusal(await listUsers(person), 403, 'forbidden')
  })

  it('lose the account and its sessions with their last role', async () => {
    const person = await signInAs(server, 'developer', 'main')
    expect((await main().remove(person.personId)).status).toBe(204)
    expectRefusal(await listUsers(person), 401, 'unauthorized')
    expectRefusal(await getSession(server, person), 401, 'unauthorized')
    expectRefusal(await signIn(server, person), 401, 'unauthorized')
    expect((await main().list()).data.map(({ email }) => email)).not.toContain(person.email)
    expectRefusal(await main().remove(person.personId), 404, 'not_found')
  })

  it('keep the account while they have a role elsewhere', async () => {
    const { id } = await server.makeWorkspace()
    const person = await signInAs(server, 'developer', 'main')
    await server.database.write((store) => saveGrant(store, person.number, { workspaceId: id, role: 'analyst' }))
    expect((await main().remove(person.personId)).status).toBe(204)
    expectRefusal(await listUsers(person), 403, 'forbidden')
    expect((await getSession(server, person)).body.workspaces).toMatchObject([{ workspace_id: id, role: 'analyst' }])
  })

  it('include an owner, always', async () => {
    const { id, people } = await workspaceOf('owner', 'analyst')
    const [only, analyst] = people as [SignedInPerson, SignedInPerson]
    const calls = peopleCalls(server, only, id)
    expectRefusal(await calls.changeRole(only.personId, 'developer'), 409, 'conflict')
    expectRefusal(await calls.remove(only.personId), 409, 'conflict')
    expect(await isOwnerOf(id, only)).toBe(true)
    expect((await calls.changeRole(analyst.personId, 'owner')).status).toBe(200)
    expect((await calls.changeRole(only.personId, 'developer')).status).toBe(200)
    expectRefusal(await calls.invite('grace@example.com'), 403, 'forbidden')
    expectRefusal(await peopleCalls(server, analyst, id).remove(analyst.personId), 409, 'conflict')
  })

  it('include an owner also if two of them give up at the same moment', async () => {
    for (let race = 0; race < RACES; race++) {
      const { id, people } = await workspaceOf('owner', 'owner')
      const [one, other] = people as [SignedInPerson, SignedInPerson]
      const giveUp = (person: SignedInPerson) => peopleCalls(server, person, id).changeRole(person.personId, 'analyst')
      const statuses = (await Promise.all([giveUp(one), giveUp(other)])).map(({ status }) => status)
      expect(new Set(statuses)).toEqual(new Set([200, 409]))
      expect([await isOwnerOf(id, one), await isOwnerOf(id, other)].filter(Boolean)).toHaveLength(1)
    }
  })

  it('with a role in every workspace are changed only by the command', async () => {
    const everywhere = await addMember(server, 'analyst')
    const changed = await main().changeRole(everywhere.personId, 'owner')
    expectRefusal(changed, 409, 'conflict')
    expect(changed.body.error.message).toContain('tidings person')
    expectRefusal(await main().remove(everywhere.personId), 409, 'conflict')
  })

  it('of another workspace are not found', async () => {
    const { people } = await workspaceOf('owner', 'analyst')
    for (const { personId } of [...people, { personId: 'unknown' }, { personId: '*' }]) {
      expectRefusal(await main().changeRole(personId, 'analyst'), 404, 'not_found')
      expectRefusal(await main().remove(personId), 404, 'not_found')
    }
    expect(await Promise.all(people.map((person) => getSession(server, person)))).toMatchObject([
      { status: 200 },
      { status: 200 },
    ])
  })

  it('get one of four roles', async () => {
    const person = await addMember(server, 'analyst', 'main')
    const changed = await main().changeRole(person.personId, 'admin' as never)
    expectRefusal(changed, 400, 'invalid_request', ['role'])
  })
})
