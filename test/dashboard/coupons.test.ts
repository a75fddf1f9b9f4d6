// Coupon lists in a browser: created, filled from a file with progress and bad lines, edited in two tabs, archived and activated.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { holdCoupons, issueCoupons } from '../../src/actions/coupons/hold-coupons.ts'
import { findCouponList } from '../../src/store/coupons/coupon-lists.ts'
import { signInAs, type SignedInPerson } from '../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../support/browser/accessibility.ts'
import { describeInChromium } from '../support/browser/chromium.ts'
import { enterAs } from '../support/browser/enter-as.ts'
import { holdRequest } from '../support/browser/hold-request.ts'
import { WIDTHS, withPage } from '../support/browser/open-page.ts'
import { HOLDING_AT, HOLDING_RUN, makeHolders } from '../support/coupons/coupon-holders.ts'
import { startServer, type TestServer } from '../support/server.ts'

interface ListBody {
  readonly _id: string
  readonly status: string
  readonly total_coupons: number
}

describeInChromium('Coupon lists in the dashboard', (browser) => {
  let server: TestServer
  let marketer: SignedInPerson
  beforeAll(async () => {
    server = await startServer('sqlite')
    marketer = await signInAs(server, 'marketer')
  })
  afterAll(() => server.stop())

  let lists = 0
  const makeList = async (fields: object = {}): Promise<{ id: string; name: string }> => {
    const name = `List ${++lists}`
    const body = { name, label: `list_${lists}`, expires_at: '2099-12-31', created_by: 'anna', ...fields }
    const made = await server.call<ListBody>('POST', '/v1/coupon-list', { tile: 'reports', body })
    expect(made.status).toBe(201)
    const { _id: id } = made.body
    return { id, name }
  }
  const getList = async (id: string) =>
    (await server.call<ListBody>('GET', `/v1/coupon-list/${id}`, { tile: 'reports' })).body
  const upload = async (page: Page, content: string) => {
    const file = { name: 'codes.csv', mimeType: 'text/csv', buffer: Buffer.from(content) }
    await page.getByLabel('File with codes').setInputFiles(file)
    await page.getByRole('button', { name: 'Upload codes' }).click()
  }

  it('keep what somebody types while the list is created', async () => {
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, marketer)
      await page.goto('/dashboard/main/coupons')
      await page.getByRole('button', { name: 'Create coupon list' }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('Slow list')
      await dialog.getByLabel('Last day').fill('2099-12-31')
      const held = await holdRequest(page, 'POST', '/coupon-list')
      await dialog.getByRole('button', { name: 'Create coupon list' }).click()
      await held.sent
      await dialog.getByLabel('Name').fill('Typed later')
      held.release()
      await page.getByText('What you typed since is under «Edit coupon list»').waitFor()
      await page.getByRole('heading', { name: 'Slow list' }).waitFor()
      await page.getByRole('button', { name: 'Edit coupon list' }).click()
      expect(await dialog.getByLabel('Name').inputValue()).toBe('Typed later')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('heading', { name: 'Typed later' }).waitFor()
    })
  })

  it.each(WIDTHS)('are created, and filled by an upload, at %i px', async (width) => {
    const expected = [/status of 400/]
    await withPage(browser(), { url: server.url, width, expected }, async (page) => {
      await enterAs(page, marketer)
      await page.goto('/dashboard/main/coupons')
      await page.getByRole('button', { name: 'Create coupon list' }).first().click()
      const dialog = page.getByRole('dialog')
      const name = `Summer ${width}`
      await dialog.getByLabel('Name').fill(name)
      expect(await dialog.getByLabel('Label').inputValue()).toBe(`summer_${width}`)
      await dialog.getByLabel('Last day').fill('2020-01-01')
      await dialog.getByRole('button', { name: 'Create coupon list' }).click()
      await dialog.getByText('must not be in the past').waitFor()
      await expectNoAxeViolations(page)
      await dialog.getByLabel('Last day').fill('2099-12-31')
      await dialog.getByRole('button', { name: 'Create coupon list' }).click()
      await page.getByRole('heading', { name }).waitFor()
      await page.getByText(`{{Coupons.CouponListName[summer_${width}]}}`).waitFor()

      await upload(page, 'Coupon Code\nA-1\nA,2\n\nA\tB\n')
      const alert = page.getByRole('alert')
      await alert.getByText('2 lines are not valid codes. No codes were added.').waitFor()
      await alert.getByRole('rowheader', { name: '3' }).waitFor()
      await expectNoAxeViolations(page)
      await upload(page, 'Coupon Code\nA-1\nA-2\nA-2\n')
      await page.getByText('2 codes added.').waitFor()
      await page.getByText('1 line skipped').waitFor()
      await page.getByRole('rowheader', { name: 'A-2' }).waitFor()
      await expectNoAxeViolations(page)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)

      await page.goto('/dashboard/main/coupons?search=summer')
      await page.getByRole('link', { name }).waitFor()
      await page.getByText('2 of 2').first().waitFor()
      await expectNoAxeViolations(page)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    })
  })

  it('show the progress of an upload, which can be cancelled and then adds nothing', async () => {
    const { id } = await makeList()
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, marketer)
      await page.goto(`/dashboard/main/coupons/${id}`)
      const network = await page.context().newCDPSession(page)
      const slow = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 50_000 }
      await network.send('Network.emulateNetworkConditions', slow)
      const codes = Array.from({ length: 200_000 }, (_, index) => `CODE-${index}`)
      await upload(page, codes.join('\n'))
      const progress = page.getByRole('progressbar', { name: 'Sending codes.csv' })
      await expect.poll(() => progress.getAttribute('value').then(Number)).toBeGreaterThan(0)
      await expectNoAxeViolations(page)
      await page.getByRole('button', { name: 'Cancel upload' }).click()
      await page.getByText('No codes were added.').waitFor()
      expect((await getList(id)).total_coupons).toBe(0)
    })
  })

  it('name the first ten bad lines of an upload, and the others on demand', async () => {
    const { id } = await makeList()
    await withPage(browser(), { url: server.url, expected: [/status of 400/] }, async (page) => {
      await enterAs(page, marketer)
      await page.goto(`/dashboard/main/coupons/${id}`)
      await upload(page, Array.from({ length: 25 }, (_, index) => `bad,${index}`).join('\n'))
      const alert = page.getByRole('alert')
      await alert.getByText('25 lines are not valid codes').waitFor()
      expect(await alert.getByRole('rowheader').filter({ visible: true }).count()).toBe(10)
      await alert.getByText('15 more lines').click()
      expect(await alert.getByRole('rowheader').filter({ visible: true }).count()).toBe(25)
    })
  })

  it('list all their uploads, page by page', async () => {
    const { id } = await makeList()
    for (let upload = 1; upload <= 11; upload++) {
      const coupons = Array.from({ length: upload }, (_, index) => `${upload}-${index}`)
      await server.call('POST', `/v1/coupon-list/${id}/coupons`, { tile: 'reports', body: { coupons } })
    }
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, marketer)
      await page.goto(`/dashboard/main/coupons/${id}`)
      const uploads = page.getByRole('table', { name: 'Uploads' }).locator('tbody tr')
      await expect.poll(() => uploads.count()).toBe(10)
      await page.getByRole('link', { name: 'Older' }).first().click()
      await expect.poll(() => uploads.count()).toBe(1)
      expect(await uploads.locator('td').nth(1).textContent()).toBe('1')
      await page.reload()
      await expect.poll(() => uploads.count()).toBe(1)
      await page.getByRole('link', { name: 'Newest' }).first().click()
      await expect.poll(() => uploads.count()).toBe(10)
    })
  })

  it('take the codes of an upload back', async () => {
    const { id } = await makeList()
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, marketer)
      await page.goto(`/dashboard/main/coupons/${id}`)
      await upload(page, 'B-1\nB-2\n')
      await page.getByRole('rowheader', { name: 'B-2' }).waitFor()
      await page.getByRole('button', { name: 'Delete codes from this upload' }).click()
      await expectNoAxeViolations(page)
      await page.getByRole('dialog').getByRole('button', { name: 'Delete codes from this upload' }).click()
      await page.getByText('No codes yet').waitFor()
      expect((await getList(id)).total_coupons).toBe(0)
    })
  })

  it('find codes by their beginning, in the address', async () => {
    const { id } = await makeList()
    const coupons = ['C-1', 'C-2', 'D-1']
    await server.call('POST', `/v1/coupon-list/${id}/coupons`, { tile: 'reports', body: { coupons } })
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, marketer)
      await page.goto(`/dashboard/main/coupons/${id}`)
      await page.getByLabel('Code begins with').fill('d')
      await page.getByRole('rowheader', { name: 'C-1' }).waitFor({ state: 'detached' })
      await page.getByRole('rowheader', { name: 'D-1' }).waitFor()
      expect(new URL(page.url()).search).toBe('?code=d')
      await page.getByLabel('Code begins with').fill('x')
      await page.getByText('Nothing matches').waitFor()
      await page.getByRole('link', { name: 'Remove the filters' }).click()
      await page.getByRole('rowheader', { name: 'C-1' }).waitFor()
    })
  })

  it('lead through codes in alphabetical order', async () => {
    const { id } = await makeList()
    const coupons = Array.from({ length: 26 }, (_, index) => `P-${index + 10}`)
    await server.call('POST', `/v1/coupon-list/${id}/coupons`, { tile: 'reports', body: { coupons } })
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, marketer)
      await page.goto(`/dashboard/main/coupons/${id}`)
      await page.getByText('25 codes on this page').waitFor()
      await page.getByRole('link', { name: 'Next page' }).click()
      await page.getByText('1 code on this page').waitFor()
      expect(await page.getByRole('rowheader', { name: /^P-/ }).allTextContents()).toEqual(['P-35'])
      await page.getByRole('link', { name: 'Back to the first page' }).click()
      await page.getByRole('rowheader', { name: 'P-10' }).waitFor()
    })
  })

  it('show who has which code, and find the codes of a customer', async () => {
    const { id } = await makeList()
    const coupons = ['E-1', 'E-2', 'E-3']
    await server.call('POST', `/v1/coupon-list/${id}/coupons`, { tile: 'reports', body: { coupons } })
    const campaignId = await makeHolders(server, ['ann', 'bob'])
    await server.database.write(async (store) => {
      const list = await findCouponList(store, server.workspace.id, id)
      const wanted = [1, 2].map((message) => ({ message, listNumbers: [list?.number ?? 0] }))
      await holdCoupons(store, { run: HOLDING_RUN, at: HOLDING_AT, wanted })
      await issueCoupons(store, HOLDING_RUN, [2])
    })
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, marketer)
      await page.goto(`/dashboard/main/coupons/${id}`)
      const row = (code: string) => page.getByRole('row').filter({ hasText: code })
      await row('E-1').getByText('Held').waitFor()
      await row('E-2').getByText('Issued').waitFor()
      await row('E-3').getByText('Available').waitFor()
      const person = row('E-1').getByRole('link', { name: 'ann' })
      expect(await person.getAttribute('href')).toBe('/dashboard/main/users/ann')
      const campaign = row('E-1').getByRole('link', { name: 'Report' })
      expect(await campaign.getAttribute('href')).toBe(`/dashboard/main/campaigns/${campaignId}`)
      await expectNoAxeViolations(page)
      await page.getByLabel('Customer id').fill('bob')
      await row('E-1').waitFor({ state: 'detached' })
      await row('E-2').getByText('bob').waitFor()
    })
  })

  it('show both versions if somebody else has saved first', async () => {
    const { id, name } = await makeList()
    await withPage(browser(), { url: server.url, expected: [/status of 409/] }, async (page) => {
      await enterAs(page, marketer)
      await page.goto(`/dashboard/main/coupons/${id}`)
      await page.getByRole('button', { name: 'Edit coupon list' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill(`${name} of mine`)
      const theirs = { name: `${name} of theirs` }
      await server.call('PATCH', `/v1/coupon-list/${id}`, { tile: 'reports', body: theirs })
      await dialog.getByRole('button', { name: 'Save coupon list' }).click()
      await dialog.getByText('Someone else has saved changes').waitFor()
      await dialog.getByText(`${name} of theirs`).waitFor()
      await dialog.getByText(`${name} of mine`).waitFor()
      await expectNoAxeViolations(page)
      await dialog.getByRole('button', { name: 'Keep my version' }).click()
      await dialog.getByRole('button', { name: 'Save coupon list' }).click()
      await page.getByRole('heading', { name: `${name} of mine` }).waitFor()
    })
  })

  it('are archived and activated again', async () => {
    const { id } = await makeList()
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, marketer)
      await page.goto(`/dashboard/main/coupons/${id}`)
      await page.getByRole('button', { name: 'More actions' }).click()
      await page.getByRole('button', { name: 'Archive coupon list' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Archive coupon list' }).click()
      await page.getByText('Only active lists take codes').waitFor()
      expect((await getList(id)).status).toBe('ARCHIVED')
      await page.getByRole('button', { name: 'Activate coupon list' }).click()
      await page.getByLabel('Last day').fill('2099-01-01')
      await page.getByRole('dialog').getByRole('button', { name: 'Activate coupon list' }).click()
      await page.getByLabel('File with codes').waitFor()
      expect((await getList(id)).status).toBe('ACTIVE')
    })
  })

  it('show an analyst the numbers, and no codes or actions', async () => {
    const { id, name } = await makeList()
    const analyst = await signInAs(server, 'analyst')
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, analyst)
      await page.goto(`/dashboard/main/coupons/${id}`)
      await page.getByRole('heading', { name }).waitFor()
      await page.getByRole('heading', { name: 'Uploads' }).waitFor()
      expect(await page.getByRole('heading', { name: 'Codes', exact: true }).count()).toBe(0)
      expect(await page.getByRole('button', { name: /Edit|Upload|Archive|More/ }).count()).toBe(0)
      await expectNoAxeViolations(page)
    })
  })
})
