// Events in a browser: they arrive by themselves, are filtered by the address, and show every digit; parked entries are replayed and
// dropped; a request is looked up by its id.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signInAs, type SignedInPerson } from '../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../support/browser/accessibility.ts'
import { describeInChromium } from '../support/browser/chromium.ts'
import { enterAs } from '../support/browser/enter-as.ts'
import { WIDTHS, withPage, type OpenedPage } from '../support/browser/open-page.ts'
import { parkRequests } from '../support/calls/parked-requests.ts'
import { trackingOf, type Tracking } from '../support/calls/tracking.ts'
import { LIMITS_OF_TESTS, startServer, type TestServer, type TestWorkspace } from '../support/server.ts'

const event = (customer_id: string, action: string, more: object = {}) => {
  return { type: 'event', customer_id, actions: [{ action, platform: 'WEB', ...more }] }
}

describeInChromium('Events', (browser) => {
  let server: TestServer
  let as: TestWorkspace
  let tracking: Tracking
  let developer: SignedInPerson

  beforeAll(async () => {
    server = await startServer('sqlite')
    developer = await signInAs(server, 'developer')
    as = await server.makeWorkspace({ limits: LIMITS_OF_TESTS }, 'events')
    tracking = trackingOf(server, as)
    const digits =
      '{"type":"event","customer_id":"ada","actions":[{"action":"Paid","attributes":{"id":9007199254740993}}]}'
    await tracking.fateOf(await tracking.events(digits))
    await tracking.apply(
      ...Array.from({ length: 60 }, (_, index) => event('ben', `Page ${index}`)),
      event('ada', 'Order Placed', { platform: 'IOS' }),
    )
  })
  afterAll(() => server.stop())

  type Look = Partial<OpenedPage> & { readonly person?: SignedInPerson; readonly workspace?: TestWorkspace }
  const open = (
    { person = developer, workspace = as, ...look }: Look,
    query: string,
    use: (page: Page) => Promise<void>,
  ) => {
    return withPage(browser(), { url: server.url, ...look }, async (page) => {
      await enterAs(page, person)
      await page.goto(`/dashboard/${workspace.id}/events${query}`)
      await use(page)
    })
  }
  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
  const park = (workspace: TestWorkspace, ...bodies: readonly unknown[]) => {
    return parkRequests(server, ...bodies.map((body) => ({ body, workspaceId: workspace.id })))
  }

  it('appear by themselves while somebody looks, unless they pause', async () => {
    await open({}, '', async (page) => {
      await row(page, 'Order Placed').waitFor()
      await tracking.apply(event('ada', 'Came Later'))
      await row(page, 'Came Later').waitFor()
      await page.getByRole('button', { name: 'Pause' }).click()
      // The filter above the list asks for new names, so the page knows of the event.
      const named = page.waitForResponse((response) => response.url().includes('/names') && response.ok())
      await tracking.apply(event('ada', 'Came While Paused'))
      await named
      await page.getByText('Paused', { exact: true }).waitFor()
      expect(await row(page, 'Came While Paused').count()).toBe(0)
      await page.getByRole('button', { name: 'Resume' }).click()
      await row(page, 'Came While Paused').waitFor()
    })
  })

  it('are filtered by name, user and platform in the address, which survives a reload, and back leads back', async () => {
    await open({}, '', async (page) => {
      await row(page, 'Order Placed').waitFor()
      await page.getByLabel('Name').selectOption('Page 7')
      await row(page, 'Order Placed').waitFor({ state: 'detached' })
      expect(await page.getByRole('row').count()).toBe(2)
      expect(page.url()).toContain('action=Page+7')
      await page.getByLabel('Platform').selectOption('IOS')
      await page.getByRole('heading', { name: 'Nothing matches' }).waitFor()
      await page.reload()
      await page.getByRole('heading', { name: 'Nothing matches' }).waitFor()
      await page.getByRole('link', { name: 'Remove the filters' }).click()
      await row(page, 'Order Placed').waitFor()
      await page.getByLabel('Customer id').fill('ada')
      await row(page, 'Page 59').waitFor({ state: 'detached' })
      await row(page, 'Paid').getByRole('link', { name: 'ada' }).click()
      await page.getByRole('heading', { name: 'ada', level: 1 }).waitFor()
      await page.goBack()
      await row(page, 'Paid').waitFor()
      expect(await page.getByLabel('Customer id').inputValue()).toBe('ada')
    })
  })

  it('come in pages whose cursor stands in the address', async () => {
    await open({}, '', async (page) => {
      await row(page, 'Order Placed').waitFor()
      await page.getByRole('link', { name: 'Older' }).click()
      await row(page, 'Paid').waitFor()
      expect(page.url()).toContain('before=')
      await page.goBack()
      await row(page, 'Order Placed').waitFor()
    })
  })

  it('show every digit of a number', async () => {
    await open({}, '?action=Paid', async (page) => {
      await page.getByRole('button', { name: 'Show Paid as JSON' }).click()
      await page.getByRole('dialog', { name: 'Paid' }).getByText('"id": 9007199254740993').waitFor()
      await expectNoAxeViolations(page)
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      expect(await row(page, 'Paid').count()).toBe(1)
    })
  })

  it('are looked up by the id of their request', async () => {
    const { body } = await tracking.events(event('ada', 'Looked Up'))
    await open({ expected: [/status of 404/] }, '', async (page) => {
      await page.getByRole('button', { name: 'Look up a request' }).click()
      await page.getByLabel('Request id').fill('unknown')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').getByText('The workspace has no request with this id').waitFor()
      await page.getByLabel('Request id').fill(body.request_id)
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').getByText('processed', { exact: true }).waitFor()
      expect(page.url()).toContain(`request=${body.request_id}`)
    })
  })

  it('that could not be applied are read, replayed and dropped', async () => {
    const parked = await server.makeWorkspace({}, 'parked')
    const [good = 0, bad = 0] = await park(parked, event('eve', 'Replayed'), '{"id": 9007199254740993, "broken"')
    const expected = [/status of 409/]
    await open({ workspace: parked, expected }, '?tab=parked', async (page) => {
      await page.getByRole('button', { name: `Show entry ${bad}` }).click()
      await page.getByText('{"id": 9007199254740993, "broken"').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: `Replay entry ${bad}` }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Replay entry' }).click()
      await page.getByRole('alert').getByText('The entry cannot be applied').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: `Replay entry ${good}` }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Replay entry' }).click()
      await page.getByText('Entry replayed').waitFor()
      await page.getByRole('button', { name: `Drop entry ${bad}` }).click()
      const drop = page.getByRole('dialog').getByRole('button', { name: 'Drop entry' })
      expect(await drop.isDisabled()).toBe(true)
      await page.getByLabel(`Type ${bad} to confirm`).fill(String(bad))
      await expectNoAxeViolations(page)
      await drop.click()
      await page.getByRole('heading', { name: 'Nothing is parked' }).waitFor()
      await page.getByRole('link', { name: 'Live' }).click()
      await row(page, 'Replayed').waitFor()
      expect(await page.getByRole('row').count()).toBe(2)
    })
  })

  it('teach how to send the first one where there are none', async () => {
    const empty = await server.makeWorkspace({}, 'empty')
    await open({ workspace: empty }, '', async (page) => {
      await page.getByRole('heading', { name: 'No events yet' }).waitFor()
      await expectNoAxeViolations(page)
      await page.getByRole('link', { name: 'Show the key and curl' }).click()
      await page.getByRole('heading', { name: 'APIs' }).waitFor()
      expect(page.url()).toContain('/settings/apis')
    })
  })

  it.each(['marketer', 'analyst'] as const)('are not shown to the role %s', async (role) => {
    await open({ person: await signInAs(server, role) }, '', async (page) => {
      await page.getByRole('heading', { name: 'Your role does not include this page' }).waitFor()
      expect(await page.getByRole('link', { name: 'Events' }).count()).toBe(0)
    })
  })

  it.each(WIDTHS)('can be read by everybody, at %i px', async (width) => {
    const own = await server.makeWorkspace({}, `read-${width}`)
    await trackingOf(server, own).apply(
      event('a'.repeat(60), 'Order Placed', { attributes: { text: 'x'.repeat(300) } }),
    )
    await park(own, event('ada', 'A'))
    await open({ workspace: own, width }, '', async (page) => {
      const tabs = [
        ['', 'Order Placed'],
        ['?tab=parked', 'the disk was full'],
      ] as const
      for (const [query, text] of tabs) {
        await page.goto(`/dashboard/${own.id}/events${query}`)
        await row(page, text).waitFor()
        await expectNoAxeViolations(page)
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      }
    })
  })
})
