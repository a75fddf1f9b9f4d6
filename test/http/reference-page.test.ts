// The reference page over HTTP: Tidings itself serves everything it refers to, and the page loads nothing from other servers.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PageStatuses } from './page-without-files.ts'
import { startServer, type Answer, type TestServer } from '../support/server.ts'

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

  /** Every URL in an attribute of the page. */
  const addresses = () =>
    [...page.body.matchAll(/(?:src|href|action)="([^"]*)"/g)].map(([, address]) => String(address))

  it('is HTML, served without authentication', () => {
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.body).toContain('<title>Tidings API reference</title>')
  })

  it('is also served with a trailing slash', async () => {
    const answer = await fetch(new URL('/docs/', server.url))
    expect([answer.status, answer.url]).toEqual([200, `${server.url}/docs`])
  })

  it('refers only to what Tidings serves, by relative URLs', async () => {
    expect(new Set(addresses())).toEqual(
      new Set([
        'dashboard',
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

  it('has no inline script and no inline style', () => {
    expect(page.body).not.toMatch(/<script(?![^>]*\ssrc=)/)
    expect(page.body).not.toMatch(/<style|\sstyle=|\son\w+=/)
  })

  it('forbids the browser to load anything from other servers', () => {
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

  it('loads the document by a relative URL, stores no keys and uses no validator', async () => {
    const script = await (await get('/docs/start.js')).text()
    expect(script).toContain("url: 'openapi.json'")
    expect(script).toContain('persistAuthorization: false')
    expect(script).toContain('validatorUrl: null')
    expect(script).not.toMatch(/https?:/)
  })

  it('has no main element, because Swagger UI adds one', () => {
    expect(page.body).not.toContain('<main')
  })

  it('overrides the colour of header names in Swagger UI, which suits only light pages', async () => {
    const theirs = await (await get('/docs/swagger-ui.css')).text()
    expect(theirs).toContain('.swagger-ui table.headers td{color:')
    expect(await (await get('/docs/page.css')).text()).toContain('.swagger-ui table.headers td.header-col,')
  })

  it('stacks on a phone what is side by side on larger screens', async () => {
    const style = await (await get('/docs/page.css')).text()
    expect(style).toMatch(/\.page-header \{\s+display: flex;\s+flex-wrap: wrap;/)
    expect(style).toMatch(/@media \(max-width: 480px\) \{[^@]*\.swagger-ui table\.parameters/)
  })

  const texts: [length: number, shown: string][] = [
    [20_000, 'coloured'],
    [20_001, 'plain'],
    [4_000_000, 'plain'],
  ]
  it.each(texts)(
    'shows a text of %d characters %s, since highlighting longer ones freezes the browser',
    async (length, shown) => {
      const { SyntaxHighlighter } = pluginOf(await (await get('/docs/start.js')).text())
      const children = 'x'.repeat(length)
      const element = SyntaxHighlighter('coloured', SYSTEM)({ children })
      expect([element.type, element.children ?? element.given?.['children']]).toEqual([shown, children])
    },
  )

  it('shows a long text with the plain renderer that Swagger UI passes', async () => {
    const { SyntaxHighlighter } = pluginOf(await (await get('/docs/start.js')).text())
    const renderPlainText = ({ PlainTextViewer }: Record<string, unknown>) => ({
      type: 'asked for',
      of: PlainTextViewer,
    })
    const element = SyntaxHighlighter('coloured', SYSTEM)({ children: 'x'.repeat(20_001), renderPlainText })
    expect(element).toEqual({ type: 'asked for', of: 'plain' })
  })

  it('labels the field of a body for screen readers', async () => {
    const { TextArea } = pluginOf(await (await get('/docs/start.js')).text())
    const element = TextArea('textarea', SYSTEM)({ value: '{}' })
    expect(element.given).toEqual({ 'aria-label': 'Request body', value: '{}' })
  })

  it('signs in once for all operations, and completes paths, headers and dates of examples', async () => {
    const document = new PageElements()
    const calls: unknown[][] = []
    const openapi = (await server.call('GET', '/openapi.json', { as: null })).body
    const record =
      (name: string) =>
      (...given: unknown[]) =>
        calls.push([name, ...given])
    const reference = {
      authActions: { logout: record('logout') },
      preauthorizeBasic: record('authorize'),
      specSelectors: { specJson: () => ({ toJS: () => openapi }) },
      specActions: { updateSpec: record('updateSpec') },
    }
    const window = {
      matchMedia: () => ({ matches: false, addEventListener: () => undefined }),
      SwaggerUIBundle: () => reference,
    }
    const given = { workspace: ' main ', data: 'd', reports: 'r' }
    class FormData {
      readonly get = (name: keyof typeof given) => given[name]
    }
    runInNewContext(await (await get('/docs/start.js')).text(), { window, document, FormData, Date })
    document.submit({ preventDefault: () => undefined })
    const [data, reports, [, spec] = []] = calls
    expect([data, reports]).toEqual([
      ['authorize', 'DataKey', 'main', 'd'],
      ['authorize', 'ReportsKey', 'main', 'r'],
    ])
    const completed = JSON.parse(spec as string) as typeof openapi
    const today = new Date().toISOString().slice(0, 10)
    const text = JSON.stringify(completed)
    expect(text).toContain(`"end_date":"${today}"`)
    expect(text.match(/"name":"Workspace_ID"[^}]*"default":"main"/g)?.length).toBeGreaterThan(5)
    expect(text).toMatch(/"name":"SVC-APPKEY"[^]*?"default":"main"/)
    document.submit({ preventDefault: () => undefined })
    expect(calls[3]).toEqual(['logout', ['DataKey', 'ReportsKey']])
  })

  it('has styles that load nothing from other servers', async () => {
    for (const path of ['/docs/page.css', '/docs/swagger-ui.css']) {
      const style = await (await get(path)).text()
      expect(style).not.toMatch(/@import|url\(\s*['"]?(?!['"]?data:)/)
    }
  })

  it('answers 304 for a file that the browser has cached', async () => {
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

  it('serves no other file of the packages', async () => {
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

interface Element {
  readonly type: string
  readonly given?: Readonly<Record<string, unknown>> | null
  readonly children?: string
}

/** What Swagger UI passes to wrappers of its components; its elements only record their type. */
const SYSTEM = {
  React: { createElement: (type: string, given: Element['given'], children?: string) => ({ type, given, children }) },
  getComponent: (name: string) => (name === 'PlainTextViewer' ? 'plain' : undefined),
}

/** The elements of the page that its script uses. */
class PageElements {
  readonly form = { addEventListener: (_type: string, submit: (event: object) => void) => void (this.submit = submit) }
  readonly output = { value: '' }
  submit: (event: object) => void = () => undefined
  readonly documentElement = { classList: { toggle: () => false } }
  readonly getElementById = (id: string) => (id === 'sign-in' ? this.form : this.output)
}

type Wrapper = (original: string, system: typeof SYSTEM) => (given: Readonly<Record<string, unknown>>) => Element
type Wrappers = Readonly<Record<'SyntaxHighlighter' | 'TextArea', Wrapper>>

/** Runs the page's script like a browser, and returns its wrappers of Swagger UI components. */
function pluginOf(script: string): Wrappers {
  const started: { plugins: readonly (() => { readonly wrapComponents: Wrappers })[] }[] = []
  const window = {
    matchMedia: () => ({ matches: false, addEventListener: () => undefined }),
    SwaggerUIBundle: (options: (typeof started)[number]) => started.push(options),
  }
  runInNewContext(script, { window, document: new PageElements() })
  const plugin = started[0]?.plugins[0]
  if (!plugin) throw new Error('the page starts Swagger UI without a plugin')
  return plugin().wrapComponents
}

it('The reference page is read again after reading it failed', async () => {
  // Few enough to open quickly, and more than Node itself needs.
  const command = 'ulimit -n 256; exec "$0" "$@"'
  const program = new URL('page-without-files.ts', import.meta.url).pathname
  const { stdout } = await promisify(execFile)('bash', ['-c', command, process.execPath, program])
  expect(JSON.parse(stdout)).toEqual({ without: 500, after: 200 } satisfies PageStatuses)
})
