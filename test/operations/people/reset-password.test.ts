// New passwords: with a link from an owner, and with the one that somebody has (`docs/api/people.md`).
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { PasswordHashes } from '../../../src/actions/accounts/password-hash.ts'
import { SignInDelays } from '../../../src/actions/accounts/sign-in-delays.ts'
import { changePassword } from '../../../src/operations/accounts/change-password.ts'
import type { Parts } from '../../../src/operations/operation.ts'
import { findPersonByNumber, savePassword } from '../../../src/store/accounts/people.ts'
import { saveGrant } from '../../../src/store/accounts/person-roles.ts'
import {
  acceptLink,
  getSession,
  NEW_PASSWORD,
  personOf,
  readLink,
  signIn,
  tokenOf,
} from '../../support/accounts/account-calls.ts'
import { peopleCalls } from '../../support/accounts/people-calls.ts'
import { addMember, PASSWORD_OF_PEOPLE, signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const MINUTE_MS = 60_000

describeEachStore('A new password (reset_password, change_password, read_access_link)', (kind) => {
  let server: TestServer
  let owner: SignedInPerson

  beforeAll(async () => {
    server = await startServer(kind, { TRUSTED_PROXIES: '127.0.0.1' })
    owner = await signInAs(server, 'owner', 'main')
  })
  afterEach(() => server.setClock(undefined))
  afterAll(() => server.stop())

  const main = () => peopleCalls(server, owner)
  const resetOf = async ({ personId }: { readonly personId: string }, calls = main()) => {
    const { status, body } = await calls.resetPassword(personId)
    expect(status).toBe(201)
    return { ...body, token: tokenOf(body.path) }
  }
  const accept = (token: string, more: object = {}) => acceptLink(server, { token, ...more })
  const change = (person: SignedInPerson, current_password: string, new_password = NEW_PASSWORD) =>
    server.call('PUT', '/v1/people/me/password', { as: null, person, body: { current_password, new_password } })

  it('is chosen with a link, which signs in and ends all other sessions', async () => {
    const person = await signInAs(server, 'analyst', 'main')
    const { token, path, expires_at } = await resetOf(person)
    expect(path).toMatch(/^\/dashboard\/reset#[\w-]{43}$/)
    expect((await readLink(server, token)).body).toEqual({
      kind: 'reset',
      email: person.email,
      role: null,
      workspace_id: null,
      has_account: true,
      expires_at,
    })
    expect((await signIn(server, person)).status).toBe(200)
    const accepted = await accept(token)
    expect((await getSession(server, personOf(accepted))).body.person).toMatchObject({ person_id: person.personId })
    expectRefusal(await getSession(server, person), 401, 'unauthorized')
    expectRefusal(await signIn(server, person), 401, 'unauthorized')
    expect((await signIn(server, { ...person, password: NEW_PASSWORD })).status).toBe(200)
    expectRefusal(await accept(token), 404, 'not_found')
  })

  it('is chosen within 30 minutes', async () => {
    const [person, late] = [await addMember(server, 'analyst', 'main'), await addMember(server, 'analyst', 'main')]
    const now = Date.now()
    server.setClock(now)
    const [{ token }, { token: lateToken }] = [await resetOf(person), await resetOf(late)]
    server.setClock(now + 30 * MINUTE_MS - 1)
    expect((await accept(token)).status).toBe(200)
    server.setClock(now + 30 * MINUTE_MS)
    expectRefusal(await readLink(server, lateToken), 404, 'not_found')
    expectRefusal(await accept(lateToken), 404, 'not_found')
  })

  it('is chosen with the newest link, and with nothing but a password', async () => {
    const person = await addMember(server, 'analyst', 'main')
    const [{ token: first }, { token: second }] = [await resetOf(person), await resetOf(person)]
    expectRefusal(await accept(first), 404, 'not_found')
    const faulty = { email: person.email, name: 'Ada', password: person.email }
    expectRefusal(await accept(second, faulty), 400, 'invalid_request', ['email', 'name', 'password'])
    expect((await accept(second)).status).toBe(200)
  })

  it('is neither the address nor the name of the person', async () => {
    const person = await addMember(server, 'analyst', 'main')
    const { token } = await resetOf(person)
    for (const password of [person.email, 'The analyst!', 'theanalyst1815']) {
      expectRefusal(await accept(token, { password }), 400, 'invalid_request', ['password'])
    }
    expect((await accept(token)).status).toBe(200)
  })

  it('is not for oneself with a link, which somebody with a stolen session could use', async () => {
    expectRefusal(await main().resetPassword(owner.personId), 409, 'conflict')
  })

  it('is only for those who have no role where the caller is no owner', async () => {
    const { id } = await server.makeWorkspace()
    const [member, everywhere] = [await addMember(server, 'analyst', 'main'), await addMember(server, 'analyst')]
    await server.database.write((store) => saveGrant(store, member.number, { workspaceId: id, role: 'owner' }))
    expectRefusal(await main().resetPassword(member.personId), 409, 'conflict')
    expectRefusal(await main().resetPassword(everywhere.personId), 409, 'conflict')
    const ofAll = await signInAs(server, 'owner')
    await resetOf(member, peopleCalls(server, ofAll))
    await resetOf(everywhere, peopleCalls(server, ofAll, id))
    const stranger = await addMember(server, 'analyst', id)
    expectRefusal(await main().resetPassword(stranger.personId), 404, 'not_found')
  })

  it('is not chosen with a link from before the person got a role in another workspace', async () => {
    const { id } = await server.makeWorkspace()
    const other = peopleCalls(server, await signInAs(server, 'owner', id), id)
    const person = await signInAs(server, 'analyst', 'main')
    const { token } = await resetOf(person)
    const invitation = await other.invited(person.email, 'owner')
    expect((await readLink(server, token)).status).toBe(200)
    const body = { token: invitation }
    expect((await server.call('POST', '/v1/access-links/join', { as: null, person, body })).status).toBe(200)
    expectRefusal(await accept(token), 404, 'not_found')
    expectRefusal(await main().resetPassword(person.personId), 409, 'conflict')
  })

  it('is not chosen with a link from before the person was removed, even if the address has an account again', async () => {
    const person = await addMember(server, 'analyst', 'main')
    const { token } = await resetOf(person)
    expect((await main().remove(person.personId)).status).toBe(204)
    const again = await main().invited(person.email)
    expect((await accept(again, { name: 'Ada', password: PASSWORD_OF_PEOPLE })).status).toBe(200)
    expectRefusal(await accept(token), 404, 'not_found')
  })

  it('from a link lets somebody in who would have to wait', async () => {
    // Otherwise the second to wait could be over on a busy machine.
    server.setClock(Date.now())
    const person = await addMember(server, 'analyst', 'main')
    const fail = () => signIn(server, { ...person, password: 'a wrong sentence' })
    for (let count = 0; count < 5; count++) expectRefusal(await fail(), 401, 'unauthorized')
    expectRefusal(await signIn(server, person), 429, 'rate_limited')
    expect((await accept((await resetOf(person)).token)).status).toBe(200)
    expect((await signIn(server, { ...person, password: NEW_PASSWORD })).status).toBe(200)
  })

  it('takes the current one, and ends the other sessions and an open link', async () => {
    const person = await signInAs(server, 'analyst', 'main')
    const other = personOf(await signIn(server, person))
    const { token } = await resetOf(person)
    expectRefusal(await change(person, 'a wrong sentence'), 400, 'invalid_request', ['current_password'])
    expectRefusal(await change(person, PASSWORD_OF_PEOPLE, 'short'), 400, 'invalid_request', ['new_password'])
    expectRefusal(await change(person, PASSWORD_OF_PEOPLE, person.email), 400, 'invalid_request', ['new_password'])
    expectRefusal(await change(person, PASSWORD_OF_PEOPLE, 'The analyst!'), 400, 'invalid_request', ['new_password'])
    expect((await getSession(server, other)).status).toBe(200)
    expect((await change(person, PASSWORD_OF_PEOPLE)).status).toBe(204)
    expect((await getSession(server, person)).status).toBe(200)
    expectRefusal(await getSession(server, other), 401, 'unauthorized')
    expectRefusal(await accept(token), 404, 'not_found')
    expectRefusal(await signIn(server, person), 401, 'unauthorized')
    expect((await signIn(server, { ...person, password: NEW_PASSWORD })).status).toBe(200)
  })

  it('cannot be chosen by somebody who guesses the current one in a stolen session', async () => {
    // As above.
    server.setClock(Date.now())
    const person = await signInAs(server, 'analyst', 'main')
    const answers = await Promise.all(Array.from({ length: 10 }, () => change(person, 'a wrong sentence')))
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(5)
    expectRefusal(await change(person, PASSWORD_OF_PEOPLE), 429, 'rate_limited')
    expectRefusal(await signIn(server, person), 429, 'rate_limited')
  })

  it('does not replace one that was chosen a moment ago', async () => {
    const person = await signInAs(server, 'analyst', 'main')
    const passwordHashes = new (class extends PasswordHashes {
      override async isRight(...given: Parameters<PasswordHashes['isRight']>) {
        const isRight = await super.isRight(...given)
        await server.database.write((store) => savePassword(store, person.number, 'chosen meanwhile', 0))
        return isRight
      }
    })()
    const credential = { kind: 'person', personId: person.personId, sessionId: person.sessionId }
    const body = { current_password: PASSWORD_OF_PEOPLE, new_password: NEW_PASSWORD }
    const request = { body, credential, callerAddress: '192.0.2.1', now: Date.now() }
    const parts = { database: server.database, passwordHashes, signInDelays: new SignInDelays() }
    await expect(changePassword.handle(request as never, parts as Partial<Parts> as Parts)).rejects.toMatchObject({
      code: 'invalid_request',
    })
    expect((await findPersonByNumber(server.database, person.number))?.password).toBe('chosen meanwhile')
  })
})
