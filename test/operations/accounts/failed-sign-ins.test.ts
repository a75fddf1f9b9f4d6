// Signing in with a wrong password: the same answer for everybody, and waits that grow (`docs/api/people.md`).
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PasswordHashes } from '../../../src/actions/accounts/password-hash.ts'
import { SignInDelays } from '../../../src/actions/accounts/sign-in-delays.ts'
import { takeRole } from '../../../src/actions/accounts/change-roles.ts'
import { EVERY_WORKSPACE } from '../../../src/core/accounts/person.ts'
import { signIn as signInOperation } from '../../../src/operations/accounts/sign-in.ts'
import type { Parts } from '../../../src/operations/operation.ts'
import {
  findPersonByNumber,
  lockPassword,
  lockPeople,
  savePassword,
  type StoredPerson,
} from '../../../src/store/accounts/people.ts'
import { addSession, listSessionsOf, removeSessionsOf } from '../../../src/store/accounts/sessions.ts'
import { signIn } from '../../support/accounts/account-calls.ts'
import { addMember, PASSWORD_OF_PEOPLE, type TestPerson } from '../../support/accounts/sign-in-as.ts'
import { overtaken } from '../../support/meddled-store.ts'
import { recordQueries } from '../../support/record-queries.ts'
import { expectRefusal, startServer, type Answer, type TestServer } from '../../support/server.ts'
import { describeEachStore, describeOnPostgres } from '../../support/stores.ts'

const NOON = Date.UTC(2030, 0, 1, 12)
const SECOND_MS = 1_000
const MINUTE_MS = 60_000
/** Failures of an account, and of an address, before anybody must wait. */
const FREE_OF_ACCOUNT = 4
const FREE_OF_ADDRESS = 20

describeEachStore('Failed sign-ins (sign_in)', (kind) => {
  let server: TestServer
  let now = NOON
  let addresses = 0

  beforeAll(async () => {
    server = await startServer(kind, { TRUSTED_PROXIES: '127.0.0.1' })
    goTo(NOON)
  })
  afterAll(() => server.stop())

  const goTo = (time: number) => server.setClock((now = time))
  const anywhere = () => `198.51.100.${addresses++ % 250}`
  const attempt = (email: string, password?: string, from = anywhere()) =>
    signIn(server, { email, ...(password !== undefined && { password }) }, { 'x-forwarded-for': from })
  const fail = (email: string, from?: string) => attempt(email, 'a wrong sentence', from)
  const failOften = async (times: number, email: string, from?: string) => {
    for (let count = 0; count < times; count++) expectRefusal(await fail(email, from), 401, 'unauthorized')
  }
  /** The answer to somebody who must wait, and for how many seconds. */
  const waitOf = (answer: Answer<unknown>) => {
    expectRefusal(answer, 429, 'rate_limited')
    return Number(answer.headers.get('retry-after'))
  }

  it('get the same answer for a wrong password and for an unknown address', async () => {
    const { email } = await addMember(server, 'analyst')
    const answers = [await fail(email), await fail('nobody@example.com'), await fail('no address'), await fail('x')]
    for (const answer of answers) expectRefusal(answer, 401, 'unauthorized')
    expect(new Set(answers.map(visibleOf))).toHaveLength(1)
    expect(answers[0]?.body.error.message).toBe('The email address or password is wrong.')
    expect(answers.map(({ headers }) => headers.get('set-cookie'))).toEqual([null, null, null, null])
  })

  it('take the same work for a wrong password and for an unknown address', async () => {
    const { email } = await addMember(server, 'analyst')
    const work = async (address: string) => {
      let compared = 0
      const passwordHashes = new (class extends PasswordHashes {
        override isRight(...given: Parameters<PasswordHashes['isRight']>) {
          compared++
          return super.isRight(...given)
        }
      })()
      const queries = await recordQueries(server.database, async (store) => {
        const parts = { database: store, passwordHashes, signInDelays: new SignInDelays() }
        await expect(signInOnce(parts, { email: address, password: 'a wrong sentence' })).rejects.toMatchObject({
          code: 'unauthorized',
        })
      })
      return { compared, queries: queries.map((query) => query.compile().sql) }
    }
    const ofNobody = await work('nobody@example.com')
    expect(ofNobody).toMatchObject({ compared: 1, queries: [expect.stringContaining('select')] })
    expect(await work(email)).toEqual(ofNobody)
  })

  it.each(['an account', 'nobody'])('make the next attempt for %s wait, longer each time', async (whose) => {
    const { email } = whose === 'nobody' ? { email: 'absent@example.com' } : await addMember(server, 'analyst')
    await failOften(FREE_OF_ACCOUNT + 1, email)
    const waits: number[] = []
    while (waits.length < 11) {
      const wait = waitOf(await fail(email))
      waits.push(wait)
      goTo(now + wait * SECOND_MS - 1)
      expect(waitOf(await fail(email))).toBe(1)
      goTo(now + 1)
      await failOften(1, email)
    }
    // In five minutes, one failure is forgotten.
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 256, 256])
  })

  it('refuse the right password too while one must wait, and count as none after it was right', async () => {
    const { email } = await addMember(server, 'analyst')
    await failOften(FREE_OF_ACCOUNT + 1, email)
    const refused = await attempt(email)
    expect(waitOf(refused)).toBe(1)
    expect(refused.body.error.message).toBe('Too many failed attempts. Wait 1 second, then try again.')
    goTo(now + SECOND_MS)
    expect((await attempt(email)).status).toBe(200)
    await failOften(FREE_OF_ACCOUNT, email)
    expect((await attempt(email)).status).toBe(200)
  })

  it('count for one account however its address is spelt', async () => {
    const { email } = await addMember(server, 'analyst')
    const spellings = [email, email.toUpperCase(), ` ${email}`, `${email} `, email.replace('example', 'EXAMPLE')]
    for (const spelling of spellings) expectRefusal(await fail(spelling), 401, 'unauthorized')
    expect(waitOf(await fail(email))).toBe(1)
  })

  it('delay those that were sent together with them', async () => {
    const { email } = await addMember(server, 'analyst')
    const answers = await Promise.all(Array.from({ length: 15 }, () => fail(email)))
    const statuses = answers.map(({ status }) => status).toSorted((left, right) => left - right)
    expect(statuses).toEqual([...Array.from({ length: 5 }, () => 401), ...Array.from({ length: 10 }, () => 429)])
  })

  it('are forgotten one by one, each after five minutes', async () => {
    const { email } = await addMember(server, 'analyst')
    await failOften(FREE_OF_ACCOUNT, email)
    goTo(now + 5 * MINUTE_MS - 1)
    await failOften(1, email)
    expect(waitOf(await fail(email))).toBe(1)
    goTo(now + 10 * MINUTE_MS)
    await failOften(2, email)
    expect(waitOf(await fail(email))).toBe(1)
    goTo(now + 60 * MINUTE_MS)
    await failOften(FREE_OF_ACCOUNT, email)
    expect((await attempt(email)).status).toBe(200)
  })

  it('make everybody at one address wait after twenty, and nobody elsewhere', async () => {
    const { email } = await addMember(server, 'analyst')
    const here = '203.0.113.7'
    for (let count = 0; count < FREE_OF_ADDRESS; count++) await failOften(1, `guess-${count}@example.com`, here)
    // A success of one's own forgives nothing: otherwise every guesser would have one.
    expect((await attempt(email, undefined, here)).status).toBe(200)
    await failOften(1, 'guess-last@example.com', here)
    expect(waitOf(await attempt(email, undefined, here))).toBe(1)
    expect((await attempt(email, undefined, '203.0.113.8')).status).toBe(200)
    goTo(now + SECOND_MS)
    await failOften(1, 'guess-later@example.com', `${here}:4711`)
    expect(waitOf(await attempt(email, undefined, here))).toBe(2)
    goTo(now + 2 * SECOND_MS)
    expect((await attempt(email, undefined, here)).status).toBe(200)
  })

  it('do not slow down other accounts', async () => {
    const [one, other] = [await addMember(server, 'analyst'), await addMember(server, 'analyst')]
    await failOften(FREE_OF_ACCOUNT + 1, one.email)
    expect((await attempt(other.email)).status).toBe(200)
  })

  const overtakers: [what: string, overtake: (person: TestPerson) => Promise<void>][] = [
    ['replaced', ({ number }) => replacePassword(number)],
    ['of somebody who was removed', (person) => removePerson(person)],
  ]
  it.each(overtakers)('are those with a password that was %s a moment ago', async (_what, overtake) => {
    await addMember(server, 'owner')
    const person = await addMember(server, 'analyst')
    const passwordHashes = new (class extends PasswordHashes {
      override async isRight(...given: Parameters<PasswordHashes['isRight']>) {
        const isRight = await super.isRight(...given)
        await overtake(person)
        return isRight
      }
    })()
    const parts = { database: server.database, passwordHashes, signInDelays: new SignInDelays() }
    const signing = signInOnce(parts, { email: person.email, password: PASSWORD_OF_PEOPLE })
    await expect(signing).rejects.toMatchObject({ code: 'unauthorized' })
    expect(await listSessionsOf(server.database, person.number, NOON)).toEqual([])
  })

  const replacePassword = (person: number) =>
    server.database.write(async (store) => {
      await savePassword(store, person, 'another hash', NOON)
      await removeSessionsOf(store, person)
    })
  const removePerson = (person: TestPerson) =>
    server.database.write(async (store) => {
      await lockPeople(store)
      await takeRole(store, person, EVERY_WORKSPACE)
    })
})

describeOnPostgres('A sign-in while the person is removed', () => {
  it('leaves no session, which the next person with the same number would get', async () => {
    const server = await startServer('postgres')
    await addMember(server, 'owner')
    const { number } = await addMember(server, 'analyst')
    const person = (await findPersonByNumber(server.database, number)) as StoredPerson
    const { database, ended } = overtaken(server.database, { transaction: 1, name: 'people' }, () =>
      server.database.write(async (store) => {
        await lockPeople(store)
        await takeRole(store, person, EVERY_WORKSPACE)
      }),
    )
    const session = { id: 's', person: number, createdAt: NOON, lastSeenAt: NOON, address: '', agent: '' }
    await database.write(async (store) => {
      expect(await lockPassword(store, person)).toBe(true)
      await addSession(store, 'hash', session)
    })
    await ended()
    expect(await listSessionsOf(server.database, number, NOON)).toEqual([])
    await server.stop()
  })
})

/** One call of the operation, with parts of its own. */
function signInOnce(parts: object, body: { readonly email: string; readonly password: string }): Promise<unknown> {
  const request = { body, callerAddress: '192.0.2.1', now: NOON, header: () => undefined, setSession() {} }
  return signInOperation.handle(request as never, parts as Parts)
}

/** What a client sees, without the id and the date. */
function visibleOf({ status, headers, body }: Answer<{ readonly error: object }>): string {
  const shown = [...headers].filter(([name]) => !/^(x-request-id|date|x-ratelimit-.*)$/.test(name))
  return JSON.stringify([status, shown, { ...body.error, request_id: '' }])
}
