// A browser that forbids a page to store anything: the editors work all the same, and what is typed lasts as long as the page.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import { describeInChromium } from '../../support/browser/chromium.ts'
import { enterAs } from '../../support/browser/enter-as.ts'
import { withPage } from '../../support/browser/open-page.ts'
import { startServer, type TestServer } from '../../support/server.ts'

const FORBID_STORAGE = `for (const name of ['localStorage', 'sessionStorage']) {
  Object.defineProperty(globalThis, name, { get() { throw new DOMException('Access is denied', 'SecurityError') } })
}`

describeInChromium('The dashboard in a browser without storage', (browser) => {
  let server: TestServer
  let owner: SignedInPerson
  beforeAll(async () => {
    server = await startServer('sqlite')
    owner = await signInAs(server, 'owner')
  })
  afterAll(() => server.stop())

  const EDITORS = [
    ['templates/new', 'Name'],
    ['segments/new', 'Name'],
    ['campaigns/new', 'Campaign name'],
    ['settings/senders/new', 'Name'],
  ] as const
  it.each(EDITORS)('keeps what is typed at %s', async (path, label) => {
    await withPage(browser(), { url: server.url }, async (page) => {
      await page.addInitScript(FORBID_STORAGE)
      await enterAs(page, owner)
      await page.goto(`/dashboard/main/${path}`)
      const field = page.getByLabel(label, { exact: true })
      await field.fill('Spring')
      await page.getByText('API reference').hover()
      expect(await field.inputValue()).toBe('Spring')
    })
  })

  it('creates a segment', async () => {
    await withPage(browser(), { url: server.url }, async (page) => {
      await page.addInitScript(FORBID_STORAGE)
      await enterAs(page, owner)
      await page.goto('/dashboard/main/segments/new')
      await page.getByLabel('Name', { exact: true }).fill('With an address')
      await page.getByRole('button', { name: 'Has an email address' }).click()
      await page.getByRole('button', { name: 'Create segment' }).click()
      await page.getByRole('heading', { name: 'With an address' }).waitFor()
      expect(new URL(page.url()).pathname).toMatch(/^\/dashboard\/main\/segments\/[\da-f-]{36}$/)
    })
  })
})
