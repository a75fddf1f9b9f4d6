// A page that stayed open while the server was upgraded: the scripts that it would load are gone.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signInAs, type SignedInPerson } from '../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../support/browser/accessibility.ts'
import { describeInChromium } from '../support/browser/chromium.ts'
import { enterAs } from '../support/browser/enter-as.ts'
import { WIDTHS, withPage } from '../support/browser/open-page.ts'
import { startServer, type TestServer } from '../support/server.ts'

const SCREENS = /\/dashboard\/assets\/(apis|access-link)-.*\.js$/
/** What an editor of code is made of. */
const CODE_EDITOR = /\/dashboard\/assets\/code-mirror-.*\.js$/
/** Chromium gives the error of a script that cannot be loaded no stack. */
const NOT_LOADED = /^uncaught $/
const GONE = [/status of 404/, NOT_LOADED]

describeInChromium('A page that is older than the server', (browser) => {
  let server: TestServer
  let owner: SignedInPerson
  beforeAll(async () => {
    server = await startServer('sqlite')
    owner = await signInAs(server, 'owner')
  })
  afterAll(() => server.stop())

  const removeScripts = (page: Page, scripts = SCREENS) =>
    page.route(scripts, (route) => route.fulfill({ status: 404, contentType: 'application/json', body: '{}' }))

  it.each(WIDTHS)('says so, and shows the screen after «Reload», at %i px', async (width) => {
    await withPage(browser(), { url: server.url, width, expected: GONE }, async (page) => {
      await enterAs(page, owner)
      await page.goto('/dashboard/main')
      await page.getByRole('heading', { name: 'Home' }).waitFor()
      await removeScripts(page)
      await page.getByRole('link', { name: 'Manage keys' }).click()
      await page.getByRole('heading', { name: 'A newer version of Tidings is available' }).waitFor()
      expect(page.url()).toBe(`${server.url}/dashboard/main/settings/apis`)
      await expectNoAxeViolations(page)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      await page.unroute(SCREENS)
      await page.getByRole('button', { name: 'Reload' }).click()
      await page.getByRole('heading', { name: 'APIs' }).waitFor()
    })
  })

  it('says so to people who are not signed in too', async () => {
    await withPage(browser(), { url: server.url, expected: GONE }, async (page) => {
      await removeScripts(page)
      await page.goto('/dashboard/setup#token')
      await page.getByRole('heading', { name: 'A newer version of Tidings is available' }).waitFor()
      await expectNoAxeViolations(page)
    })
  })

  it('says so in place of an editor that it cannot load, and keeps what was typed beside it', async () => {
    await withPage(browser(), { url: server.url, expected: GONE }, async (page) => {
      await enterAs(page, owner)
      await removeScripts(page, CODE_EDITOR)
      await page.goto('/dashboard/main/templates/new')
      const notice = page.getByRole('alert').filter({ hasText: 'A newer version of Tidings is available' })
      await notice.getByText('What you typed stays in this tab.').waitFor()
      await page.getByLabel('Subject').fill('Typed before the reload')
      await expectNoAxeViolations(page)
      await page.unroute(CODE_EDITOR)
      page.once('dialog', (dialog) => void dialog.accept())
      await notice.getByRole('button', { name: 'Reload' }).click()
      await page.getByRole('textbox', { name: 'HTML' }).waitFor()
      expect(await page.getByLabel('Subject').inputValue()).toBe('Typed before the reload')
    })
  })

  it('is told from a server that cannot be reached', async () => {
    const expected = [/could not load/, /ERR_CONNECTION_REFUSED/, NOT_LOADED]
    await withPage(browser(), { url: server.url, expected }, async (page) => {
      await enterAs(page, owner)
      await page.goto('/dashboard/main')
      await page.getByRole('heading', { name: 'Home' }).waitFor()
      for (const address of [SCREENS, `${server.url}/dashboard`]) {
        await page.route(address, (route) => route.abort('connectionrefused'))
      }
      await page.getByRole('link', { name: 'Manage keys' }).click()
      await page.getByRole('alert').getByText('The server cannot be reached.').waitFor()
      await expectNoAxeViolations(page)
      await page.unrouteAll()
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByRole('heading', { name: 'APIs' }).waitFor()
    })
  })
})
