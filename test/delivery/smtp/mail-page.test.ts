// Links of a mail on the page of the sink, in a browser: a click reaches the server in a new tab, and nothing else in the mail does.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FrameLocator, Locator, Page } from 'playwright-core'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { describeInChromium } from '../../support/browser/chromium.ts'
import { withPage } from '../../support/browser/open-page.ts'
import { startMailPage } from '../../support/mail-sink/mail-page.ts'
import { RecordedMails } from '../../support/mail-sink/recorded-mails.ts'

/** What a mail tries on its own or when somebody presses «Go», and how Chromium refuses it. */
const ATTEMPTS: readonly (readonly [what: string, html: string, refusal: RegExp])[] = [
  ['a script', `<script>fetch('URL/script')</script>`, /Blocked script execution/],
  ['a link that is a script', `<a href="javascript:fetch('URL/url')">Go</a>`, /Running the JavaScript URL violates/],
  ['a form', `<form action="URL/form" method="post"><button>Go</button></form>`, /Blocked form submission/],
  ['a frame', `<iframe src="URL/frame"></iframe>`, /Framing .* violates .* "default-src 'none'"/],
  ['a redirect', `<meta http-equiv="refresh" content="0;url=URL/redirect">`, /Refused to execute the redirect/],
  ['a ping', `<a href="URL/clicked" ping="URL/ping">Go</a>`, /Connecting to '.*\/ping' violates/],
  ['a link that replaces the page', `<a href="URL/top" target="_top">Go</a>`, /navigation of the top-level/],
]
/** The console says each refusal; Playwright tells of requests that the policy then stops. */
const REFUSED = [/sandboxed/, /violates/, /asked http:.*\/ping/, /could not load .*: csp/]

describeInChromium('A mail on the page of a sink', (browser) => {
  const mails = new RecordedMails({})
  let page: Awaited<ReturnType<typeof startMailPage>>
  /** Where the links of the mails lead. */
  let server: Server
  let url: string
  let requests: string[]
  /** On the console of the page. */
  let said: string[]

  beforeEach(async () => {
    requests = []
    said = []
    server = createServer(({ method, url: path, headers }, response) => {
      if (path !== '/favicon.ico') requests.push(`${method} ${path} ${headers.referer ?? 'without referrer'}`)
      response.setHeader('content-type', 'text/html').end('<title>Arrived</title>')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    page = await startMailPage(mails, 0)
  })
  afterEach(async () => {
    await page.stop()
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
    mails.clear()
  })

  const show = async (
    type: 'html' | 'plain',
    body: string,
    use: (shown: Page, mail: FrameLocator) => Promise<void>,
  ) => {
    const raw = Buffer.from(`Subject: News\r\nContent-Type: text/${type}\r\n\r\n${body.replaceAll('URL', url)}`)
    const { number } = mails.add({ connection: 1, at: 0, from: 'a@from.test', to: ['b@to.test'], raw })
    await withPage(browser(), { url: page.url, expected: REFUSED }, async (shown) => {
      shown.on('console', (message) => said.push(message.text()))
      await shown.goto(`/mails/${number}`)
      await use(shown, shown.frameLocator('iframe'))
      expect(shown.url()).toBe(`${page.url}/mails/${number}`)
    })
  }

  /** The address of the tab, which must have arrived and know nothing of the page. */
  const click = async (shown: Page, link: Locator): Promise<string> => {
    const opened = shown.waitForEvent('popup')
    await link.click()
    const tab = await opened
    await tab.waitForURL(`${url}/**`)
    expect([await tab.title(), await tab.evaluate('opener')]).toEqual(['Arrived', null])
    return tab.url().slice(url.length)
  }

  it('opens its links in new tabs, which cannot reach the page', async () => {
    const links = ['', 'target="_blank"', 'target="named"', 'target="_blank" rel="opener"']
    const html = links.map((attributes, index) => `<a href="URL/c/${index}" ${attributes}>Link ${index}</a> `).join('')
    await show('html', `<!doctype html><html><body>${html}</body></html>`, async (shown, mail) => {
      for (const index of links.keys()) {
        expect(await click(shown, mail.getByText(`Link ${index}`))).toBe(`/c/${index}`)
        expect(await mail.getByText('Link 0').isVisible()).toBe(true)
      }
      expect(await mail.locator('html').evaluate('document.compatMode')).toBe('CSS1Compat')
    })
    expect(requests).toEqual([...links.keys()].map((index) => `GET /c/${index} without referrer`))
  })

  it('opens addresses of its text in new tabs', async () => {
    await show('plain', 'Have a look (URL/c/text?a=1&b=2).', async (shown) => {
      expect(await click(shown, shown.getByRole('link', { name: url }))).toBe('/c/text?a=1&b=2')
    })
    expect(requests).toEqual(['GET /c/text?a=1&b=2 without referrer'])
  })

  it.each(ATTEMPTS)('refuses %s', async (_what, html, refusal) => {
    const opened = html.includes('/clicked') ? ['GET /clicked without referrer'] : []
    await show('html', `${html}<p><a href="URL/last">Last</a></p>`, async (shown, mail) => {
      if (html.includes('Go')) await mail.getByText('Go').click()
      await expect.poll(() => said).toContainEqual(expect.stringMatching(refusal))
      await expect.poll(() => requests).toEqual(opened)
      await click(shown, mail.getByText('Last'))
    })
    expect(requests).toEqual([...opened, 'GET /last without referrer'])
  })
})
