// People in a browser: from the link of the first start to keys, by the keyboard, in both schemes and on a phone; and what a role does
// not include.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeAccessLink, makeSetupLink } from '../../src/actions/accounts/access-links.ts'
import type { Role } from '../../src/core/accounts/role.ts'
import { endSession, PASSWORD_OF_PEOPLE, signInAs, type SignedInPerson } from '../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../support/browser/accessibility.ts'
import { describeInChromium } from '../support/browser/chromium.ts'
import { WIDTHS, withPage } from '../support/browser/open-page.ts'
import { basic } from '../support/program.ts'
import { startServer, type TestServer } from '../support/server.ts'

describeInChromium('People in the dashboard', (browser) => {
  let server: TestServer
  beforeAll(async () => void (server = await startServer('sqlite')))
  afterAll(() => server.stop())

  const enter = async (page: Page, { cookie }: SignedInPerson) => {
    const [name = '', value = ''] = cookie.split('=')
    const own = { domain: '127.0.0.1', path: '/', secure: true, httpOnly: true, sameSite: 'Lax' } as const
    await page.context().addCookies([{ name, value, ...own }])
  }

  it('create the first account by the link of the start, with the keyboard, and land on the end of the set-up', async () => {
    const link = await makeSetupLink(server.database, Date.now())
    await withPage(browser(), { url: server.url, expected: [/status of 400/] }, async (page) => {
      await page.goto(link?.path ?? '')
      await page.getByLabel('Email address').fill('ada@example.com')
      await page.keyboard.press('Tab')
      await page.keyboard.type('Ada Lovelace')
      await page.keyboard.press('Tab')
      await page.keyboard.type('short')
      await page.keyboard.press('Enter')
      await page.getByText('Password must have at least 12 characters').waitFor()
      await expectNoAxeViolations(page)
      await page.getByLabel('Password').fill(PASSWORD_OF_PEOPLE)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Welcome to Tidings' }).waitFor()
      expect(page.url()).toBe(`${server.url}/dashboard/main/welcome`)
    })
  })

  it('with an account accept an invitation after signing in', async () => {
    const { email } = await signInAs(server, 'analyst', 'main')
    const { id: workspaceId } = await server.makeWorkspace()
    const invitation = { kind: 'invitation', email, role: 'marketer', workspaceId, now: Date.now() } as const
    const link = await server.database.write((store) => makeAccessLink(store, invitation))
    await withPage(browser(), { url: server.url }, async (page) => {
      await page.goto(link.path)
      await page.getByText('You already have an account.').waitFor()
      await expectNoAxeViolations(page)
      await page.getByLabel('Password').fill(PASSWORD_OF_PEOPLE)
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Join the workspace' }).click()
      await page.getByRole('heading', { name: 'Home' }).waitFor()
      await page.goto(`/dashboard/${workspaceId}`)
      await page.getByText('is marketer').waitFor()
    })
  })

  it.each(WIDTHS)('generate a key that works, after typing the workspace id, at %i px', async (width) => {
    const owner = await signInAs(server, 'owner')
    const made = await server.makeWorkspace()
    await withPage(browser(), { url: server.url, width }, async (page) => {
      await enter(page, owner)
      await page.goto(`/dashboard/${made.id}/settings/apis`)
      await page.getByRole('button', { name: 'Generate new key' }).first().click()
      const dialog = page.getByRole('dialog')
      const submit = dialog.getByRole('button', { name: 'Generate new key' })
      expect(await submit.isDisabled()).toBe(true)
      await expectNoAxeViolations(page)
      await dialog.getByLabel(`Type ${made.id} to confirm`).fill(made.id)
      await submit.click()
      await dialog.getByText('Copy it now').waitFor()
      await expectNoAxeViolations(page)
      const key = (await dialog.locator('code').first().textContent()) ?? ''
      const user = await fetch(`${server.url}/v1/customer/${made.id}/users`, {
        headers: { authorization: basic(made.id, key) },
      })
      expect(user.status).toBe(200)
      await dialog.getByRole('button', { name: 'I have copied it' }).click()
      await page.getByText(owner.email).first().waitFor()
      await expectNoAxeViolations(page)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    })
  })

  const links: [role: Role, count: number][] = [
    ['owner', 1],
    ['developer', 1],
    ['marketer', 0],
    ['analyst', 0],
  ]
  it.each(links)('who are %s see %i links to the keys', async (role, count) => {
    const person = await signInAs(server, role)
    await withPage(browser(), { url: server.url }, async (page) => {
      await enter(page, person)
      await page.goto('/dashboard/main')
      await page.getByText(`is ${role}`).waitFor()
      await page.getByRole('heading', { name: /First steps|Needs attention/ }).waitFor()
      expect(await page.getByRole('link', { name: 'Manage keys' }).count()).toBe(count)
      await expectNoAxeViolations(page)
    })
  })

  it('see that a page is not for their role', async () => {
    const analyst = await signInAs(server, 'analyst')
    await withPage(browser(), { url: server.url }, async (page) => {
      await enter(page, analyst)
      await page.goto('/dashboard/main/settings/apis')
      await page.getByText('Your role does not include this page').waitFor()
      await expectNoAxeViolations(page)
    })
  })

  it('sign in again over the page when their session has ended, and lose nothing', async () => {
    const owner = await signInAs(server, 'owner')
    await withPage(browser(), { url: server.url, expected: [/status of 401/] }, async (page) => {
      await enter(page, owner)
      await page.goto('/dashboard/main/settings/apis')
      await page.getByRole('button', { name: 'Generate new key' }).first().click()
      await page.getByLabel('Type main to confirm').fill('main')
      await endSession(server, owner)
      const again = page.getByRole('dialog', { name: 'Sign in again' })
      await again.getByLabel('Password').fill(PASSWORD_OF_PEOPLE)
      await expectNoAxeViolations(page)
      await again.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Generate new key' }).click()
      await page.getByText('Copy it now').waitFor()
    })
  })
})
