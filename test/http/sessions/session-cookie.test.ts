// The cookie of a session: over which connections browsers get which, and who may send it (`docs/api/people.md`).
import { request, type IncomingHttpHeaders } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AppError } from '../../../src/core/app-error.ts'
import { isSecureConnection, refuseOtherSites } from '../../../src/http/sessions/connection-security.ts'
import { readSessionCookie, toSetCookie } from '../../../src/http/sessions/session-cookie.ts'
import { acceptLink, getSession, personOf, readLink, signIn } from '../../support/accounts/account-calls.ts'
import { addMember, PASSWORD_OF_PEOPLE, signInAs } from '../../support/accounts/sign-in-as.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'

const PUBLIC = 'https://mail.example.com/t'
const MONTH_SECONDS = 30 * 24 * 60 * 60

const connections: [scheme: string, host: string | undefined, publicUrl: string | undefined, isSecure: boolean][] = [
  ['https', 'shop.example.com', undefined, true],
  ['https', undefined, undefined, true],
  ['http', 'localhost', undefined, true],
  ['http', 'LOCALHOST:8080', undefined, true],
  ['http', 'tidings.localhost:8080', undefined, true],
  ['http', '127.0.0.1:8080', undefined, true],
  ['http', '127.1.2.3', undefined, true],
  ['http', '[::1]:8080', undefined, true],
  ['http', undefined, undefined, false],
  ['http', '', undefined, false],
  ['http', 'shop.example.com', undefined, false],
  ['http', 'localhost.example.com', undefined, false],
  ['http', 'notlocalhost', undefined, false],
  ['http', '127.0.0.1.example.com', undefined, false],
  ['http', '127.0.0.1:8080.example.com', undefined, false],
  ['http', '127.0.0.1@example.com', undefined, false],
  ['http', '128.0.0.1', undefined, false],
  ['http', '[::1].example.com', undefined, false],
  ['http', '[::2]', undefined, false],
  ['http', '0.0.0.0:8080', undefined, false],
  ['http', 'mail.example.com', PUBLIC, true],
  ['http', 'MAIL.example.com:443', PUBLIC, true],
  ['http', 'mail.example.com:8080', PUBLIC, false],
  ['http', 'other.example.com', PUBLIC, false],
  ['http', undefined, PUBLIC, false],
  ['http', 'mail.example.com', 'http://mail.example.com', false],
  ['http', 'mail.example.com:8443', 'https://mail.example.com:8443', true],
]

describe('A connection', () => {
  it.each(connections)('by %s to %s, with PUBLIC_URL %s, is secret on the way: %s', (scheme, host, url, isSecure) => {
    expect(isSecureConnection(scheme, host, url)).toBe(isSecure)
  })
})

const HOST = 'shop.example.com:8080'
const origins: [site: string | undefined, origin: string | undefined, host: string | undefined, isOwn: boolean][] = [
  ['same-origin', undefined, HOST, true],
  ['none', undefined, HOST, true],
  ['same-site', undefined, HOST, false],
  ['cross-site', undefined, HOST, false],
  ['', undefined, HOST, false],
  ['same-origin, cross-site', undefined, HOST, false],
  ['cross-site', `http://${HOST}`, HOST, false],
  ['same-origin', 'https://evil.example', HOST, true],
  [undefined, undefined, HOST, true],
  [undefined, undefined, undefined, true],
  [undefined, `http://${HOST}`, HOST, true],
  [undefined, `https://${HOST}`, HOST, true],
  [undefined, `http://${HOST}`, HOST.toUpperCase(), true],
  [undefined, 'http://shop.example.com', 'shop.example.com:80', true],
  [undefined, 'https://shop.example.com', 'shop.example.com:443', true],
  [undefined, 'http://[::1]:8080', '[0:0::1]:8080', true],
  [undefined, 'https://shop.example.com', 'shop.example.com:80', false],
  [undefined, 'http://shop.example.com', HOST, false],
  [undefined, 'http://shop.example.com:8081', HOST, false],
  [undefined, `http://www.${HOST}`, HOST, false],
  [undefined, `http://${HOST}.evil.example`, HOST, false],
  [undefined, 'http://evil.example', HOST, false],
  [undefined, 'null', HOST, false],
  [undefined, 'null', undefined, false],
  [undefined, '', HOST, false],
]

describe('A request', () => {
  it.each(origins)('with Sec-Fetch-Site %s and Origin %s to %s is of an own page: %s', (site, origin, host, isOwn) => {
    expect(refusalOf({ 'sec-fetch-site': site, origin, host })).toBe(isOwn ? undefined : 'forbidden')
  })
})

function refusalOf(headers: IncomingHttpHeaders): string | undefined {
  try {
    refuseOtherSites(headers)
    return undefined
  } catch (error) {
    return (error as AppError).code
  }
}

const cookies: [header: string | undefined, isSecure: boolean, token: string | undefined][] = [
  [undefined, true, undefined],
  ['', true, undefined],
  ['__Host-tidings=abc', true, 'abc'],
  ['__Host-tidings=abc', false, undefined],
  ['tidings=abc', false, 'abc'],
  ['tidings=abc', true, undefined],
  ['theme=dark; __Host-tidings=abc; lang=de', true, 'abc'],
  ['theme=dark;__Host-tidings=abc', true, 'abc'],
  ['tidings=plain; __Host-tidings=secure', true, 'secure'],
  ['tidings=plain; __Host-tidings=secure', false, 'plain'],
  ['__Host-tidings=; __Host-tidings=abc', true, 'abc'],
  ['__Host-tidings=one; __Host-tidings=two', true, 'one'],
  ['__host-tidings=abc', true, undefined],
  ['x__Host-tidings=abc', true, undefined],
  ['theme=__Host-tidings=abc', true, undefined],
  ['__Host-tidings', true, undefined],
  ['__Host-tidings="abc"', true, '"abc"'],
]

describe('The header Cookie', () => {
  it.each(cookies)('%s over a connection that is secret (%s) has the session %s', (header, isSecure, token) => {
    expect(readSessionCookie(header, isSecure)).toBe(token)
  })
})

describe('The header Set-Cookie', () => {
  it.each([
    ['t', true, `__Host-tidings=t; Max-Age=${MONTH_SECONDS}; Path=/; HttpOnly; SameSite=Lax; Secure`],
    ['t', false, `tidings=t; Max-Age=${MONTH_SECONDS}; Path=/; HttpOnly; SameSite=Lax`],
    [null, true, '__Host-tidings=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax; Secure'],
    [null, false, 'tidings=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax'],
  ])('of %s over a connection that is secret (%s) is %s', (token, isSecure, text) => {
    expect(toSetCookie(token, isSecure)).toBe(text)
  })
})

interface HostAnswer {
  readonly status: number | undefined
  readonly cookie: string
  readonly body: Record<string, unknown>
}

/** Sends a request with another Host than the address says, which `fetch` cannot. */
function sendTo(url: string, host: string, options: { headers?: Record<string, string>; body?: unknown } = {}) {
  const { headers = {}, body } = options
  const sent = body === undefined ? undefined : JSON.stringify(body)
  const all = { host, ...(sent !== undefined && { 'content-type': 'application/json' }), ...headers }
  return new Promise<HostAnswer>((resolve, reject) => {
    const sending = request(
      `${url}/v1/sessions`,
      { method: sent === undefined ? 'GET' : 'POST', headers: all },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
        answer.on('end', () => {
          const cookie = answer.headers['set-cookie']?.join('\n') ?? ''
          resolve({ status: answer.statusCode, cookie, body: JSON.parse(text) as Record<string, unknown> })
        })
      },
    )
    sending.on('error', reject).end(sent)
  })
}

describe('Signing in (sign_in, get_session, sign_out)', () => {
  let server: TestServer
  let email: string

  const startWith = async (environment: Record<string, string>) => {
    server = await startServer('sqlite', environment)
    email = (await addMember(server, 'analyst', 'main')).email
  }
  const enterAt = (host: string, headers: Record<string, string> = {}) =>
    sendTo(server.url, host, { headers, body: { email, password: PASSWORD_OF_PEOPLE } })
  const getAt = (host: string, headers: Record<string, string>) => sendTo(server.url, host, { headers })
  const pairOf = ({ cookie }: HostAnswer) => cookie.split(';', 1)[0] ?? ''

  describe('without a proxy', () => {
    beforeAll(() => startWith({ PUBLIC_URL: PUBLIC }))
    afterAll(() => server.stop())

    it('at a loopback address sets the cookie that browsers keep for this host alone', async () => {
      const entered = await enterAt('127.0.0.1')
      expect(entered.body).toMatchObject({ is_secure: true, workspaces: [{ workspace_id: 'main', role: 'analyst' }] })
      expect(entered.cookie).toMatch(
        /^__Host-tidings=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
      )
      expect((await getAt('127.0.0.1', { cookie: pairOf(entered) })).status).toBe(200)
    })

    it('over plain http elsewhere sets the cookie that browsers keep there, and says so', async () => {
      const entered = await enterAt('shop.example.com')
      expect(entered.body).toMatchObject({ is_secure: false })
      expect(entered.cookie).toMatch(/^tidings=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/)
      const cookie = pairOf(entered)
      expect((await getAt('shop.example.com', { cookie })).status).toBe(200)
      expect((await getAt('127.0.0.1', { cookie })).status).toBe(401)
      expect((await getAt('shop.example.com', { cookie: `__Host-${cookie}` })).status).toBe(401)
    })

    it('believes no proxy that is not trusted, but PUBLIC_URL', async () => {
      const forwarded = await enterAt('shop.example.com', { 'x-forwarded-proto': 'https' })
      expect(forwarded.body).toMatchObject({ is_secure: false })
      expect((await enterAt('mail.example.com')).cookie).toMatch(/^__Host-tidings=.*; Secure$/)
    })

    it('gives another token each time', async () => {
      const [first, second] = [await enterAt('127.0.0.1'), await enterAt('127.0.0.1')]
      expect(pairOf(first)).not.toBe(pairOf(second))
      const fixed = '__Host-tidings=chosen-by-somebody-else'
      const entered = await enterAt('127.0.0.1', { cookie: fixed })
      expect([entered.status, pairOf(entered) === fixed]).toEqual([200, false])
    })

    it('ends with signing out, which takes the cookie away', async () => {
      const person = personOf(await signIn(server, { email }))
      const left = await server.call('DELETE', '/v1/session', { as: null, person })
      expect([left.status, left.headers.get('set-cookie')]).toEqual([204, toSetCookie(null, true)])
      expectRefusal(await getSession(server, person), 401, 'unauthorized')
    })

    it.each([
      ['no cookie', undefined],
      ['a wrong token', `__Host-tidings=${'A'.repeat(43)}`],
      ['an empty token', '__Host-tidings='],
      ['a token in quotes', '__Host-tidings="abc"'],
      ['a very long token', `__Host-tidings=${'A'.repeat(8_000)}`],
      ['a token that is no text of ours', "__Host-tidings=' or 1=1 --"],
    ])('is needed with %s', async (_what, cookie) => {
      const answer = await getSession(server, undefined, { cookie })
      expectRefusal(answer, 401, 'unauthorized')
      expect(answer.headers.get('www-authenticate')).toBe('Session realm="tidings"')
    })

    it('is not opened from a page of another site', async () => {
      const from = (headers: Record<string, string>) => signIn(server, { email }, headers)
      expectRefusal(await from({ 'sec-fetch-site': 'cross-site' }), 403, 'forbidden')
      expectRefusal(await from({ origin: 'http://evil.example' }), 403, 'forbidden')
      expect((await from({ 'sec-fetch-site': 'same-origin' })).status).toBe(200)
      expect((await from({ origin: server.url })).status).toBe(200)
      expectRefusal(await acceptLink({ call: withHeader('cross-site') }, { token: 'x' }), 403, 'forbidden')
      expectRefusal(await readLink({ call: withHeader('same-site') }, 'x'), 403, 'forbidden')
    })

    const withHeader =
      (site: string): TestServer['call'] =>
      (method, path, options) =>
        server.call(method, path, { ...options, headers: { 'sec-fetch-site': site } })
  })

  describe('behind a proxy that is trusted', () => {
    beforeAll(() => startWith({ TRUSTED_PROXIES: '127.0.0.1' }))
    afterAll(() => server.stop())

    it.each([
      ['https', true],
      ['http', false],
    ])('believes that the browser speaks %s with it', async (scheme, isSecure) => {
      const entered = await enterAt('shop.example.com', { 'x-forwarded-proto': scheme })
      expect(entered.body).toMatchObject({ is_secure: isSecure })
      expect(entered.cookie.startsWith('__Host-')).toBe(isSecure)
    })
  })

  describe('with REQUIRE_HTTPS', () => {
    beforeAll(() => startWith({ REQUIRE_HTTPS: '1', TRUSTED_PROXIES: '127.0.0.1' }))
    afterAll(() => server.stop())

    it('over plain http elsewhere is refused, and so is every session', async () => {
      const refused = await enterAt('shop.example.com')
      expect([refused.status, refused.cookie]).toEqual([403, ''])
      expect(JSON.stringify(refused.body)).toContain('REQUIRE_HTTPS')
      const entered = await enterAt('shop.example.com', { 'x-forwarded-proto': 'https' })
      const token = pairOf(entered).replace('__Host-', '')
      expect((await getAt('shop.example.com', { cookie: token })).status).toBe(403)
    })

    it('works over https and at a loopback address', async () => {
      expect((await enterAt('shop.example.com', { 'x-forwarded-proto': 'https' })).status).toBe(200)
      expect((await enterAt('127.0.0.1')).status).toBe(200)
    })

    it('leaves keys alone', async () => {
      expect((await server.call('GET', '/v1/event/main?customer_id=c1')).status).toBe(200)
    })
  })
})

describe('A refusal with 401', () => {
  it('makes browsers ask for a key only where no page could sign the person in', async () => {
    const server = await startServer('sqlite')
    const schemeOf = async (path: string, headers: Record<string, string> = {}) => {
      const answer = await server.call('GET', path, { as: null, headers })
      expect(answer.status).toBe(401)
      return answer.headers.get('www-authenticate')?.split(' ')[0]
    }
    const path = '/v1/event/main?customer_id=c1'
    expect(await schemeOf(path)).toBe('Basic')
    expect(await schemeOf(path, { 'sec-fetch-site': 'none' })).toBe('Basic')
    expect(await schemeOf(path, { 'sec-fetch-site': 'same-origin' })).toBe('Session')
    expect(await schemeOf(path, { cookie: '__Host-tidings=ended' })).toBe('Session')
    expect(await schemeOf('/v1/sessions')).toBe('Session')
    const person = await signInAs(server, 'analyst')
    const wrong = { authorization: 'Basic bWFpbjp3cm9uZw==' }
    expectRefusal(await server.call('GET', path, { as: null, person, headers: wrong }), 401, 'unauthorized')
    await server.stop()
  })
})
