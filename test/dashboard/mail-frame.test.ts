// A mail of others in the frame of the dashboard: nothing in its HTML runs, and no request leaves it.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signInAs, type SignedInPerson } from '../support/accounts/sign-in-as.ts'
import { describeInChromium } from '../support/browser/chromium.ts'
import { enterAs } from '../support/browser/enter-as.ts'
import { withPage } from '../support/browser/open-page.ts'
import { startServer, type TestServer } from '../support/server.ts'

/** What a mail tries, on its own or when somebody presses «Go», and how Chromium refuses it. */
const ATTEMPTS: readonly (readonly [what: string, html: string, refusal: RegExp])[] = [
  ['a script', `<script>fetch('/script')</script>`, /Blocked script execution/],
  ['a handler', `<b onclick="fetch('/handler')">Go</b>`, /Blocked script execution/],
  ['a link that is a script', `<a href="javascript:fetch('/url')">Go</a>`, /Blocked script execution/],
  ['a form', `<form action="/form" method="post"><button>Go</button></form>`, /Blocked form submission/],
  ['a frame', `<iframe src="/frame"></iframe>`, /Framing .* violates .* "default-src 'none'"/],
  ['an object', `<object data="/object"></object>`, /plugin data from .*object' violates/],
  ['a picture', `<img src="http://elsewhere.test/pixel">`, /image 'http:\/\/elsewhere.test\/pixel' violates/],
  ['a picture of this server', `<img src="/pixel">`, /image '.*\/pixel' violates/],
  ['a background', `<p style="background: url(/background)">x</p>`, /image '.*\/background' violates/],
  ['a film', `<video src="/film" autoplay></video>`, /media from .*\/film' violates/],
  ['a style sheet', `<link rel="stylesheet" href="/sheet">`, /stylesheet '.*\/sheet' violates/],
  ['an import', `<style>@import "/import"</style>`, /stylesheet '.*\/import' violates/],
  [
    'a font',
    `<style>@font-face { font-family: f; src: url(/font) } p { font-family: f }</style>`,
    /font '.*' violates/,
  ],
  ['a redirect', `<meta http-equiv="refresh" content="0;url=/redirect">`, /Refused to execute the redirect/],
  ['a ping', `<a href="#here" ping="/ping">Go</a>`, /Connecting to '.*\/ping' violates/],
  ['a link to another server', `<a href="http://elsewhere.test/">Go</a>`, /Framing .* violates .* "frame-src 'self'"/],
  ['a link to this server', `<a href="/c/clicked">Go</a>`, /Framing .* violates .* "frame-src \*:\*\/dashboard\/mail"/],
  [
    'a link below its own address',
    `<a href="/dashboard/mail/x">Go</a>`,
    /violates .* "frame-src \*:\*\/dashboard\/mail"/,
  ],
  ['a link that replaces the page', `<a href="/dashboard/mail" target="_top">Go</a>`, /navigation of the top-level/],
  ['a link to another window', `<a href="/dashboard" target="_blank">Go</a>`, /Blocked opening/],
]
/** The console says each refusal; Playwright tells of requests that the policy then stops. */
const REFUSED = [/sandboxed/, /violates/, /asked http:\/\/elsewhere.test\/pixel/, /could not load .*: csp/]

describeInChromium('A mail in the frame', (browser) => {
  let server: TestServer
  let analyst: SignedInPerson
  beforeAll(async () => {
    server = await startServer('sqlite')
    analyst = await signInAs(server, 'analyst', 'main')
  })
  afterAll(() => server.stop())

  it('is shown, and does nothing', async () => {
    await withPage(browser(), { url: server.url, expected: REFUSED }, async (page) => {
      await enterAs(page, analyst)
      await page.goto('/dashboard/sign-in')
      const answered: string[] = []
      page.on('response', (response) => response.frame() !== page.mainFrame() && answered.push(response.url()))
      for (const [what, html, refusal] of ATTEMPTS) {
        const refused = page.waitForEvent('console', { predicate: (message) => refusal.test(message.text()) })
        const text = `This mail has ${what}.`
        const mail = await show(page, `${html}<p>${text}</p>`)
        await mail.getByText(text).waitFor()
        if (html.includes('Go')) await mail.getByText('Go').click()
        expect([what, (await refused).type()]).toEqual([what, 'error'])
      }
      expect(page.url()).toBe(`${server.url}/dashboard/sign-in`)
      expect(new Set(answered)).toEqual(new Set([`${server.url}/dashboard/mail`]))
    })
  })
})

/** As a page of the dashboard does it: a form that is sent to a frame. */
async function show(page: Page, html: string) {
  await page.evaluate(`{ ${SHOW}; show(${JSON.stringify(html)}) }`)
  return page.frameLocator('iframe')
}

const SHOW = `const show = (html) => {
  const make = (name, members) => Object.assign(document.createElement(name), members)
  const frame = make('iframe', { name: 'mail', sandbox: '' })
  const form = make('form', { method: 'post', action: '/dashboard/mail', target: 'mail', hidden: true })
  form.append(make('textarea', { name: 'html', value: html }))
  document.querySelector('iframe')?.remove()
  document.body.append(frame, form)
  form.submit()
  form.remove()
}`
