// `person invite|list|remove|reset-password`, as an operator calls them beside a running server, on every store.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createWorkspace } from '../../src/actions/create-workspace.ts'
import { removeGrant, saveGrant } from '../../src/store/accounts/person-roles.ts'
import { acceptLink, getSession, NEW_PASSWORD, personOf, signIn, tokenOf } from '../support/accounts/account-calls.ts'
import { addMember, signInAs } from '../support/accounts/sign-in-as.ts'
import { entriesAddedBy } from '../support/audit/audit-entries.ts'
import { environmentOf, failureOf, run, runJson, type EndedJson, type Environment } from '../support/program.ts'
import { expectRefusal, startServer, type TestServer } from '../support/server.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'

interface ListedPerson {
  readonly person_id: string
  readonly email: string
  readonly name: string
  readonly has_totp: boolean
  readonly created_at: string
  readonly roles: readonly { readonly workspace_id: string; readonly role: string }[]
}

describeEachStore('The commands of people', (kind) => {
  let location: TestLocation
  let environment: Environment
  let server: TestServer

  beforeAll(async () => {
    location = await makeStore(kind)
    environment = { ...environmentOf(location), PORT: '8080' }
    const database = await openTestDatabase(location)
    const workspace = await createWorkspace(database, 'main', {}, Date.now())
    await createWorkspace(database, 'shop', {}, Date.now())
    await database.close()
    server = await startServer(kind, { TRUSTED_PROXIES: '127.0.0.1' }, { at: { ...location, workspace } })
  })
  afterAll(async () => {
    await server.stop()
    await location.remove()
  })

  const person = (verb: string, ...operands: string[]) => runJson(['person', verb, ...operands], environment)
  const listed = async (email: string) => {
    const { body } = await person('list')
    return (body as { people: ListedPerson[] }).people.find((one) => one.email === email)
  }
  const rolesOf = async (email: string) =>
    (await listed(email))?.roles.map(({ workspace_id, role }) => [workspace_id, role])
  const urlOf = ({ body }: { readonly body: unknown }) => (body as { url: string }).url
  const accept = (url: string, more: object = { name: 'Ada Lovelace' }) =>
    acceptLink(server, { token: tokenOf(url), ...more })

  it('invite an owner of every workspace, with a link that works once', async () => {
    const invited = await person('invite', 'ada@example.com', '--role', 'owner')
    expect(invited.status).toBe(0)
    expect(invited.body).toEqual({
      email: 'ada@example.com',
      role: 'owner',
      workspace_id: '*',
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:8080\/dashboard\/invitation#[\w-]{43}$/) as string,
      expires_at: expect.any(String) as string,
    })
    const accepted = await accept(urlOf(invited))
    expect(accepted.body.workspaces.map(({ workspace_id, role }) => [workspace_id, role])).toEqual([
      ['main', 'owner'],
      ['shop', 'owner'],
    ])
    expectRefusal(await accept(urlOf(invited)), 404, 'not_found')
    expect(await listed('ada@example.com')).toEqual({
      person_id: accepted.body.person.person_id,
      email: 'ada@example.com',
      name: 'Ada Lovelace',
      has_totp: false,
      created_at: accepted.body.person.created_at,
      roles: [{ workspace_id: '*', role: 'owner' }],
    })
  })

  it('invite somebody to one workspace', async () => {
    const invited = await person('invite', 'grace@example.com', '--role', 'marketer', '--workspace', 'main')
    expect((await accept(urlOf(invited))).body.workspaces).toMatchObject([{ workspace_id: 'main', role: 'marketer' }])
    expect(await rolesOf('grace@example.com')).toEqual([['main', 'marketer']])
  })

  it('invite somebody who has an account elsewhere with a link too, because the account may be that of another', async () => {
    const { email, ...cookie } = await signInAs(server, 'analyst', 'main')
    const invited = await person('invite', email, '--role', 'owner')
    expect(await rolesOf(email)).toEqual([['main', 'analyst']])
    const body = { token: tokenOf(urlOf(invited)) }
    const joined = await server.call('POST', '/v1/access-links/join', { as: null, person: cookie, body })
    expect(joined.status).toBe(200)
    expect(await rolesOf(email)).toEqual([
      ['*', 'owner'],
      ['main', 'analyst'],
    ])
  })

  it('change the role of somebody who has one there, at once, but never that of the last owner', async () => {
    const { email } = await addMember(server, 'analyst', 'shop')
    const changed = await person('invite', email.toUpperCase(), '--role', 'developer', '--workspace', 'shop')
    expect(changed.body).toEqual({ email: email.toUpperCase(), role: 'developer', workspace_id: 'shop' })
    expect(await rolesOf(email)).toEqual([['shop', 'developer']])
    const everywhere = (await person('list')).body as { people: ListedPerson[] }
    const owners = everywhere.people.filter(({ roles }) => roles.some(({ workspace_id: id }) => id === '*'))
    const ended: EndedJson[] = []
    for (const owner of owners) ended.push(await person('invite', owner.email, '--role', 'analyst'))
    expect(ended.map(({ status }) => status)).toEqual([...owners.slice(1).map(() => 0), 1])
    const { code, message } = failureOf(ended.at(-1) as EndedJson) ?? {}
    expect([code, message]).toEqual(['conflict', 'The server must keep an owner. Make someone else an owner first.'])
  })

  it('change the role in one workspace of somebody who has one in every workspace, at once', async () => {
    const { email } = await addMember(server, 'analyst')
    const changed = await person('invite', email, '--role', 'marketer', '--workspace', 'shop')
    expect(changed.body).toEqual({ email, role: 'marketer', workspace_id: 'shop' })
    expect(await rolesOf(email)).toEqual([
      ['*', 'analyst'],
      ['shop', 'marketer'],
    ])
  })

  it('name everything that is wrong with an invitation', async () => {
    const faulty = await person('invite', 'nobody', '--role', 'admin')
    expect(failureOf(faulty)).toMatchObject({ status: 1, code: 'invalid_request', fields: ['--role', 'EMAIL'] })
    const elsewhere = await person('invite', 'eve@example.com', '--role', 'analyst', '--workspace', 'nowhere')
    expect(failureOf(elsewhere)).toMatchObject({ status: 1, code: 'not_found' })
    expect((await person('invite', 'eve@example.com')).status).toBe(2)
    expect((await person('invite', '--role', 'analyst')).status).toBe(2)
    expect(await listed('eve@example.com')).toBeUndefined()
  })

  const GUESSED = 'Its address comes from HOST and PORT here. --url or PUBLIC_URL names another one.\n'
  const places: [more: Environment, options: string[], begin: string, end: string][] = [
    [{ PUBLIC_URL: 'https://mail.example.com/t' }, [], 'https://mail.example.com', ''],
    [{ HOST: '::1', PORT: '9090' }, [], 'http://[::1]:9090', GUESSED],
    [{}, ['--url', 'http://127.0.0.1:9191/'], 'http://127.0.0.1:9191', ''],
    [{ PUBLIC_URL: 'https://mail.example.com' }, ['--url', 'https://in.example.com'], 'https://in.example.com', ''],
  ]
  it.each(places)('print where the dashboard is, with %j and %j', async (more, options, begin, end) => {
    const args = ['person', 'invite', 'eve@example.com', '--role', 'analyst', ...options]
    const { stdout } = await run(args, { ...environment, ...more })
    expect(stdout.startsWith(`${begin}/dashboard/invitation#`)).toBe(true)
    const [, rest] = /\nIt works once, until \d{4}-[\d-]+T[\d:.]+Z\.\n(.*)$/s.exec(stdout) ?? []
    expect(rest).toBe(end)
  })

  it('take no address that is none', async () => {
    const { email } = await addMember(server, 'analyst', 'main')
    for (const args of [
      ['invite', 'eve@example.com', '--role', 'analyst'],
      ['reset-password', email],
    ]) {
      const [verb = '', ...operands] = args
      const ended = await person(verb, ...operands, '--url', 'ftp://example.com')
      expect(failureOf(ended)).toMatchObject({ status: 1, code: 'invalid_request', fields: ['--url'] })
    }
  })

  it('make a link with which somebody chooses a new password', async () => {
    const { email } = await addMember(server, 'analyst', 'main')
    const elsewhere = await person('reset-password', email, '--url', 'http://127.0.0.1:9191')
    expect(urlOf(elsewhere)).toMatch(/^http:\/\/127\.0\.0\.1:9191\/dashboard\/reset#/)
    const reset = await person('reset-password', email)
    expect(urlOf(reset)).toMatch(/^http:\/\/127\.0\.0\.1:8080\/dashboard\/reset#[\w-]{43}$/)
    expect((await accept(urlOf(reset), {})).status).toBe(200)
    expect((await signIn(server, { email, password: NEW_PASSWORD })).status).toBe(200)
    expect(failureOf(await person('reset-password', 'nobody@example.com'))).toMatchObject({ code: 'not_found' })
  })

  it('remove somebody, from one workspace or from all, and ask first', async () => {
    const { email } = await addMember(server, 'analyst', 'main')
    const cookie = personOf(await signIn(server, { email }))
    await person('invite', email, '--role', 'analyst', '--workspace', 'shop')
    expect((await person('remove', email)).status).not.toBe(0)
    expect(await rolesOf(email)).toEqual([['main', 'analyst']])
    const elsewhere = await person('remove', email, '--workspace', 'shop', '--yes')
    expect(failureOf(elsewhere)).toMatchObject({ status: 1, code: 'not_found' })
    expect((await getSession(server, cookie)).status).toBe(200)
    const removed = await person('remove', email, '--workspace', 'main', '--yes')
    expect(removed).toMatchObject({ status: 0, body: { email, workspace_id: 'main' } })
    expect(await listed(email)).toBeUndefined()
    expectRefusal(await getSession(server, cookie), 401, 'unauthorized')
    expect(failureOf(await person('remove', email, '--yes'))).toMatchObject({ status: 1, code: 'not_found' })
  })

  it('remove somebody from all workspaces, but never the last owner', async () => {
    const { email } = await addMember(server, 'owner')
    const owners = ((await person('list')).body as { people: ListedPerson[] }).people
      .filter(({ roles }) => roles.some(({ workspace_id: id, role }) => id === '*' && role === 'owner'))
      .map((owner) => owner.email)
    expect(owners).toContain(email)
    const statuses = []
    for (const owner of owners) statuses.push((await person('remove', owner, '--yes')).status)
    expect(statuses).toEqual([...owners.slice(1).map(() => 0), 1])
    expect(await listed(owners.at(-1) as string)).toBeDefined()
  })

  it('remove somebody who has no role any more', async () => {
    const { email, number } = await addMember(server, 'analyst', 'main')
    await server.database.write((store) => removeGrant(store, number, 'main'))
    expect(await rolesOf(email)).toEqual([])
    expect((await person('remove', email, '--yes')).status).toBe(0)
    expect(await listed(email)).toBeUndefined()
  })

  it('are recorded in the audit trail of the workspace that they name', async () => {
    const { email, number } = await addMember(server, 'analyst', 'main')
    const inShop = { email: 'audited@example.com', workspace: ['--workspace', 'shop'] }
    const entries = await entriesAddedBy(server.database, 'shop', async () => {
      await person('invite', inShop.email, '--role', 'analyst', ...inShop.workspace)
      await server.database.write((store) => saveGrant(store, number, { workspaceId: 'shop', role: 'analyst' }))
      await person('invite', email, '--role', 'marketer', ...inShop.workspace)
      await person('remove', email, ...inShop.workspace, '--yes')
    })
    const who = expect.stringMatching(/^command:/) as string
    expect(entries).toMatchObject([
      { who, action: 'invite_person', subjectId: inShop.email, changes: [{ field: 'invited_as', after: 'analyst' }] },
      { who, action: 'change_role', subjectName: email, changes: [{ before: 'analyst', after: 'marketer' }] },
      { who, action: 'remove_person', subjectName: email, changes: [{ before: 'marketer', after: null }] },
    ])
    const inMain = await entriesAddedBy(server.database, 'main', () => person('remove', email, '--yes'))
    expect(inMain).toMatchObject([{ who, action: 'remove_person', subjectName: email }])
  })

  it('list people in words', async () => {
    const { email } = await addMember(server, 'analyst', 'main')
    const { stdout } = await run(['person', 'list'], environment)
    expect(stdout).toContain(`${email}  The analyst  analyst in main\n`)
    expect(stdout).toMatch(/owner everywhere\n/)
  })
})
