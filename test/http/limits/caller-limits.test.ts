// The limits of callers who are no API client: each session for itself, and each address that is not signed in.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AppError } from '../../../src/core/app-error.ts'
import { LIMIT_DEFAULTS } from '../../../src/core/workspace.ts'
import { CallerLimit } from '../../../src/http/limits/caller-limits.ts'
import { signIn } from '../../support/accounts/account-calls.ts'
import { signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import { expectRefusal, startServer, type Answer, type TestServer, type TestWorkspace } from '../../support/server.ts'

const MINUTE_MS = 60_000
const SESSION_MAX = 1_200
const ADDRESS_MAX = 60
const CALLERS_MAX = 10_000
const remainingOf = ({ headers }: Answer<unknown>) => Number(headers.get('x-ratelimit-remaining'))

describe('The limit of callers', () => {
  it('is exact at the edge, and starts anew each minute', () => {
    const limit = new CallerLimit(2)
    const take = (now: number) => {
      const { state, refusal } = limit.take('a', now)
      return [state.remaining, (refusal as AppError | undefined)?.retryAfterSeconds]
    }
    expect([take(0), take(500), take(500), take(MINUTE_MS - 1)]).toEqual([
      [1, undefined],
      [0, undefined],
      [0, 60],
      [0, 1],
    ])
    expect(take(MINUTE_MS)).toEqual([1, undefined])
    expect(limit.take('b', MINUTE_MS).state).toEqual({ limit: 2, remaining: 1, reset: 120 })
  })

  it('counts callers beyond ten thousand in a minute together', () => {
    const limit = new CallerLimit(2)
    for (let at = 0; at < CALLERS_MAX; at++) limit.take(`known-${at}`, 0)
    const isRefused = (caller: string) => limit.take(caller, 0).refusal !== undefined
    expect(['other-1', 'other-2', 'other-3', 'known-1'].map(isRefused)).toEqual([false, false, true, false])
  })
})

describe('Requests of a session', () => {
  let server: TestServer
  let workspace: TestWorkspace
  let person: SignedInPerson
  // The session began now, so the clock stays in this minute.
  const now = Date.now()

  beforeAll(async () => {
    server = await startServer('sqlite', { TRUSTED_PROXIES: '127.0.0.1' })
    workspace = await server.makeWorkspace({ limits: { ...LIMIT_DEFAULTS, management_per_minute: 3 } })
    person = await signInAs(server, 'owner')
    server.setClock(now)
  })
  afterAll(() => server.stop())

  const list = (options: object) =>
    server.call('GET', `/v1/event/${workspace.id}?customer_id=c1`, { as: workspace, ...options })
  const readLink = (from: string, headers: Record<string, string> = {}) =>
    server.call('POST', '/v1/access-links/read', {
      as: null,
      headers: { 'x-forwarded-for': from, ...headers },
      body: { token: 'unknown' },
    })

  it('take nothing from the limits of the workspace, nor its keys from theirs', async () => {
    const before = remainingOf(await list({ person }))
    for (let count = 0; count < 5; count++) expect((await list({ person })).status).toBe(200)
    expect(remainingOf(await list({ person }))).toBe(before - 6)
    expect(remainingOf(await list({}))).toBe(2)
    expect([(await list({})).status, (await list({})).status, (await list({})).status]).toEqual([200, 200, 429])
    expect((await list({ person })).status).toBe(200)
  })

  it('are 1,200 a minute, each session for itself, also those that are refused', async () => {
    const one = await signInAs(server, 'analyst')
    const other = { cookie: (await signIn(server, one)).headers.get('set-cookie')?.split(';')[0] ?? '' }
    const first = await list({ person: one })
    expectRefusal(first, 403, 'forbidden')
    expect(first.headers.get('x-ratelimit-limit')).toBe(String(SESSION_MAX))
    expect(remainingOf(first)).toBe(SESSION_MAX - 1)
    const get = (caller: { cookie: string }) => server.call('GET', '/v1/session', { as: null, person: caller })
    for (let left = SESSION_MAX - 1; left > 0;) {
      const answers = await Promise.all(Array.from({ length: Math.min(left, 100) }, () => get(one)))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
      left -= answers.length
    }
    const refused = await get(one)
    expectRefusal(refused, 429, 'rate_limited')
    expect(Number(refused.headers.get('retry-after'))).toBe(Math.max(1, 60 - Math.floor((now / 1000) % 60)))
    expect((await get(other)).status).toBe(200)
  })

  it('are not those of the address: 60 a minute without a session', async () => {
    const from = '198.51.100.1'
    for (let count = 0; count < ADDRESS_MAX; count++) expectRefusal(await readLink(from), 404, 'not_found')
    expectRefusal(await readLink(from), 429, 'rate_limited')
    expectRefusal(await readLink(`${from}:4711`), 429, 'rate_limited')
    expectRefusal(await readLink('198.51.100.2'), 404, 'not_found')
    const headers = { 'x-forwarded-for': from }
    expect((await list({ person, headers })).status).toBe(200)
    expectRefusal(await readLink(from, { cookie: person.cookie }), 404, 'not_found')
  })
})
