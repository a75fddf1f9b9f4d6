// Every page of the dashboard, with the data of the demo: it shows everything that it asks for, everybody can use it on a desk and on a
// phone, light and dark, nothing is wrong on the console, and it asks no other server. A new screen is tested by being in SCREENS.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { SCREENS } from '../../../dashboard/workspace-pages.tsx'
import { readConfig } from '../../../src/app/config.ts'
import { CARD_NUMBER } from '../../../src/commands/demo/people.ts'
import { fillFor } from '../../../src/commands/demo/demo-command.ts'
import { signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../../support/browser/accessibility.ts'
import { describeInChromium } from '../../support/browser/chromium.ts'
import { enterAs } from '../../support/browser/enter-as.ts'
import { WIDTHS, withPage } from '../../support/browser/open-page.ts'
import { startServer, type TestServer } from '../../support/server.ts'

vi.setConfig({ hookTimeout: 120_000 })

const PEOPLE = 120
const DEMO = { id: 'demo', dataKey: '', reportsKey: '' }

describeInChromium('Every page', (browser) => {
  let server: TestServer
  let owner: SignedInPerson
  beforeAll(async () => {
    server = await startServer('sqlite')
    const config = readConfig({ DATA_DIR: server.dataDir })
    await fillFor(server.database, config, new URL(server.url), { people: PEOPLE, now: Date.now() })
    owner = await signInAs(server, 'owner')
  })
  afterAll(() => server.stop())

  it.each(SCREENS.map(({ path }) => path))('%s', async (path) => {
    const address = await addressOf(path)
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, owner)
      await page.goto(`/dashboard/demo${address}`)
      await settled(page)
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 844 })
        await expectNoAxeViolations(page)
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      }
      await settled(page)
    })
  })

  /** With ids of the demo in place of the names of the address. */
  async function addressOf(path: string): Promise<string> {
    let address = path
    for (const [, name = ''] of path.matchAll(/:(\w+)/g)) {
      const find = IDS[name]
      if (!find) throw new Error(`IDS does not say what stands for :${name} in ${path}`)
      address = address.replace(`:${name}`, encodeURIComponent(await find(ask, path)))
    }
    return address
  }

  async function ask<Item>(path: string): Promise<readonly Item[]> {
    const { body } = await server.call<{ data: readonly Item[] }>('GET', path, { as: DEMO, person: owner })
    return body.data
  }
})

type Ask = <Item>(path: string) => Promise<readonly Item[]>

/** The name in an address → an id of the demo for it. */
const IDS: Readonly<Record<string, (ask: Ask, path: string) => Promise<string>>> = {
  async campaign_id(ask, path) {
    const campaigns = await ask<{ campaign_id: string; name: string }>('/core-services/v1/campaigns')
    const wanted = path.endsWith('/edit') ? 'Gift guide' : path.endsWith('/run') ? 'New arrivals' : 'Abandoned cart'
    return campaigns.find(({ name }) => name === wanted)?.campaign_id ?? ''
  },
  segment_id: async (ask) => (await ask<{ segment_id: string }>('/core-services/v1/segments'))[0]?.segment_id ?? '',
  async external_template_id(ask) {
    const templates = await ask<{ external_template_id: string }>('/v1.0/custom-templates/email')
    return templates[0]?.external_template_id ?? ''
  },
  async coupon_list_id(ask) {
    const lists = await ask<{ _id: string }>('/v1/coupon-list')
    return lists.map(({ _id: id }) => id)[0] ?? ''
  },
  sender_id: async (ask) => (await ask<{ sender_id: string }>('/core-services/v1/senders'))[0]?.sender_id ?? '',
  customer_id: async (ask) => (await ask<{ customer_id: string }>('/v1/customer/demo/users'))[0]?.customer_id ?? '',
  name: async () => CARD_NUMBER,
  async value(ask) {
    const users = await ask<{ user_identifiers: Readonly<Record<string, string>> }>('/v1/customer/demo/users')
    return users.map((user) => user.user_identifiers[CARD_NUMBER]).find((card) => card !== undefined) ?? ''
  },
}

/** Waits until the page has a title and everything that it asked for, and expects no refusal on it. */
async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.locator('.ghost').first().waitFor({ state: 'detached' })
  expect(await page.getByRole('alert').allTextContents()).toEqual([])
}
