// Codes of an authenticator, and recovery codes (`docs/api/people.md`).
import { randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PasswordHashes } from '../../../src/actions/accounts/password-hash.ts'
import { SignInDelays } from '../../../src/actions/accounts/sign-in-delays.ts'
import { findSecretsWarning } from '../../../src/app/settings/check-secrets.ts'
import type { ErrorBody } from '../../../src/http/answers/error-answer.ts'
import { beginTotp } from '../../../src/operations/accounts/begin-totp.ts'
import type { Parts } from '../../../src/operations/operation.ts'
import { findPersonByNumber, proposeTotp, saveConfirmedTotp } from '../../../src/store/accounts/people.ts'
import { SecretVault } from '../../../src/store/secret-vault.ts'
import {
  acceptLink,
  getSession,
  NEW_PASSWORD,
  personOf,
  signIn,
  tokenOf,
  type SessionAnswer,
} from '../../support/accounts/account-calls.ts'
import { peopleCalls } from '../../support/accounts/people-calls.ts'
import { addMember, PASSWORD_OF_PEOPLE, type TestPerson } from '../../support/accounts/sign-in-as.ts'
import { expectRefusal, startServer, type Answer, type TestServer } from '../../support/server.ts'
import { describeEachStore, describeOnPostgres } from '../../support/stores.ts'

const NOON = Date.UTC(2030, 0, 1, 12)
const STEP_MS = 30_000
const KEY = randomBytes(32)
const SECRET_KEY = { SECRET_KEY: KEY.toString('base64') }
const PATH = '/v1/people/me/totp'

interface Begun extends ErrorBody {
  readonly secret: string
  readonly url: string
}

interface Confirmed extends ErrorBody {
  readonly recovery_codes: string[]
}

interface Cookie {
  readonly cookie: string
}

const begin = (server: TestServer, person: Cookie, password = PASSWORD_OF_PEOPLE) =>
  server.call<Begun>('POST', PATH, { as: null, person, body: { password } })
const confirm = (server: TestServer, person: Cookie, code: string) =>
  server.call<Confirmed>('PUT', PATH, { as: null, person, body: { code } })
const remove = (server: TestServer, person: Cookie, password = PASSWORD_OF_PEOPLE) =>
  server.call('DELETE', PATH, { as: null, person, body: { password } })
const codeAt = (secret: string, timestamp: number) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })

/** Somebody with an authenticator: they have used its code of this moment. */
async function makeGuarded(server: TestServer, now: number) {
  const member = await addMember(server, 'analyst', 'main')
  const person = { ...member, ...personOf(await signIn(server, member)) }
  const { secret } = (await begin(server, person)).body
  const { recovery_codes: recoveryCodes } = (await confirm(server, person, codeAt(secret, now))).body
  return { ...person, secret, recoveryCodes }
}

describeEachStore('An authenticator (begin_totp, confirm_totp, remove_totp, sign_in)', (kind) => {
  let server: TestServer
  let now = NOON

  beforeAll(async () => {
    server = await startServer(kind, SECRET_KEY)
    server.setClock(now)
  })
  afterAll(() => server.stop())

  const later = (ms = 60_000) => server.setClock((now += ms))
  /** Each test begins when the failures of the one before are forgotten, because all come from one address. */
  const muchLater = () => later(2 * 60 * 60_000)
  const guarded = async () => {
    muchLater()
    return makeGuarded(server, now)
  }
  const member = async () => {
    muchLater()
    const person = await addMember(server, 'analyst', 'main')
    return { ...person, ...personOf(await signIn(server, person)) }
  }
  const enter = ({ email }: TestPerson, code?: string): Promise<SessionAnswer> => signIn(server, { email, code })
  const expectWrong = (answer: Answer<unknown>) => expectRefusal(answer, 401, 'unauthorized', ['code'])

  it('counts once a first code has confirmed it', async () => {
    const person = await member()
    expectRefusal(await begin(server, person, 'a wrong sentence'), 400, 'invalid_request', ['password'])
    expectRefusal(await confirm(server, person, '123456'), 409, 'conflict')
    const { status, body } = await begin(server, person)
    expect([status, body.secret]).toEqual([200, expect.stringMatching(/^[A-Z2-7]{32}$/)])
    const url = new URL(body.url)
    expect(decodeURIComponent(url.pathname)).toBe(`/Tidings:${person.email}`)
    expect([url.protocol, url.host, url.searchParams.get('secret')]).toEqual(['otpauth:', 'totp', body.secret])
    expect((await enter(person)).body.person.has_totp).toBe(false)
    const wrong = codeAt(body.secret, now + 10 * STEP_MS)
    expectRefusal(await confirm(server, person, wrong), 400, 'invalid_request', ['code'])
    const confirmed = await confirm(server, person, codeAt(body.secret, now))
    const codes = confirmed.body.recovery_codes
    expect(new Set(codes)).toHaveLength(10)
    for (const code of codes) expect(code).toMatch(/^[a-hj-kmnp-z2-9]{5}-[a-hj-kmnp-z2-9]{5}$/)
    expect((await getSession(server, person)).body.person.has_totp).toBe(true)
    expectWrong(await enter(person))
  })

  it('is begun anew as often as one likes, until it is confirmed', async () => {
    const person = await member()
    const [first, second] = [(await begin(server, person)).body.secret, (await begin(server, person)).body.secret]
    const old = codeAt(first, now)
    expectRefusal(await confirm(server, person, old), 400, 'invalid_request', ['code'])
    expect((await confirm(server, person, codeAt(second, now))).status).toBe(200)
    expectRefusal(await begin(server, person), 409, 'conflict')
    later()
    expectRefusal(await confirm(server, person, codeAt(second, now)), 409, 'conflict')
  })

  it('asks for a code only after the right password', async () => {
    const person = await guarded()
    const missing = await enter(person)
    expectWrong(missing)
    expect(missing.body.error.message).toBe('Sign-in also requires a code.')
    expect(missing.headers.get('set-cookie')).toBeNull()
    later()
    const guess = { email: person.email, password: 'a wrong sentence' }
    const code = codeAt(person.secret, now)
    expectRefusal(await signIn(server, guess), 401, 'unauthorized')
    expectRefusal(await signIn(server, { ...guess, code }), 401, 'unauthorized')
    expect((await enter(person, code)).status).toBe(200)
  })

  it('shows codes that work once, and none that is older', async () => {
    const person = await guarded()
    expectWrong(await enter(person, codeAt(person.secret, now)))
    later()
    const code = codeAt(person.secret, now)
    expect((await enter(person, `${code.slice(0, 3)} ${code.slice(3)}`)).status).toBe(200)
    expectWrong(await enter(person, code))
    expectWrong(await enter(person, codeAt(person.secret, now - STEP_MS)))
    later(STEP_MS)
    expectWrong(await enter(person, code))
    expect((await enter(person, codeAt(person.secret, now))).status).toBe(200)
  })

  it('shows codes that work once, also if they are used twice at the same moment', async () => {
    const person = await guarded()
    later()
    const code = codeAt(person.secret, now)
    const answers = await Promise.all([enter(person, code), enter(person, code)])
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 401]))
  })

  it.each([
    [-2, 401],
    [-1, 200],
    [0, 200],
    [1, 200],
    [2, 401],
  ])('may have a clock that is %i steps of 30 seconds away: %i', async (steps, status) => {
    const person = await guarded()
    later()
    expect((await enter(person, codeAt(person.secret, now + steps * STEP_MS))).status).toBe(status)
  })

  it('is replaced by a recovery code, each once, however it is written', async () => {
    const person = await guarded()
    const [first = '', second = '', third = ''] = person.recoveryCodes
    expect((await enter(person, first)).status).toBe(200)
    expectWrong(await enter(person, first))
    expect((await enter(person, second.toUpperCase().replace('-', ''))).status).toBe(200)
    expectWrong(await enter(person, second))
    const answers = await Promise.all([enter(person, third), enter(person, third)])
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 401]))
  })

  it('makes those wait who guess codes, together or one after the other', async () => {
    const person = await guarded()
    later()
    const guesses = Array.from({ length: 8 }, (_, count) => enter(person, String(100_000 + count)))
    const statuses = (await Promise.all(guesses)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(5)
    expectRefusal(await enter(person, codeAt(person.secret, now)), 429, 'rate_limited')
    later(1_000)
    expect((await enter(person, codeAt(person.secret, now))).status).toBe(200)
  })

  it('counts no failure for a code that is only missing, and forgives none', async () => {
    const person = await guarded()
    later()
    for (let count = 0; count < 6; count++) expectWrong(await enter(person))
    for (let count = 0; count < 5; count++) {
      expectWrong(await enter(person))
      expectWrong(await enter(person, '000000'))
    }
    expectRefusal(await enter(person), 429, 'rate_limited')
  })

  it('is not confirmed by somebody who guesses in a stolen session', async () => {
    const person = await member()
    await begin(server, person)
    const guesses = Array.from({ length: 8 }, (_, count) => confirm(server, person, String(100_000 + count)))
    const statuses = (await Promise.all(guesses)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 400)).toHaveLength(5)
    expect(statuses.filter((status) => status === 429)).toHaveLength(3)
  })

  it('is removed with the password, and its recovery codes with it', async () => {
    const person = await guarded()
    expectRefusal(await remove(server, person, 'a wrong sentence'), 400, 'invalid_request', ['password'])
    expectWrong(await enter(person))
    expect((await remove(server, person)).status).toBe(204)
    expect((await enter(person)).body.person.has_totp).toBe(false)
    const { secret } = (await begin(server, person)).body
    later()
    expect((await confirm(server, person, codeAt(secret, now))).status).toBe(200)
    expectWrong(await enter(person, person.recoveryCodes[0]))
  })

  it('is not asked for by a link for a new password, after which its owner can remove it', async () => {
    const person = await guarded()
    const owner = await addMember(server, 'owner', 'main')
    const calls = peopleCalls(server, personOf(await signIn(server, owner)))
    const { path } = (await calls.resetPassword(person.personId)).body
    const accepted = await acceptLink(server, { token: tokenOf(path) })
    expect(accepted.body.person.has_totp).toBe(true)
    expectWrong(await signIn(server, { email: person.email, password: NEW_PASSWORD }))
    expect((await remove(server, personOf(accepted), NEW_PASSWORD)).status).toBe(204)
  })

  it('stays in use if somebody begins with another one at the moment in which it is confirmed', async () => {
    const person = await member()
    const { secret } = (await begin(server, person)).body
    const passwordHashes = new (class extends PasswordHashes {
      override async isRight(...given: Parameters<PasswordHashes['isRight']>) {
        const isRight = await super.isRight(...given)
        expect((await confirm(server, person, codeAt(secret, now))).status).toBe(200)
        return isRight
      }
    })()
    const { database } = server
    const parts = { database, passwordHashes, signInDelays: new SignInDelays(), secretVault: new SecretVault(KEY) }
    const credential = { kind: 'person', personId: person.personId }
    const request = { body: { password: PASSWORD_OF_PEOPLE }, credential, callerAddress: '192.0.2.1', now }
    const beginning = beginTotp.handle(request as never, parts as Partial<Parts> as Parts)
    await expect(beginning).rejects.toMatchObject({ code: 'conflict' })
    expect((await findPersonByNumber(database, person.number))?.hasTotp).toBe(true)
  })

  it('is confirmed only if its secret was not replaced in the meantime', async () => {
    const { number } = await addMember(server, 'analyst', 'main')
    const confirmed = { step: 1, recoveryCodes: [] }
    const save = (sealedTotp: string) =>
      server.database.write((store) => saveConfirmedTotp(store, { number, sealedTotp }, confirmed))
    for (const sealed of ['first', 'second']) await server.database.write((store) => proposeTotp(store, number, sealed))
    expect([await save('first'), await save('second'), await save('second')]).toEqual([false, true, false])
  })
})

describeOnPostgres('An authenticator, where a server has no SECRET_KEY (begin_totp, sign_in)', () => {
  it('cannot be begun, and its owner signs in with recovery codes', async () => {
    const server = await startServer('postgres', SECRET_KEY)
    server.setClock(NOON)
    const keyless = await startServer('postgres', {}, { beside: server })
    keyless.setClock(NOON + 60_000)
    const person = await makeGuarded(server, NOON)
    const other = await addMember(server, 'analyst', 'main')
    const began = await begin(keyless, personOf(await signIn(keyless, other)))
    expectRefusal(began, 409, 'conflict')
    expect(began.body.error.message).toContain('SECRET_KEY')
    const refused = await signIn(keyless, { ...person, code: codeAt(person.secret, NOON + 60_000) })
    expectRefusal(refused, 503, 'unavailable')
    expect(refused.body.error.message).toContain('recovery code')
    expect((await signIn(keyless, { ...person, code: person.recoveryCodes[0] })).status).toBe(200)
    const warnings = [KEY, randomBytes(32)].map((key) => findSecretsWarning(server.database, new SecretVault(key)))
    expect(await Promise.all(warnings)).toEqual([undefined, expect.stringContaining('recovery codes')])
    expect(await findSecretsWarning(server.database, undefined)).toContain('SECRET_KEY is not set')
    await keyless.stop()
    await server.stop()
  })
})
