// Dialogs from the keyboard: when one closes, the focus is back where it was.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import { describeInChromium } from '../../support/browser/chromium.ts'
import { enterAs } from '../../support/browser/enter-as.ts'
import { withPage } from '../../support/browser/open-page.ts'
import { startServer, type TestServer } from '../../support/server.ts'

describeInChromium('Dialogs of the dashboard', (browser) => {
  let server: TestServer
  let owner: SignedInPerson
  beforeAll(async () => {
    server = await startServer('sqlite')
    owner = await signInAs(server, 'owner')
  })
  afterAll(() => server.stop())

  it.each(['Escape', 'Cancel', 'Close'])(
    'give the focus back to the button that opened them, after %s',
    async (how) => {
      const { id } = await server.makeWorkspace()
      await withPage(browser(), { url: server.url }, async (page) => {
        await enterAs(page, owner)
        await page.goto(`/dashboard/${id}/consent`)
        await page.getByText('No categories yet').waitFor()
        const opener = page.getByRole('button', { name: 'Add category' }).first()
        await opener.focus()
        await page.keyboard.press('Enter')
        const dialog = page.getByRole('dialog')
        await dialog.waitFor()
        if (how === 'Escape') await page.keyboard.press(how)
        else await dialog.getByRole('button', { name: how }).press('Enter')
        await dialog.waitFor({ state: 'detached' })
        await expect.poll(() => opener.evaluate((button) => button === document.activeElement)).toBe(true)
      })
    },
  )
})
