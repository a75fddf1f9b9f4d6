// The dashboard over HTTP: its page at every address below /dashboard, its files, and the frame for mails.
import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sendError, toAppError } from '../../../src/http/answers/error-answer.ts'
import { UnsentAnswers } from '../../../src/http/answers/unsent-answers.ts'
import { addMailFrame } from '../../../src/http/dashboard/mail-frame.ts'
import { HTTP_LIMITS } from '../../../src/http/http-limits.ts'
import { ReceivedBodies } from '../../../src/http/requests/received-bodies.ts'
import { signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import { RawConnection } from '../../support/raw-http.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'

describe('The dashboard', () => {
  let server: TestServer
  let scripts: string[]

  beforeAll(async () => {
    server = await startServer('sqlite')
    scripts = [...(await (await get('/dashboard')).text()).matchAll(/src="([^"]+)"/g)].map(([, path]) => String(path))
  })
  afterAll(() => server.stop())

  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(server.url + path, { headers: { 'accept-encoding': 'identity', ...headers } })

  it.each([
    '/dashboard',
    '/dashboard/',
    '/dashboard/main/campaigns?state=running',
    '/dashboard/setup',
    '/dashboard/a/b/c',
  ])('is the same page at %s, which no cache keeps', async (path) => {
    const answer = await get(path)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(await answer.text()).toBe(await (await get('/dashboard')).text())
  })

  it('forbids the browser everything that the page does not need', async () => {
    const { headers } = await get('/dashboard')
    expect(headers.get('content-security-policy')?.split(/[;,] /)).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "frame-src 'self'",
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      'frame-src *:*/dashboard/mail',
    ])
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
  })

  it('has no script and no style within the page', async () => {
    const page = await (await get('/dashboard')).text()
    expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/)
  })

  it('refers only to files that Tidings serves, under names that change with their content, for a year', async () => {
    const page = await (await get('/dashboard')).text()
    const addresses = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => String(address))
    const assets = addresses.filter((address) => address.startsWith('/dashboard/'))
    expect(assets).toEqual(expect.arrayContaining([expect.stringMatching(/^\/dashboard\/assets\/main-[\w-]{8}\.css$/)]))
    expect(scripts).toEqual([expect.stringMatching(/^\/dashboard\/assets\/main-[\w-]{8}\.js$/)])
    for (const address of addresses) expect([address, (await get(address)).status]).toEqual([address, 200])
    for (const address of assets) {
      expect((await get(address)).headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    }
  })

  const encodings: [accepted: string, used: string | null][] = [
    ['gzip, deflate, br', 'br'],
    ['gzip, br;q=0', 'gzip'],
    ['gzip', 'gzip'],
    ['identity', null],
    ['x-gzip, browser', null],
  ]
  it.each(encodings)('with Accept-Encoding %s sends its files with Content-Encoding %s', async (accepted, used) => {
    for (const path of ['/dashboard', ...scripts]) {
      const answer = await get(path, { 'accept-encoding': accepted })
      expect([answer.headers.get('content-encoding'), answer.headers.get('vary')]).toEqual([used, 'accept-encoding'])
      expect((await answer.text()) === (await (await get(path)).text())).toBe(true)
    }
  })

  it.each([
    '/dashboard/assets/none.js',
    '/dashboard/assets/../manifest.json',
    '/dashboard/assets/%2e%2e/manifest.json',
    '/dashboard/assets/..%2f..%2fpackage.json',
    '/dashboard/assets/index.html',
    '/dashboard/assets/__proto__',
  ])('has no file at %s', async (path) => {
    // As it is: `fetch` would resolve the dots itself.
    const connection = await RawConnection.open(server.url)
    await connection.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
    expect((await connection.nextAnswer()).status).toBe(404)
    connection.close()
  })

  it('takes no other methods', async () => {
    for (const [path, allowed] of [
      ['/dashboard', 'GET, HEAD'],
      ['/dashboard/main/users', 'GET, HEAD'],
      ['/dashboard/mail', 'GET, HEAD, POST'],
    ] as const) {
      const answer = await server.call('PUT', path, { as: null, body: {} })
      expectRefusal(answer, 405, 'method_not_allowed')
      expect([path, answer.headers.get('allow')]).toEqual([path, allowed])
    }
    const head = await fetch(`${server.url}/dashboard/main/users`, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })

  describe('as a frame for mails', () => {
    const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
    /** As a browser does from a page that sends no referrer. */
    const FROM_PAGE = { ...FORM, 'sec-fetch-site': 'same-origin', origin: 'null' }
    let analyst: SignedInPerson
    beforeAll(async () => void (analyst = await signInAs(server, 'analyst', 'main')))

    const show = (person: { readonly cookie: string } | undefined, headers: Record<string, string> = FROM_PAGE) =>
      server.call('POST', '/dashboard/mail', { as: null, person, headers, body: 'html=%3Cp%3EGr%C3%BC%C3%9Fe' })

    it('shows them to people with a session, and lets them do nothing', async () => {
      const shown = await show(analyst)
      expect([shown.status, shown.body]).toEqual([200, '<p>Grüße'])
      expect(shown.headers.get('content-security-policy')).toBe(
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'self'",
      )
      expect((await show(analyst, { ...FORM, origin: 'null' })).status).toBe(200)
    })

    it('shows them to nobody without a session', async () => {
      expectRefusal(await show(undefined), 403, 'forbidden')
      expectRefusal(await show({ cookie: `__Host-tidings=${'A'.repeat(43)}` }), 403, 'forbidden')
      const left = await signInAs(server, 'owner')
      await server.call('DELETE', '/v1/session', { as: null, person: left })
      expectRefusal(await show(left), 403, 'forbidden')
    })

    it('shows them to no page of another site', async () => {
      expectRefusal(await show(analyst, { ...FORM, 'sec-fetch-site': 'cross-site' }), 403, 'forbidden')
    })
  })
})

describe('The frame for mails', () => {
  const HTML = '<p onclick="alert(1)">Grüße &amp; mehr</p>\n<script>alert(1)</script>'
  let app: FastifyInstance
  let isSignedIn: boolean

  beforeEach(() => {
    isSignedIn = true
    const [bodies, unsent] = [new ReceivedBodies(HTTP_LIMITS), new UnsentAnswers(HTTP_LIMITS)]
    app = Fastify()
    app.setErrorHandler((error, _request, reply) => sendError(reply, toAppError(error)))
    addMailFrame(app, { path: '/mail', isSignedIn: () => isSignedIn, bodies, unsent })
  })
  afterEach(() => app.close())

  const post = (fields: Record<string, string>, headers: Record<string, string> = {}) => {
    const type = 'application/x-www-form-urlencoded'
    const payload = new URLSearchParams(fields).toString()
    return app.inject({ method: 'POST', url: '/mail', payload, headers: { 'content-type': type, ...headers } })
  }

  it('answers the HTML that it was sent, byte for byte, as a page that may do nothing', async () => {
    const { statusCode, headers, body } = await post({ html: HTML })
    expect([statusCode, body, headers['content-type']]).toEqual([200, HTML, 'text/html; charset=utf-8'])
    expect(String(headers['content-security-policy']).split('; ')).toEqual([
      'sandbox',
      "default-src 'none'",
      "style-src 'unsafe-inline'",
      'img-src data:',
      "base-uri 'none'",
      "frame-ancestors 'self'",
    ])
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  })

  it('loads pictures only if it is asked to', async () => {
    const { headers } = await post({ html: HTML, images: 'yes' })
    expect(headers['content-security-policy']).toContain('; img-src https: http: data:;')
  })

  const origins: [origin: Record<string, string>, status: number][] = [
    [{ 'sec-fetch-site': 'same-origin', origin: 'null' }, 200],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ origin: 'http://localhost:8080' }, 200],
    [{ origin: 'http://elsewhere.test' }, 403],
    [{ origin: 'null' }, 200],
  ]
  it.each(origins)('from %j is %i', async (origin, status) => {
    expect((await post({ html: HTML }, { host: 'localhost:8080', ...origin })).statusCode).toBe(status)
  })

  it('is for people who are signed in', async () => {
    isSignedIn = false
    expect((await post({ html: HTML })).statusCode).toBe(403)
  })

  it('takes 4 MiB at most', async () => {
    expect((await post({ html: 'x'.repeat(4 * 1024 * 1024) })).statusCode).toBe(413)
  })
})
