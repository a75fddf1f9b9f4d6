// Segments in a browser: from the first condition to the count, why somebody is in one, and two people who change the same one.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parseJsonText } from '../../src/core/json/parse-json.ts'
import { signInAs, type SignedInPerson } from '../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../support/browser/accessibility.ts'
import { describeInChromium } from '../support/browser/chromium.ts'
import { enterAs } from '../support/browser/enter-as.ts'
import { holdRequest } from '../support/browser/hold-request.ts'
import { WIDTHS, withPage } from '../support/browser/open-page.ts'
import { segmentCallsOf, type SegmentBody, type SegmentCalls } from '../support/calls/segment-calls.ts'
import { trackingOf } from '../support/calls/tracking.ts'
import { addPeople } from '../support/delivery/mailing.ts'
import { startServer, type TestServer } from '../support/server.ts'

const SEGMENTS = '/dashboard/main/segments'
const GERMANS = { all: [{ attribute: 'country', operator: 'is', value: 'DE' }] }
/** A segment as the server writes it. */
const FETCH_TEXT = `async (id) => {
  const answer = await fetch('/core-services/v1/segments/' + id, { headers: { 'svc-appkey': 'main' } })
  return answer.text()
}`
const FORM = '[aria-label="Group of conditions"]'

describeInChromium('Segments', (browser) => {
  let server: TestServer
  let calls: SegmentCalls
  let marketer: SignedInPerson

  beforeAll(async () => {
    server = await startServer('sqlite')
    calls = segmentCallsOf(server)
    marketer = await signInAs(server, 'marketer')
    await addPeople(server, [
      { customer_id: 'ada', email: 'ada@example.com', country: 'DE' },
      { customer_id: 'ben', email: 'ben@example.com', country: 'DE', opt_in_status: 'OPTED_OUT' },
      { customer_id: 'cleo', country: 'AT' },
    ])
    const order = (customer_id: string) => ({ type: 'event', customer_id, actions: [{ action: 'Order Placed' }] })
    await trackingOf(server).apply(order('ada'), order('ada'), order('cleo'))
  })
  afterAll(() => server.stop())

  interface Look {
    readonly width?: number
    readonly expected?: readonly RegExp[]
  }

  const open = (path: string, use: (page: Page) => Promise<void>, look: Look = {}) =>
    withPage(browser(), { url: server.url, ...look }, async (page) => {
      await enterAs(page, marketer)
      await page.goto(SEGMENTS + path)
      await use(page)
    })
  const fetchSegment = async (id: string) => (await calls.call<SegmentBody>('GET', `/${id}`)).body
  const seeCount = (page: Page, count: number) =>
    page.locator('.people-count', { hasText: new RegExp(`^${count} people`) }).waitFor()

  it('keeps what somebody types while the segment is created, and while it is saved', async () => {
    await open('/new', async (page) => {
      await page.getByLabel('Name', { exact: true }).fill('Slow')
      await page.getByRole('button', { name: 'Add condition' }).click()
      await page.getByLabel('Name of the attribute').fill('country')
      await page.getByLabel('Value', { exact: true }).fill('DE')
      const created = await holdRequest(page, 'POST', '/segments')
      await page.getByRole('button', { name: 'Create segment' }).click()
      await created.sent
      await page.getByLabel('Value', { exact: true }).fill('AT')
      created.release()
      await page.getByRole('heading', { name: 'Slow' }).waitFor()
      await expect.poll(() => page.getByLabel('Value', { exact: true }).inputValue()).toBe('AT')
      const id = page.url().split('/').at(-1) ?? ''
      expect(await fetchSegment(id)).toMatchObject({ where: GERMANS })
      const saved = await holdRequest(page, 'PATCH', `/segments/${id}`)
      await page.getByRole('button', { name: 'Save segment' }).click()
      await saved.sent
      await page.getByLabel('Name', { exact: true }).fill('Typed later')
      saved.release()
      await page.getByText('Segment saved').waitFor()
      expect(await fetchSegment(id)).toMatchObject({ name: 'Slow', where: { all: [{ value: 'AT' }] } })
      expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Typed later')
      await page.getByRole('button', { name: 'Save segment' }).click()
      await expect.poll(async () => (await fetchSegment(id)).name).toBe('Typed later')
    })
  })

  it('counts people while somebody writes the conditions, and creates the segment', async () => {
    await open('', async (page) => {
      await page.getByRole('link', { name: 'Create segment' }).first().click()
      await page.getByLabel('Name', { exact: true }).fill('Ordered twice in Germany')
      await page.getByText('Add a condition to see').waitFor()
      await page.getByRole('button', { name: 'Did something' }).click()
      await page.getByLabel('Name of the event').fill('Order Placed')
      await seeCount(page, 2)
      await page.getByLabel('How often').selectOption('has done at least')
      await page.getByLabel('When').selectOption('in the last')
      await seeCount(page, 1)
      await page.getByRole('button', { name: 'Add condition' }).click()
      await page.getByLabel('Name of the attribute').fill('country')
      await page.getByLabel('Value', { exact: true }).fill('DE')
      await page.getByRole('button', { name: 'Create segment' }).click()
      await page.getByRole('heading', { name: 'Ordered twice in Germany' }).waitFor()
      const made = await fetchSegment(page.url().split('/').at(-1) ?? '')
      expect(made).toMatchObject({
        created_by: marketer.email,
        where: {
          all: [
            { event: 'Order Placed', did: true, times: { at_least: 2 }, within_days: 30 },
            { attribute: 'country', operator: 'is', value: 'DE' },
          ],
        },
      })
    })
  })

  it('offers the names of events and attributes that the workspace has', async () => {
    await open('/new', async (page) => {
      await page.getByRole('button', { name: 'Did something' }).click()
      await page.locator('datalist option', { hasText: 'Order Placed' }).waitFor({ state: 'attached' })
      await page.getByRole('button', { name: 'Add condition' }).click()
      await page.locator('datalist option', { hasText: 'country' }).waitFor({ state: 'attached' })
      expect(await page.locator('datalist option').allTextContents()).toEqual(expect.arrayContaining(['country']))
    })
  })

  it('shows a condition as it was written, in groups, and changes only what somebody touches', async () => {
    const where = {
      all: [
        { any: [{ attribute: 'age', operator: 'greater_than', value: 17 }, { created: { after: { days_ago: 7 } } }] },
        { not: { preference: { opt_in_status: ['OPTED_OUT'] } } },
      ],
    }
    const id = await calls.make(where)
    await open('', async (page) => {
      const sentence = '(age is more than 17 or was first seen after 7 days ago) and not (has the status opted out)'
      await page.getByText(sentence).waitFor()
    })
    await open(`/${id}`, async (page) => {
      await page.locator(FORM).nth(2).waitFor()
      expect(await page.locator(FORM).count()).toBe(3)
      await page.getByLabel('Name', { exact: true }).fill('Grown up')
      await page.getByRole('button', { name: 'Save segment' }).click()
      await page.getByRole('heading', { name: 'Grown up' }).waitFor()
      expect((await fetchSegment(id)).where).toEqual(where)
      await page.getByLabel('Value', { exact: true }).fill('20')
      await page.getByRole('button', { name: 'Save segment' }).click()
      await page.getByText('Segment saved').first().waitFor()
      const [group, ...others] = where.all
      const changed = { any: [{ attribute: 'age', operator: 'greater_than', value: 20 }, group?.any?.[1]] }
      await expect.poll(async () => (await fetchSegment(id)).where).toEqual({ all: [changed, ...others] })
    })
  })

  it('keeps every digit of the numbers that somebody touches, also through a reload', async () => {
    const long = [9007199254740993n, 12345678901234567891n].map(String)
    const leaf = (value: string) => `{"attribute":"order","operator":"is_one_of","value":${value}}`
    const made = `{"all":[${leaf(`[${long.join(',')}]`)},{"attribute":"shop","operator":"is","value":${long[0]}}]}`
    const id = await calls.make(parseJsonText(made))
    await open('', (page) => page.getByText(`order is one of ${long.join(', ')}`).waitFor())
    await open(`/${id}`, async (page) => {
      const [list, one] = [page.getByLabel('Values, one per line'), page.getByLabel('Value', { exact: true })]
      await expect.poll(() => list.inputValue()).toBe(long.join('\n'))
      await one.fill('9007199254740995')
      await page.reload()
      await expect.poll(() => one.inputValue()).toBe('9007199254740995')
      await page.getByRole('button', { name: 'Save segment' }).click()
      await page.getByText('Segment saved').first().waitFor()
      await expect.poll(() => one.inputValue()).toBe('9007199254740995')
      await list.fill(`${long.join('\n')}\n1e400`)
      await page.getByRole('button', { name: 'Save segment' }).click()
      await page.getByText('Segment saved').first().waitFor()
      const written = made.replace(long.join(','), `${long.join(',')},1e400`).replace(/\d+}]}$/, '9007199254740995}]}')
      await page.getByLabel('Customer id').fill('ben')
      await page.getByRole('button', { name: 'Check person' }).click()
      await page.locator('.verdicts').getByText('shop is 9007199254740995').waitFor()
      await expect.poll(() => page.evaluate(`(${FETCH_TEXT})(${JSON.stringify(id)})`)).toContain(`"where":${written}`)
    })
  })

  it('says why somebody is not in it', async () => {
    const id = await calls.make({ all: [...GERMANS.all, { event: 'Order Placed', did: true }] })
    await open(`/${id}`, async (page) => {
      await page.getByLabel('Customer id').fill('ben')
      await page.getByRole('button', { name: 'Check person' }).click()
      await page.getByText('ben is not in the segment.').waitFor()
      const verdicts = page.locator('.verdicts li')
      expect(await verdicts.allTextContents()).toEqual(['country is “DE” (true)', 'has done Order Placed (not true)'])
    })
  })

  it('shows faults beside what is wrong, and keeps what was typed through a reload', async () => {
    await open(
      '/new',
      async (page) => {
        await page.getByLabel('Name', { exact: true }).fill('Half done')
        await page.getByRole('button', { name: 'Add condition' }).click()
        await page.getByRole('button', { name: 'Create segment' }).click()
        const attribute = page.getByLabel('Name of the attribute')
        await expect.poll(() => attribute.getAttribute('aria-invalid')).toBe('true')
        expect(await attribute.evaluate((input) => input === document.activeElement)).toBe(true)
        await page.reload()
        expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Half done')
        await page.getByLabel('Name of the attribute').waitFor()
      },
      { expected: [/status of 400/] },
    )
  })

  it('shows both versions when somebody else saved first, and lets one choose', async () => {
    const id = await calls.make(GERMANS)
    const whenTyped = async (page: Page, theirs: string) => {
      const field = page.getByLabel('Name', { exact: true })
      await field.fill('Mine')
      await calls.patch(id, { name: theirs, where: { all: [{ attribute: 'country', operator: 'exists' }] } })
      await page.getByRole('button', { name: 'Save segment' }).click()
      await page.getByRole('dialog', { name: 'Someone else has saved changes' }).waitFor()
      await page.getByRole('dialog').getByText(theirs).waitFor()
    }
    const expected = [/status of 409/]
    await open(
      `/${id}`,
      async (page) => {
        await whenTyped(page, 'Theirs 1')
        await page.getByRole('button', { name: 'Take the other version' }).click()
        await page.getByRole('heading', { name: 'Theirs 1' }).waitFor()
        await whenTyped(page, 'Theirs 2')
        await page.getByRole('button', { name: 'Keep my version' }).click()
        await page.getByRole('heading', { name: 'Mine' }).waitFor()
        await expect.poll(async () => (await fetchSegment(id)).name).toBe('Mine')
      },
      { expected },
    )
  })

  it('deletes a segment after its name is typed', async () => {
    const { body } = await calls.create({ name: 'Short-lived' })
    await open(`/${body.segment_id}`, async (page) => {
      await page.getByRole('button', { name: 'Delete segment' }).click()
      const dialog = page.getByRole('dialog')
      const confirm = dialog.getByRole('button', { name: 'Delete segment' })
      expect(await confirm.isDisabled()).toBe(true)
      await dialog.getByLabel('Type Short-lived to confirm').fill('Short-lived')
      await confirm.click()
      await page.getByRole('heading', { name: 'Segments' }).waitFor()
      expect((await calls.call('GET', `/${body.segment_id}`)).status).toBe(404)
    })
  })

  it('finds segments by a part of their names, and says when nothing matches', async () => {
    await calls.create({ name: 'Needle' })
    await open('', async (page) => {
      const search = page.getByLabel('Search by name')
      await search.fill('eedl')
      await page.waitForURL('**?search=eedl')
      await expect.poll(() => page.locator('tbody tr').count()).toBe(1)
      await search.fill('no such name')
      await page.getByText('No segment name contains this').waitFor()
      await page.getByRole('link', { name: 'Show all segments' }).click()
      await page.getByRole('link', { name: 'Needle' }).waitFor()
    })
  })

  it('is not for analysts: no entry in the navigation, and no page', async () => {
    const analyst = await signInAs(server, 'analyst')
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, analyst)
      await page.goto(SEGMENTS)
      await page.getByRole('heading', { name: 'Your role does not include this page' }).waitFor()
      expect(await page.getByRole('link', { name: 'Segments' }).count()).toBe(0)
    })
  })

  it.each(WIDTHS)('everybody can use it, at %i px', async (width) => {
    const id = await calls.make({
      any: [GERMANS, { event: 'Order Placed', did: true, where: [{ attribute: 'amount', operator: 'exists' }] }],
    })
    const isTooWide = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth)
    await open(
      `/${id}`,
      async (page) => {
        await page.getByText('Some of them').waitFor()
        await page.getByLabel('Customer id').fill('ada')
        await page.getByRole('button', { name: 'Check person' }).click()
        await page.getByText('ada is in the segment.').waitFor()
        await page.getByLabel('Name of the attribute').first().fill('')
        await page.getByRole('button', { name: 'Save segment' }).click()
        await page.locator('[aria-invalid="true"]').first().waitFor()
        await expectNoAxeViolations(page)
        expect(await isTooWide(page)).toBeLessThanOrEqual(width)
        await page.getByRole('button', { name: 'Delete segment' }).click()
        await page.getByRole('dialog').waitFor()
        await expectNoAxeViolations(page)
      },
      { width, expected: [/status of 400/] },
    )
    await open(
      '',
      async (page) => {
        await page.locator('tbody tr').first().waitFor()
        await expectNoAxeViolations(page)
        expect(await isTooWide(page)).toBeLessThanOrEqual(width)
      },
      { width },
    )
  })
})
