// Opens a page in Chromium, and finds what a person would not see: errors on the console, violations of its Content-Security-Policy,
// failed requests, and requests to other servers. Each fails the test.
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

/** In pixels: a desk, and a phone. */
export const WIDTHS = [1280, 390] as const
export const SCHEMES = ['light', 'dark'] as const
const HEIGHT = 844

export interface OpenedPage {
  /** The address of the server; addresses of the test are relative to it. */
  readonly url: string
  readonly width?: number
  /** Problems that the test itself causes, such as the console's line about a refused request. */
  readonly expected?: readonly RegExp[]
  /** The rest of Playwright's options. */
  readonly context?: BrowserContextOptions
}

/** Gives `use` a page of its own, then fails if anything went wrong on it. */
export async function withPage(
  browser: Browser,
  { url, width = WIDTHS[0], expected = [], context: more }: OpenedPage,
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width, height: HEIGHT },
    colorScheme: SCHEMES[0],
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
    ...more,
  })
  try {
    await context.addInitScript(REPORT_VIOLATIONS)
    const page = await context.newPage()
    const problems = recordProblems(page, new URL(url).origin)
    await use(page)
    // A task of the page that comes after the events of what it did so far.
    await page.evaluate('new Promise((done) => setTimeout(done))')
    const unexpected = problems.filter((problem) => !expected.some((pattern) => pattern.test(problem)))
    if (unexpected.length > 0) throw new Error(`Not all is well on the page:\n${unexpected.join('\n')}`)
  } finally {
    await context.close()
  }
}

/** Chromium's own message does not always name what was blocked. */
const REPORT_VIOLATIONS = `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile, lineNumber }) =>
  console.error('violates ' + violatedDirective + ': ' + blockedURI + ' at ' + sourceFile + ':' + lineNumber))`

function recordProblems(page: Page, origin: string): string[] {
  const problems: string[] = []
  page.on('console', (message) => {
    const level = message.type()
    if (level === 'error' || level === 'warning') problems.push(`${level} on the console: ${message.text()}`)
  })
  page.on('pageerror', (error) => problems.push(`uncaught ${error.stack ?? error.message}`))
  page.on('request', (request) => {
    const { protocol, origin: to } = new URL(request.url())
    if (to !== origin && protocol !== 'data:' && protocol !== 'blob:') problems.push(`asked ${request.url()}`)
  })
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText ?? ''
    // What the page itself, or leaving it, has ended.
    if (why !== 'net::ERR_ABORTED') problems.push(`could not load ${request.url()}: ${why}`)
  })
  return problems
}
