// The reference page over HTTP: everything it names is served by Tidings itself, and nothing is loaded from elsewhere.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PageStatuses } from './page-without-files.ts'
import { startServer, type Answer, type TestServer } from './server.ts'

describe('The reference page', () => {
  let server: TestServer
  let page: Answer<string>

  beforeAll(async () => {
    server = await startServer('sqlite')
    page = await server.call<string>('GET', '/docs', { as: null })
  })
  afterAll(() => server.stop())

  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(new URL(path, server.url), { headers: { 'accept-encoding': 'identity', ...headers } })

  /** Every address in an attribute of the page. */
  const addresses = () =>
    [...page.body.matchAll(/(?:src|href|action)="([^"]*)"/g)].map(([, address]) => String(address))

  it('is HTML, served without authentication', () => {
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.body).toContain('<title>Tidings API reference</title>')
  })

  it('is found with a slash at its end too', async () => {
    const answer = await fetch(new URL('/docs/', server.url))
    expect([answer.status, answer.url]).toEqual([200, `${server.url}/docs`])
  })

  it('names only what Tidings serves, relative to itself', async () => {
    expect(new Set(addresses())).toEqual(
      new Set([
        'docs',
        'docs/icon.svg',
        'docs/page.css',
        'docs/start.js',
        'docs/swagger-ui-bundle.js',
        'docs/swagger-ui.css',
        'openapi.json',
      ]),
    )
    for (const address of addresses()) {
      const answer = await get(new URL(address, `${server.url}/docs`).pathname)
      expect([address, answer.status]).toEqual([address, 200])
    }
  })

  const types: [path: string, mediaType: string][] = [
    ['/docs/page.css', 'text/css; charset=utf-8'],
    ['/docs/swagger-ui.css', 'text/css; charset=utf-8'],
    ['/docs/start.js', 'text/javascript; charset=utf-8'],
    ['/docs/swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
    ['/docs/icon.svg', 'image/svg+xml'],
  ]
  it.each(types)('serves %s as %s', async (path, mediaType) => {
    const answer = await get(path)
    expect(answer.headers.get('content-type')).toBe(mediaType)
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('has no script and no style inside of it', () => {
    expect(page.body).not.toMatch(/<script(?![^>]*\ssrc=)/)
    expect(page.body).not.toMatch(/<style|\sstyle=|\son\w+=/)
  })

  it('tells the browser to load nothing from elsewhere', () => {
    const policy = new Map(
      page.headers
        .get('content-security-policy')
        ?.split('; ')
        .map((directive) => [directive.split(' ')[0], directive.split(' ').slice(1).join(' ')]),
    )
    expect(Object.fromEntries(policy)).toEqual({
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': "'self'",
      'img-src': "'self' data:",
      'connect-src': "'self'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
    })
  })

  it('loads the document from beside itself, keeps no keys and asks no validator', async () => {
    const script = await (await get('/docs/start.js')).text()
    expect(script).toContain("url: 'openapi.json'")
    expect(script).toContain('persistAuthorization: false')
    expect(script).toContain('validatorUrl: null')
    expect(script).not.toMatch(/https?:/)
  })

  it('has styles that load nothing from elsewhere', async () => {
    for (const path of ['/docs/page.css', '/docs/swagger-ui.css']) {
      const style = await (await get(path)).text()
      expect(style).not.toMatch(/@import|url\(\s*['"]?(?!['"]?data:)/)
    }
  })

  it('spares the browser what it has already', async () => {
    const first = await get('/docs/swagger-ui-bundle.js')
    const tag = first.headers.get('etag') ?? ''
    const second = await get('/docs/swagger-ui-bundle.js', { 'if-none-match': tag })
    expect([first.headers.get('cache-control'), second.status, await second.text()]).toEqual(['no-cache', 304, ''])
    const other = await get('/docs/swagger-ui-bundle.js', { 'if-none-match': 'W/"other"' })
    expect(other.status).toBe(200)
  })

  const encodings: [accepted: string, used: string | null][] = [
    ['gzip', 'gzip'],
    ['gzip, deflate, br', 'gzip'],
    ['identity', null],
    ['gzip;q=0', null],
    ['gzip;q=0.5', 'gzip'],
  ]
  it.each(encodings)('with Accept-Encoding %s is sent with Content-Encoding %s', async (accepted, used) => {
    const answer = await get('/docs/swagger-ui-bundle.js', { 'accept-encoding': accepted })
    const plain = await get('/docs/swagger-ui-bundle.js')
    expect([answer.headers.get('content-encoding'), answer.headers.get('vary')]).toEqual([used, 'accept-encoding'])
    expect((await answer.text()) === (await plain.text())).toBe(true)
  })

  it('serves nothing else from the packages', async () => {
    for (const path of [
      '/docs/package.json',
      '/docs/index.html',
      '/docs/../package.json',
      '/docs/%2e%2e/package.json',
    ]) {
      expect((await get(path)).status).toBe(404)
    }
  })
})

it('The reference page is read again where it could not be read before', async () => {
  // Few enough to be opened in a moment, and more than Node needs for itself.
  const command = 'ulimit -n 256; exec "$0" "$@"'
  const program = new URL('page-without-files.ts', import.meta.url).pathname
  const { stdout } = await promisify(execFile)('bash', ['-c', command, process.execPath, program])
  expect(JSON.parse(stdout)).toEqual({ without: 500, after: 200 } satisfies PageStatuses)
})
