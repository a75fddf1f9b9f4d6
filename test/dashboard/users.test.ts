// Users in a browser: found by a part of an id or address, and the page of a person with all that is known, until they are erased.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signInAs, type SignedInPerson } from '../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../support/browser/accessibility.ts'
import { describeInChromium } from '../support/browser/chromium.ts'
import { enterAs } from '../support/browser/enter-as.ts'
import { WIDTHS, withPage, type OpenedPage } from '../support/browser/open-page.ts'
import { preferenceCalls } from '../support/calls/preference-calls.ts'
import { segmentCallsOf } from '../support/calls/segment-calls.ts'
import { trackingOf } from '../support/calls/tracking.ts'
import { startServer, type TestServer, type TestWorkspace } from '../support/server.ts'

const ID = 'ada/1 ?ä'

describeInChromium('Users', (browser) => {
  let server: TestServer
  let as: TestWorkspace
  let marketer: SignedInPerson

  beforeAll(async () => {
    server = await startServer('sqlite')
    marketer = await signInAs(server, 'marketer')
    as = server.workspace
    const ada = { email: 'ada@example.com', plan: 'gold', number: 'NUMBER' }
    const text = JSON.stringify({ type: 'customer', customer_id: ID, attributes: ada })
    const tracking = trackingOf(server)
    await tracking.fateOf(await tracking.user(text.replace('"NUMBER"', '9007199254740993')))
    await tracking.apply(
      ...Array.from({ length: 55 }, (_, index) => ({ type: 'customer', customer_id: `user-${index}`, attributes: {} })),
      {
        type: 'event',
        customer_id: ID,
        actions: Array.from({ length: 70 }, (_, index) => ({
          action: `Page ${index}`,
          user_time: new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString(),
        })),
      },
    )
    await segmentCallsOf(server).make({ attribute: 'plan', operator: 'is', value: 'gold' })
    await preferenceCalls(server).set({ customer_id: ID, opt_in_status: 'OPTED_IN' })
  })
  afterAll(() => server.stop())

  type Look = Partial<OpenedPage> & { readonly person?: SignedInPerson }
  const open = ({ person = marketer, ...look }: Look, path: string, use: (page: Page) => Promise<void>) => {
    return withPage(browser(), { url: server.url, ...look }, async (page) => {
      await enterAs(page, person)
      await page.goto(`/dashboard/${as.id}/users${path}`)
      await use(page)
    })
  }
  const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
  const own = `/${encodeURIComponent(ID)}`

  it('are listed newest first in pages, and found by a part of an id or address', async () => {
    await open({}, '', async (page) => {
      await row(page, 'user-54').waitFor()
      await page.getByRole('link', { name: 'Older' }).click()
      await row(page, ID).waitFor()
      await page.getByLabel('Search').fill('ada@exam')
      await row(page, 'user-0').waitFor({ state: 'detached' })
      expect(page.url()).toContain('search=ada%40exam')
      expect(page.url()).not.toContain('before=')
      await page.getByRole('link', { name: ID }).click()
      await page.getByRole('heading', { name: ID, level: 1 }).waitFor()
      await page.goBack()
      await row(page, ID).waitFor()
      await page.getByLabel('Search').fill('nobody at all')
      await page.getByRole('heading', { name: 'Nothing matches' }).waitFor()
      await expectNoAxeViolations(page)
      await page.getByRole('link', { name: 'Remove the filters' }).click()
      await row(page, 'user-54').waitFor()
      expect(await page.getByLabel('Search').inputValue()).toBe('')
    })
  })

  it('do not say that nothing matches while another search is on its way', async () => {
    await open({}, '?search=nobody+at+all', async (page) => {
      const nothing = page.getByRole('heading', { name: 'Nothing matches' })
      await nothing.waitFor()
      const answered = Promise.withResolvers<void>()
      await page.route(/users\?search=ada/, async (route) => {
        await answered.promise
        await route.continue()
      })
      await page.getByLabel('Search').fill('ada@exam')
      await page.waitForURL(/search=ada/)
      expect(await page.locator('.previous').filter({ has: nothing }).count()).toBe(1)
      answered.resolve()
      await row(page, ID).waitFor()
    })
  })

  it('have a page each: attributes with every digit, consent, segments, and one line of time', async () => {
    await open({}, own, async (page) => {
      await page.getByText('9007199254740993').waitFor()
      await page.getByText('opted in', { exact: true }).waitFor()
      await page.getByRole('region', { name: 'Segments' }).getByRole('link').waitFor()
      const names = page.getByRole('table').getByRole('rowheader')
      await names.first().waitFor()
      expect((await names.allInnerTexts()).slice(0, 2)).toEqual(['Consent changed', 'Page 69'])
      await page.getByRole('link', { name: 'Older' }).click()
      await row(page, 'Page 0').waitFor()
      expect(page.url()).toContain('page=2')
      await page.getByRole('link', { name: 'Show the proofs' }).click()
      await row(page, 'not decided → opted in').waitFor()
      expect(await names.count()).toBe(1)
      expect(page.url()).toContain('show=consent')
      await page.goBack()
      await row(page, 'Page 0').waitFor()
    })
  })

  it('are erased after their id is typed, and then are no more', async () => {
    const gone = 'to-be-erased'
    await trackingOf(server).apply({ type: 'customer', customer_id: gone, attributes: { email: 'gone@example.com' } })
    await open({}, `/${gone}`, async (page) => {
      await page.getByText('gone@example.com').waitFor()
      await page.getByRole('button', { name: 'Erase person' }).click()
      const erase = page.getByRole('dialog').getByRole('button', { name: 'Erase person' })
      expect(await erase.isDisabled()).toBe(true)
      await page.getByLabel(`Type ${gone} to confirm`).fill(gone)
      await expectNoAxeViolations(page)
      await erase.click()
      await page.getByText('Person erased').waitFor()
      await row(page, 'user-54').waitFor()
      await row(page, gone).waitFor({ state: 'detached' })
      expect(page.url()).toBe(`${server.url}/dashboard/${as.id}/users`)
    })
  })

  it('who are unknown are said to be', async () => {
    await open({ expected: [/status of 404/] }, '/nobody', async (page) => {
      await page.getByRole('alert').getByText('The workspace has no such user.').waitFor()
      expect(await page.getByRole('button', { name: 'Erase person' }).count()).toBe(0)
    })
  })

  it('without a customer id are found by an identifier', async () => {
    const workspace = await server.makeWorkspace({ identityResolution: ['crm'] }, 'crm')
    const person = await signInAs(server, 'developer')
    const body = { type: 'customer', user_identifiers: { crm: '7' }, attributes: { plan: 'silver' } }
    await trackingOf(server, workspace).apply(body)
    await open({ person }, '', async (page) => {
      await page.goto(`/dashboard/${workspace.id}/users`)
      await page.getByRole('link', { name: 'no customer id' }).click()
      await page.getByText('silver').waitFor()
      expect(page.url()).toContain('/users/by/crm/7')
    })
  })

  it('are not shown to an analyst', async () => {
    await open({ person: await signInAs(server, 'analyst') }, own, async (page) => {
      await page.getByRole('heading', { name: 'Your role does not include this page' }).waitFor()
      expect(await page.getByRole('link', { name: 'Users' }).count()).toBe(0)
    })
  })

  it('teach where they come from where there are none', async () => {
    const empty = await server.makeWorkspace({}, 'nobody')
    await open({}, '', async (page) => {
      await page.goto(`/dashboard/${empty.id}/users`)
      await page.getByRole('heading', { name: 'No users yet' }).waitFor()
      await expectNoAxeViolations(page)
    })
  })

  it.each(WIDTHS)('can be read by everybody, at %i px', async (width) => {
    await open({ width }, '', async (page) => {
      await row(page, 'user-54').waitFor()
      await expectNoAxeViolations(page)
      await page.goto(`/dashboard/${as.id}/users${own}`)
      await row(page, 'Page 69').waitFor()
      await page.getByText('opted in', { exact: true }).waitFor()
      await expectNoAxeViolations(page)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    })
  })
})
