// Consent in a browser: categories, what their switches say in each language, and the proofs as a file.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signInAs, type SignedInPerson } from '../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../support/browser/accessibility.ts'
import { describeInChromium } from '../support/browser/chromium.ts'
import { enterAs } from '../support/browser/enter-as.ts'
import { WIDTHS, withPage } from '../support/browser/open-page.ts'
import { readText } from '../support/browser/read-text.ts'
import { preferenceCalls } from '../support/calls/preference-calls.ts'
import { startServer, type TestServer } from '../support/server.ts'

describeInChromium('Consent in the dashboard', (browser) => {
  let server: TestServer
  let marketer: SignedInPerson
  beforeAll(async () => {
    server = await startServer('sqlite')
    marketer = await signInAs(server, 'marketer')
  })
  afterAll(() => server.stop())

  it.each(WIDTHS)('adds, labels and removes categories, at %i px', async (width) => {
    const { id } = await server.makeWorkspace()
    await withPage(browser(), { url: server.url, width, expected: [/status of 400/] }, async (page) => {
      await enterAs(page, marketer)
      await page.goto(`/dashboard/${id}/consent`)
      await page.getByText('No categories yet').waitFor()
      await expectNoAxeViolations(page)
      await page.getByRole('button', { name: 'Add category' }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('Offers')
      await dialog.getByRole('button', { name: 'Add language' }).click()
      await dialog.getByLabel('Language', { exact: true }).fill('no language')
      await dialog.getByLabel('Label', { exact: true }).fill('Angebote')
      await dialog.getByRole('button', { name: 'Add category' }).click()
      await dialog.getByText('must be named by a language tag').waitFor()
      await expectNoAxeViolations(page)
      await dialog.getByLabel('Language', { exact: true }).fill('de')
      await dialog.getByRole('button', { name: 'Add category' }).click()
      await page.getByRole('cell', { name: 'Angebote' }).waitFor()

      await page.getByRole('button', { name: 'Edit labels of Offers' }).click()
      await dialog.getByLabel('Label', { exact: true }).fill('Sonderangebote')
      await dialog.getByRole('button', { name: 'Save labels' }).click()
      await page.getByRole('cell', { name: 'Sonderangebote' }).waitFor()
      await expectNoAxeViolations(page)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)

      await page.getByRole('button', { name: 'Remove category Offers' }).click()
      await dialog.getByLabel('Type Offers to confirm').fill('Offers')
      await dialog.getByRole('button', { name: 'Remove category' }).click()
      await page.getByText('No categories yet').waitFor()
    })
  })

  it('saves the proofs of consent as a file', async () => {
    const made = await server.makeWorkspace({ categories: ['Offers'] })
    const calls = preferenceCalls(server, made)
    await calls.makeUsers(['ada'])
    await calls.set({ customer_id: 'ada', categories: { Offers: false } })
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, marketer)
      await page.goto(`/dashboard/${made.id}/consent`)
      const saved = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Download proofs of consent' }).click()
      const file = await saved
      expect(file.suggestedFilename()).toBe(`consent-${made.id}.ndjson`)
      expect(JSON.parse(await readText(file))).toMatchObject({
        customer_id: 'ada',
        after: { categories: { Offers: false } },
      })
    })
  })
})
