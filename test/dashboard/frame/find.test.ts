// Find in a browser: by the keyboard alone, in both schemes and on a phone, and only what the role includes.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Role } from '../../../src/core/accounts/role.ts'
import { signInAs } from '../../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../../support/browser/accessibility.ts'
import { describeInChromium } from '../../support/browser/chromium.ts'
import { enterAs } from '../../support/browser/enter-as.ts'
import { WIDTHS, withPage } from '../../support/browser/open-page.ts'
import { campaignCallsOf } from '../../support/calls/campaign-calls.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import { startServer, type TestServer } from '../../support/server.ts'

describeInChromium('Find', (browser) => {
  let server: TestServer
  let campaign: string
  let requestId: string
  beforeAll(async () => {
    server = await startServer('sqlite')
    campaign = await campaignCallsOf(server).make({ name: 'Winter wishes' })
    const tracked = { type: 'customer', customer_id: 'ada', attributes: { email: 'ada@winter.example' } }
    const tracking = trackingOf(server)
    await tracking.apply(tracked)
    const answer = await tracking.events({ type: 'event', customer_id: 'ada', actions: [{ action: 'Visited' }] })
    await tracking.fateOf(answer)
    requestId = answer.body.request_id
  })
  afterAll(() => server.stop())

  const asRole = async (role: Role, use: (page: Page) => Promise<void>, look = {}) => {
    const person = await signInAs(server, role)
    await withPage(browser(), { url: server.url, ...look }, async (page) => {
      await enterAs(page, person)
      await page.goto('/dashboard/main')
      await page.getByRole('heading', { name: 'Home' }).waitFor()
      await use(page)
    })
  }
  const typeIn = async (page: Page, text: string) => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'What to find' }).waitFor()
    await page.keyboard.type(text)
  }
  const option = (page: Page, name: string) => page.getByRole('option', { name })

  it('opens a campaign by a part of its name, with the keyboard alone', async () => {
    await asRole('owner', async (page) => {
      await typeIn(page, 'winter')
      await option(page, 'Winter wishes').waitFor()
      await page.keyboard.press('Enter')
      await page.waitForURL(`${server.url}/dashboard/main/campaigns/${campaign}`)
      expect(await page.getByRole('dialog').count()).toBe(0)
    })
  })

  it('goes round through what it found by arrow keys, and closes by Escape', async () => {
    await asRole('owner', async (page) => {
      await typeIn(page, 'winter')
      await option(page, 'ada@winter.example').waitFor()
      await page.keyboard.press('ArrowUp')
      const field = page.getByRole('combobox')
      const chosen = await field.getAttribute('aria-activedescendant')
      expect(await page.locator(`[id="${chosen}"]`).textContent()).toContain('ada@winter.example')
      await page.keyboard.press('ArrowDown')
      expect(await option(page, 'Winter wishes').getAttribute('aria-selected')).toBe('true')
      await page.keyboard.press('Escape')
      await field.waitFor({ state: 'detached' })
    })
  })

  it('finds pages, and requests by their id', async () => {
    await asRole('owner', async (page) => {
      await typeIn(page, 'apis')
      await option(page, 'Settings: APIs').waitFor()
      await page.getByRole('combobox').fill(requestId)
      const found = option(page, requestId)
      await found.waitFor()
      expect(await found.textContent()).toContain('processed')
      await page.getByRole('combobox').fill('nothing of this name')
      await page.getByText('Nothing matches “nothing of this name”.').waitFor()
    })
  })

  it('finds for a role only what it may read', async () => {
    await asRole('analyst', async (page) => {
      await typeIn(page, 'winter')
      await option(page, 'Winter wishes').waitFor()
      expect(await page.getByRole('option').count()).toBe(1)
      await page.getByRole('combobox').fill('apis')
      await page.getByText('Nothing matches “apis”.').waitFor()
    })
  })

  it('leaves a dialog that asks something in front', async () => {
    await asRole('owner', async (page) => {
      await page.goto('/dashboard/main/settings/apis')
      await page.getByRole('button', { name: 'Generate new key' }).first().click()
      await page.getByRole('dialog', { name: 'Generate new key' }).waitFor()
      await page.keyboard.press('Control+k')
      expect(await page.getByRole('combobox', { name: 'What to find' }).count()).toBe(0)
      await page.keyboard.press('Escape')
      await typeIn(page, 'home')
    })
  })

  it.each(WIDTHS)('can be used by everybody, at %i px', async (width) => {
    await asRole(
      'owner',
      async (page) => {
        await page.getByRole('button', { name: 'Find' }).filter({ visible: true }).click()
        await expectNoAxeViolations(page)
        await page.getByRole('combobox').fill('winter')
        await option(page, 'Winter wishes').waitFor()
        await expectNoAxeViolations(page)
        await page.getByRole('combobox').fill('nothing of this name')
        await page.getByText('Nothing matches').waitFor()
        await expectNoAxeViolations(page)
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      },
      { width },
    )
  })
})
