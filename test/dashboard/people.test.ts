// People and one's own account in a browser: invited, given another role, removed; sessions, password, and an authenticator that signing
// in then asks for.
import { Secret, TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NEW_PASSWORD } from '../support/accounts/account-calls.ts'
import { addMember, PASSWORD_OF_PEOPLE, signInAs, type SignedInPerson } from '../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../support/browser/accessibility.ts'
import { describeInChromium } from '../support/browser/chromium.ts'
import { enterAs } from '../support/browser/enter-as.ts'
import { WIDTHS, withPage } from '../support/browser/open-page.ts'
import { startServer, type TestServer } from '../support/server.ts'

const STEP_MS = 30_000

describeInChromium('People in Settings', (browser) => {
  let server: TestServer
  let owner: SignedInPerson
  beforeAll(async () => {
    server = await startServer('sqlite')
    owner = await signInAs(server, 'owner')
  })
  afterAll(() => server.stop())

  it.each(WIDTHS)('are invited by a link, and get another role, at %i px', async (width) => {
    const { id } = await server.makeWorkspace()
    const email = `grace-${width}@example.com`
    await withPage(browser(), { url: server.url, width, expected: [/status of 400/] }, async (page) => {
      await enterAs(page, owner)
      await page.goto(`/dashboard/${id}/settings/people`)
      await page.getByRole('button', { name: 'Invite person' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Email address').fill('no address')
      await dialog.getByRole('button', { name: 'Invite person' }).click()
      await dialog.getByText('Email address must be').waitFor()
      await expectNoAxeViolations(page)
      await dialog.getByLabel('Email address').fill(email)
      await dialog.getByLabel('Role').selectOption('Analyst')
      await dialog.getByRole('button', { name: 'Invite person' }).click()
      await dialog.getByText('never shown again').waitFor()
      await expectNoAxeViolations(page)
      const link = (await dialog.locator('code').textContent()) ?? ''
      await dialog.getByRole('button', { name: 'I have copied it' }).click()
      await page.getByRole('heading', { name: 'Open invitations' }).waitFor()
      await page.getByRole('row').filter({ hasText: email }).getByText('in 7 days').waitFor()

      await withPage(browser(), { url: server.url }, async (invited) => {
        await acceptInvitation(invited, link)
        await invited.getByText('is analyst').waitFor()
      })

      await page.reload()
      await page.getByRole('button', { name: `Actions for ${email}` }).click()
      await page.getByRole('button', { name: 'Change role' }).click()
      await dialog.getByLabel('Role').selectOption('Marketer')
      await expectNoAxeViolations(page)
      await dialog.getByRole('button', { name: 'Change role' }).click()
      const row = page.getByRole('row').filter({ hasText: email })
      await row.getByText('Marketer').waitFor()
      await expectNoAxeViolations(page)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    })
  })

  const acceptInvitation = async (page: Page, link: string) => {
    await page.goto(link)
    await page.getByLabel('Your name').fill('Grace Hopper')
    await page.getByLabel('Password').fill(NEW_PASSWORD)
    await page.getByRole('button', { name: 'Create your account' }).click()
    await page.getByRole('heading', { name: 'Home' }).waitFor()
  }

  it('get a link for another password, and are removed', async () => {
    const { id } = await server.makeWorkspace()
    const { email } = await addMember(server, 'marketer', id)
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, owner)
      await page.goto(`/dashboard/${id}/settings/people`)
      const choose = async (action: string) => {
        await page.getByRole('button', { name: `Actions for ${email}` }).click()
        await page.getByRole('button', { name: action }).click()
      }
      const dialog = page.getByRole('dialog')
      await choose('Create password link')
      await dialog.getByRole('button', { name: 'Create password link' }).click()
      const link = (await dialog.locator('code').textContent()) ?? ''
      await dialog.getByRole('button', { name: 'I have copied it' }).click()
      await withPage(browser(), { url: server.url }, async (theirs) => {
        await theirs.goto(link)
        await theirs.getByText('Choose a new password').waitFor()
        expect(theirs.url()).toBe(link)
      })
      await choose('Remove person')
      await dialog.getByLabel(`Type ${email} to confirm`).fill(email)
      await dialog.getByRole('button', { name: 'Remove person' }).click()
      await page.getByRole('row').filter({ hasText: email }).waitFor({ state: 'detached' })
      expect(await page.getByRole('row').count()).toBe(2)
    })
  })

  it('revoke an invitation, so that its link stops working', async () => {
    const { id } = await server.makeWorkspace()
    await withPage(browser(), { url: server.url, expected: [/status of 404/] }, async (page) => {
      await enterAs(page, owner)
      await page.goto(`/dashboard/${id}/settings/people`)
      await page.getByRole('button', { name: 'Invite person' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Email address').fill('alan@example.com')
      await dialog.getByRole('button', { name: 'Invite person' }).click()
      const link = (await dialog.locator('code').textContent()) ?? ''
      await dialog.getByRole('button', { name: 'I have copied it' }).click()
      await page.getByRole('button', { name: 'Revoke invitation of alan@example.com' }).click()
      await dialog.getByRole('button', { name: 'Revoke invitation' }).click()
      await page.getByRole('heading', { name: 'Open invitations' }).waitFor({ state: 'detached' })
      await page.goto(link)
      await page.getByText('This link does not work').waitFor()
      expect(await page.getByLabel('Password').count()).toBe(0)
    })
  })

  it('end another session of theirs, and change their password', async () => {
    const analyst = await signInAs(server, 'analyst')
    const expected = [/status of 400/]
    await withPage(browser(), { url: server.url, expected }, async (page) => {
      await signInBy(page, analyst.email, PASSWORD_OF_PEOPLE)
      await page.goto('/dashboard/main/settings/account')
      await page.getByRole('row').filter({ hasText: 'a test' }).getByRole('button', { name: 'End session' }).click()
      await page.getByRole('row').filter({ hasText: 'a test' }).waitFor({ state: 'detached' })
      await page.getByLabel('Current password').fill('not the password')
      await page.getByLabel('New password').fill(NEW_PASSWORD)
      await page.getByRole('button', { name: 'Change password' }).click()
      await page.getByText('1 field to correct above.').waitFor()
      await expectNoAxeViolations(page)
      await page.getByLabel('Current password').fill(PASSWORD_OF_PEOPLE)
      await page.getByRole('button', { name: 'Change password' }).click()
      await page.getByText('Password changed').waitFor()
    })
    await withPage(browser(), { url: server.url }, (page) => signInBy(page, analyst.email, NEW_PASSWORD))
  })

  const signInBy = async (page: Page, email: string, password: string) => {
    await page.goto('/dashboard/sign-in')
    await page.getByLabel('Email address').fill(email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Home' }).waitFor()
  }

  it.each(WIDTHS)('set an authenticator up, and sign in with its code, at %i px', async (width) => {
    const now = Date.now()
    const analyst = await signInAs(server, 'analyst')
    let secret = ''
    const codeAt = (timestamp: number) => new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })
    await withPage(browser(), { url: server.url, width, expected: [/status of 400/] }, async (page) => {
      await enterAs(page, analyst)
      await page.goto('/dashboard/main/settings/account')
      await page.getByRole('button', { name: 'Set up authenticator' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Your password').fill(PASSWORD_OF_PEOPLE)
      await dialog.getByRole('button', { name: 'Continue' }).click()
      const shown = (await dialog.locator('code').first().textContent()) ?? ''
      expect(shown).toMatch(/^(\w{4} )+\w{1,4}$/)
      secret = shown.replaceAll(' ', '')
      await dialog.getByText('Or open this address').click()
      await dialog.getByText(`secret=${secret}`).waitFor()
      await dialog.getByLabel('Code').fill('no code')
      await dialog.getByRole('button', { name: 'Confirm code' }).click()
      await dialog.getByText('is not the current code').waitFor()
      await expectNoAxeViolations(page)
      server.setClock(now)
      await dialog.getByLabel('Code').fill(codeAt(now))
      await dialog.getByRole('button', { name: 'Confirm code' }).click()
      await dialog.getByRole('heading', { name: 'Recovery codes' }).waitFor()
      await expectNoAxeViolations(page)
      await dialog.getByRole('button', { name: 'I have saved them' }).click()
      await page.getByText('On', { exact: true }).waitFor()
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    })
    server.setClock(now + STEP_MS)
    await withPage(browser(), { url: server.url, expected: [/status of 40[01]/] }, async (page) => {
      await page.goto('/dashboard/sign-in')
      await page.getByLabel('Email address').fill(analyst.email)
      await page.getByLabel('Password').fill(PASSWORD_OF_PEOPLE)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByLabel('Code').fill(codeAt(now + STEP_MS))
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Home' }).waitFor()
      expect(page.url()).toBe(`${server.url}/dashboard/main`)
    })
    server.setClock(undefined)
  })
})
