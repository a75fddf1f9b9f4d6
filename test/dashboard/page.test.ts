// The page of the dashboard in a browser: it loads fast, nothing from elsewhere, in both schemes and on a phone, at every address.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PASSWORD_OF_PEOPLE, signInAs } from '../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../support/browser/accessibility.ts'
import { describeInChromium } from '../support/browser/chromium.ts'
import { WIDTHS, withPage } from '../support/browser/open-page.ts'
import { startServer, type TestServer } from '../support/server.ts'

/** The budgets of a first load. */
const SCRIPT_BYTES_MAX = 45 * 1024
const STYLE_BYTES_MAX = 15 * 1024
const REQUESTS_MAX = 8

describeInChromium('The dashboard', (browser) => {
  let server: TestServer
  beforeAll(async () => void (server = await startServer('sqlite')))
  afterAll(() => server.stop())

  /** Waits until the page asks to sign in. */
  const seeSignIn = (page: Page) => page.getByRole('heading', { name: 'Sign in' }).waitFor()

  it.each(WIDTHS)('asks nobody in particular to sign in, at %i px', async (width) => {
    await withPage(browser(), { url: server.url, width }, async (page) => {
      await page.goto('/dashboard')
      await seeSignIn(page)
      await expectNoAxeViolations(page)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    })
  })

  it.each(WIDTHS)('is where the API reference leads back to, at %i px', async (width) => {
    await withPage(browser(), { url: server.url, width }, async (page) => {
      await page.goto('/docs')
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      await page.getByRole('link', { name: 'Back to the dashboard' }).click()
      await seeSignIn(page)
    })
  })

  it('leads back to the page that somebody wanted before they signed in, and shows it again after a reload', async () => {
    const { email } = await signInAs(server, 'owner')
    await withPage(browser(), { url: server.url }, async (page) => {
      await page.goto('/dashboard/main/settings/apis')
      await seeSignIn(page)
      await page.getByLabel('Email address').fill(email)
      await page.getByLabel('Password').fill(PASSWORD_OF_PEOPLE)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'APIs' }).waitFor()
      await page.reload()
      await page.getByRole('heading', { name: 'APIs' }).waitFor()
      expect(page.url()).toBe(`${server.url}/dashboard/main/settings/apis`)
    })
  })

  it('says the same to a wrong password and an unknown address, and keeps what was typed', async () => {
    const expected = [/status of 401/]
    await withPage(browser(), { url: server.url, expected }, async (page) => {
      await page.goto('/dashboard/sign-in')
      await page.getByLabel('Email address').fill('nobody@example.com')
      await page.getByLabel('Password').fill('not the password')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('The email address or password is wrong.').waitFor()
      expect(await page.getByLabel('Email address').inputValue()).toBe('nobody@example.com')
      await expectNoAxeViolations(page)
    })
  })

  it('tells a server that does not answer from one that is asked', async () => {
    const expected = [/could not load/, /ERR_CONNECTION_REFUSED/]
    await withPage(browser(), { url: server.url, expected }, async (page) => {
      await page.route(`${server.url}/v1/session`, (route) => route.abort('connectionrefused'))
      await page.goto('/dashboard')
      await page.getByRole('alert').getByText('The server cannot be reached.').waitFor()
      await expectNoAxeViolations(page)
      await page.unroute(`${server.url}/v1/session`)
      await page.getByRole('button', { name: 'Try again' }).click()
      await seeSignIn(page)
    })
  })

  const forbidden: [what: string, work: () => void, problem: RegExp][] = [
    ['a script in the page', () => insert('script', { textContent: 'alert(1)' }), /violates require-trusted-types-for/],
    ['HTML as text', () => insert('p', { innerHTML: '<b>1</b>' }), /violates require-trusted-types-for/],
    ['a style in the page', () => insert('style', { textContent: 'p { color: red }' }), /violates style-src-elem/],
    ['a picture of another server', () => insert('img', { src: 'http://elsewhere.test/' }), /violates img-src/],
    ['a frame of another server', () => insert('iframe', { src: 'http://elsewhere.test/' }), /violates frame-src/],
    ['a request to another server', () => void fetch('http://elsewhere.test/'), /violates connect-src/],
    ['an error', () => void Promise.reject(new Error('broken')), /uncaught Error: broken/],
  ]
  it.each(forbidden)('does not hide %s', async (_what, work, problem) => {
    const opened = withPage(browser(), { url: server.url }, async (page) => {
      await page.goto('/dashboard')
      await seeSignIn(page)
      await page.evaluate(`{ ${INSERT}; try { (${work.toString()})() } catch {} }`)
      await seeSignIn(page)
    })
    await expect(opened).rejects.toThrow(problem)
  })

  it('loads little at first', async () => {
    await withPage(browser(), { url: server.url }, async (page) => {
      const asked: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      await page.goto('/dashboard')
      await seeSignIn(page)
      expect(asked.length).toBeLessThanOrEqual(REQUESTS_MAX)
      expect(await bytesOf(asked.filter((address) => address.endsWith('.js')))).toBeLessThanOrEqual(SCRIPT_BYTES_MAX)
      expect(await bytesOf(asked.filter((address) => address.endsWith('.css')))).toBeLessThanOrEqual(STYLE_BYTES_MAX)
    })
  })
})

/** Runs in the page. */
declare function insert(name: string, members: object): void
const INSERT =
  'const insert = (name, members) => document.body.append(Object.assign(document.createElement(name), members))'

/** As they are sent to a browser that takes gzip. */
async function bytesOf(addresses: readonly string[]): Promise<number> {
  expect(addresses.length).toBeGreaterThan(0)
  const sizes = addresses.map(async (address) => {
    const { headers } = await fetch(address, { method: 'HEAD', headers: { 'accept-encoding': 'gzip' } })
    expect(headers.get('content-encoding')).toBe('gzip')
    return Number(headers.get('content-length'))
  })
  return (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes)
}
