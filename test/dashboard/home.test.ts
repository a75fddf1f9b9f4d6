// From the first start to the first event, and what the home page shows afterwards: by itself, in both schemes and on a phone, and through
// a restart of the server.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeSetupLink } from '../../src/actions/accounts/access-links.ts'
import type { Role } from '../../src/core/accounts/role.ts'
import { DAY_MS } from '../../src/core/time-zone.ts'
import { parkEntries } from '../../src/store/entries/parked-entries.ts'
import { PASSWORD_OF_PEOPLE, signInAs } from '../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../support/browser/accessibility.ts'
import { describeInChromium } from '../support/browser/chromium.ts'
import { enterAs } from '../support/browser/enter-as.ts'
import { WIDTHS, withPage } from '../support/browser/open-page.ts'
import { couponCallsOf } from '../support/calls/coupon-calls.ts'
import { deliveryCallsOf } from '../support/delivery/delivery-calls.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { basic } from '../support/program.ts'
import { startServer, type TestServer, type TestWorkspace } from '../support/server.ts'
import { makeStore, type TestLocation } from '../support/stores.ts'

let entries = 0

/** An entry of the log that could not be applied. */
async function park({ database }: TestServer, workspaceId: string): Promise<void> {
  const entry = { kind: 'track_events', requestId: 'r', receivedAt: 1, context: '{}', body: '{}', error: 'broken' }
  await database.write((store) => parkEntries(store, [{ ...entry, position: ++entries, workspaceId, parkedAt: 1 }]))
}

async function track(server: TestServer, workspace: TestWorkspace): Promise<void> {
  const body = { type: 'event', customer_id: 'ada', actions: [{ action: 'Order Placed', platform: 'WEB' }] }
  const { status } = await server.call('POST', `/v1/event/${workspace.id}`, { as: workspace, body })
  expect(status).toBe(200)
}

const isWithinWidth = async (page: Page, width: number) =>
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)

describeInChromium('The first run', (browser) => {
  it('leads from the link of the start to the first event, which turns the page green by itself', async () => {
    const server = await startServer('sqlite')
    try {
      const link = await makeSetupLink(server.database, Date.now())
      await withPage(browser(), { url: server.url }, async (page) => {
        await page.goto(link?.path ?? '')
        await page.getByLabel('Email address').fill('ada@example.com')
        await page.getByLabel('Your name').fill('Ada Lovelace')
        await page.getByLabel('Password').fill(PASSWORD_OF_PEOPLE)
        await page.keyboard.press('Enter')
        await page.getByText('Waiting for your first event').waitFor()
        expect(page.url()).toBe(`${server.url}/dashboard/main/welcome`)
        await page.getByText('bin/tidings demo').waitFor()
        await page.getByRole('link', { name: 'Manage keys' }).waitFor()
        await expectNoAxeViolations(page)
        await track(server, server.workspace)
        await page.getByText('It works: the event Order Placed from the user ada arrived').waitFor()
        await expectNoAxeViolations(page)
        await page.getByRole('link', { name: 'Go to the home page' }).first().click()
        await page.getByText('Nothing to do').waitFor()
      })
    } finally {
      await server.stop()
    }
  })

  it('generates a key on demand, and shows a line with it that works', async () => {
    const server = await startServer('sqlite')
    try {
      const owner = await signInAs(server, 'owner')
      await withPage(browser(), { url: server.url }, async (page) => {
        await enterAs(page, owner)
        await page.goto('/dashboard/main/welcome')
        await page.getByText('main:DATA_KEY').waitFor()
        await page.getByRole('button', { name: 'Generate new key' }).click()
        const dialog = page.getByRole('dialog')
        await dialog.getByLabel('Type main to confirm').fill('main')
        await dialog.getByRole('button', { name: 'Generate new key' }).click()
        await dialog.getByRole('button', { name: 'I have copied it' }).click()
        const line = (await page.getByText('curl -u').textContent()) ?? ''
        const [, key = '', address = ''] = /'main:([^']+)' (\S+)/.exec(line) ?? []
        const [, body = ''] = /-d '(.+)'/.exec(line) ?? []
        const headers = { authorization: basic('main', key), 'content-type': 'application/json' }
        expect((await fetch(address, { method: 'POST', headers, body })).status).toBe(200)
        await page.getByText('It works').waitFor()
      })
    } finally {
      await server.stop()
    }
  })
})

describeInChromium('The home page', (browser) => {
  let server: TestServer
  let filled: TestWorkspace
  beforeAll(async () => {
    server = await startServer('sqlite', {}, { withDelivery: false })
    filled = await server.makeWorkspace()
    await track(server, filled)
    const calls = deliveryCallsOf(server)
    for (const name of ['June newsletter', 'A sale of everything that is left in the warehouse']) {
      const id = await calls.make({ name, delivery: await calls.deliveryOf({}, filled) }, filled)
      await calls.put(id, 'start', filled)
      if (name.startsWith('A sale')) await calls.put(id, 'pause', filled)
    }
    const alert = { expiry_alert: { alert: true, days_before: 30 } }
    const soon = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10)
    await couponCallsOf(server).make({ name: 'Welcome 10', expires_at: soon, alert_conditions: alert }, filled)
  })
  afterAll(() => server.stop())

  it.each(WIDTHS)('shows what is under way and what needs somebody, at %i px', async (width) => {
    const owner = await signInAs(server, 'owner')
    await withPage(browser(), { url: server.url, width }, async (page) => {
      await enterAs(page, owner)
      await page.goto(`/dashboard/${filled.id}`)
      await page.getByText('1 campaign on hold').waitFor()
      await page.getByRole('link', { name: 'June newsletter' }).waitFor()
      await page.getByText('1 coupon list about to expire').waitFor()
      await expectNoAxeViolations(page)
      await isWithinWidth(page, width)
      const sale = page.getByRole('link', { name: 'A sale of everything' })
      expect(await sale.count()).toBe(2)
      await page.goto(`/dashboard/${filled.id}/welcome`)
      await page.getByText('It works').waitFor()
      await isWithinWidth(page, width)
      await page.goto(`/dashboard/${filled.id}/settings/system`)
      await page.getByText('SQLite, in the data directory').first().waitFor()
      await expectNoAxeViolations(page)
      await isWithinWidth(page, width)
    })
  })

  it('shows a parked entry when it is parked', async () => {
    const { id } = await server.makeWorkspace()
    const developer = await signInAs(server, 'developer')
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, developer)
      await page.goto(`/dashboard/${id}`)
      await page.getByText('Nothing has arrived in this workspace yet.').waitFor()
      await expectNoAxeViolations(page)
      await page.goto(`/dashboard/${filled.id}`)
      await page.getByText('Events per minute').waitFor()
      await park(server, filled.id)
      await page.getByText('1 parked entry').waitFor()
      await expectNoAxeViolations(page)
    })
  })

  const shown: [role: Role, halted: number, links: number][] = [
    ['developer', 0, 0],
    ['marketer', 1, 2],
    ['analyst', 1, 2],
  ]
  it.each(shown)('shows to the %s %i campaigns on hold, with %i links to them', async (role, halted, links) => {
    const person = await signInAs(server, role)
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, person)
      await page.goto(`/dashboard/${filled.id}`)
      await page.getByRole('heading', { name: 'Needs attention' }).waitFor()
      await page.getByText(halted > 0 ? '1 campaign on hold' : /Nothing to do|parked/).waitFor()
      if (links > 0) await page.getByRole('link', { name: 'June newsletter' }).waitFor()
      expect(await page.getByText('1 campaign on hold').count()).toBe(halted)
      expect(await page.getByRole('link', { name: 'A sale of everything' }).count()).toBe(links)
    })
  })
})

describeInChromium('A page whose server restarts', (browser) => {
  let location: TestLocation
  let environment: Record<string, string>
  beforeAll(async () => {
    location = await makeStore('sqlite')
    const [port] = await findFreePorts(1)
    environment = { PORT: String(port) }
  })
  afterAll(() => location.remove())

  it('says since when nothing is new, and goes on by itself when the server is back', async () => {
    let server = await startServer('sqlite', environment, { at: location })
    try {
      const { url, workspace } = server
      await track(server, workspace)
      const owner = await signInAs(server, 'owner')
      const expected = [/could not load/, /ERR_CONNECTION_REFUSED/, /status of 503/]
      await withPage(browser(), { url, expected }, async (page) => {
        await enterAs(page, owner)
        await page.goto('/dashboard/main')
        await page.getByText('Nothing to do').waitFor()
        await server.stop()
        const stale = page.getByText('Nothing here is newer than')
        await stale.waitFor()
        await expectNoAxeViolations(page)
        server = await startServer('sqlite', environment, { at: { ...location, workspace } })
        await stale.waitFor({ state: 'detached' })
        await page.getByText('Nothing to do').waitFor()
        await park(server, workspace.id)
        await page.getByText('1 parked entry').waitFor()
      })
    } finally {
      await server.stop()
    }
  })
})
