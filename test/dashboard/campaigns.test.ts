// Campaigns in a browser: the list with its filters, and a report whose numbers are those of the API.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { toCalendarDate } from '../../src/core/time-zone.ts'
import type { CampaignStatsBody, VariationBody } from '../../src/operations/statistics/campaign-stats-body.ts'
import { signInAs, type SignedInPerson } from '../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../support/browser/accessibility.ts'
import { describeInChromium } from '../support/browser/chromium.ts'
import { enterAs } from '../support/browser/enter-as.ts'
import { WIDTHS, withPage, type OpenedPage } from '../support/browser/open-page.ts'
import { campaignCallsOf } from '../support/calls/campaign-calls.ts'
import { addMailing, addPeople, changeMailing, readRun } from '../support/delivery/mailing.ts'
import { startMailSink, type MailSink } from '../support/mail-sink/mail-sink.ts'
import { startServer, until, type TestServer } from '../support/server.ts'
import { addReportedCampaign } from '../support/statistics/reported-campaign.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const PUBLIC_URL = { PUBLIC_URL: 'http://127.0.0.1:8080' }
/** More than a page of the list has. */
const OTHERS = 10
const FIRST_DAYS = 'First 31 days'

const counts = new Intl.NumberFormat('en-GB')
const percent = new Intl.NumberFormat('en-GB', {
  style: 'percent',
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
})
const toPercent = (value: number) => percent.format(value / 100)

interface StatsAnswer {
  readonly data: Readonly<Record<string, [CampaignStatsBody]>>
}

interface Question {
  readonly metric_type?: 'TOTAL' | 'UNIQUE'
  readonly days?: number
}

describeInChromium('Campaigns in the dashboard', (browser) => {
  let server: TestServer
  let sink: MailSink
  let marketer: SignedInPerson
  let reported: string
  let sending: string
  beforeAll(async () => {
    server = await startServer('sqlite', PUBLIC_URL)
    sink = await startMailSink()
    marketer = await signInAs(server, 'marketer', 'main')
    for (let made = 1; made <= OTHERS; made++) await campaignCallsOf(server).make({ name: `Weekly mail ${made}` })
    reported = await addReportedCampaign(server, 'Spring sale')
    sending = await addRunning()
  })
  afterAll(async () => {
    await sink.stop()
    await server.stop()
  })

  /** A campaign of which one message failed and another one waits. */
  const addRunning = async () => {
    const people = ['reject-552-5.2.2', 'defer-450-4.2.1'].map((name) => {
      return { customer_id: name, email: `${name}@mailing.example` }
    })
    await addPeople(server, people)
    const campaign = await addMailing(server, sink)
    await changeMailing(server, campaign, 'start')
    await until('one message failed', async () => {
      const run = await readRun(server, campaign)
      return run?.states['failed'] === 1 && run.states['deferred'] === 1
    })
    return campaign
  }

  /** What the API answers for the last days. */
  const ask = async (id: string, { metric_type = 'UNIQUE', days = 31 }: Question = {}): Promise<CampaignStatsBody> => {
    const today = Math.floor(Date.now() / DAY_MS)
    const body = {
      request_id: 'test',
      campaign_ids: [id],
      start_date: toCalendarDate(today - days + 1),
      end_date: toCalendarDate(today),
      attribution_type: 'CLICK_THROUGH',
      metric_type,
    }
    const options = { tile: 'reports', body } as const
    const answer = await server.call<StatsAnswer>('POST', '/core-services/v1/campaign-stats', options)
    const stats = answer.body.data[id]?.[0]
    if (!stats) throw new Error(`nothing is counted for ${id}`)
    return stats
  }

  const numbersOf = async (
    id: string,
    { locale = 'all_locales', ...question }: Question & { locale?: string } = {},
  ) => {
    const found = (await ask(id, question)).platforms['all_platforms']?.locales[locale]?.variations['all_variations']
    return found as VariationBody
  }

  const visit = (
    path: string,
    use: (page: Page) => Promise<void>,
    { person = marketer, ...more }: Partial<OpenedPage> & { readonly person?: SignedInPerson } = {},
  ) => {
    return withPage(browser(), { url: server.url, ...more }, async (page) => {
      await enterAs(page, person)
      await page.goto(`/dashboard/main/${path}`)
      await use(page)
    })
  }

  const rowOf = (page: Page, table: string, name: string) => {
    const rows = page.getByRole('table', { name: table }).getByRole('row')
    return rows.filter({ has: page.getByRole('rowheader', { name, exact: true }) })
  }

  it.each(WIDTHS)('can be read by everybody, at %i px', async (width) => {
    const see = async (page: Page) => {
      await expectNoAxeViolations(page)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    }
    const list = async (page: Page) => {
      await page.getByRole('link', { name: 'Spring sale' }).waitFor()
      await see(page)
      await page.getByRole('link', { name: 'Spring sale' }).click()
      await page.getByRole('heading', { name: 'Delivery funnel' }).waitFor()
      await page.locator('.chart canvas').waitFor()
      await see(page)
      await page.getByRole('button', { name: 'What is Uplift?' }).first().click()
      await page.getByText('By how many percent the share of people').filter({ visible: true }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'Show as table' }).click()
      await page.getByRole('button', { name: 'What is Opens?' }).first().click()
      await page.getByText('Distinct people with messages that were shown').first().waitFor()
      await see(page)
    }
    await visit('campaigns', list, { width })
  })

  it('are found by a part of the name and by state, as the address says', async () => {
    await visit('campaigns', async (page) => {
      await page.getByRole('link', { name: 'Weekly mail 9' }).waitFor()
      await page.getByLabel('Search by name').fill('SPRING')
      await page.getByRole('link', { name: 'Weekly mail 9' }).waitFor({ state: 'detached' })
      expect(await page.getByRole('rowheader').allInnerTexts()).toEqual([
        expect.stringContaining('Spring news'),
        expect.stringContaining('Spring sale'),
      ])
      await page.getByLabel('State').selectOption({ label: 'Reported' })
      await page.getByRole('link', { name: 'Spring news' }).waitFor({ state: 'detached' })
      expect(page.url()).toBe(`${server.url}/dashboard/main/campaigns?search=SPRING&state=none`)
      await page.reload()
      await page.getByRole('link', { name: 'Spring sale' }).waitFor()
      expect(await page.getByLabel('Search by name').inputValue()).toBe('SPRING')
      await page.getByLabel('State').selectOption({ label: 'Paused' })
      await page.getByRole('link', { name: 'Remove the filters' }).click()
      await page.getByRole('link', { name: 'Weekly mail 9' }).waitFor()
      expect(await page.getByLabel('Search by name').inputValue()).toBe('')
    })
  })

  it('are listed newest first in pages', async () => {
    await visit('campaigns', async (page) => {
      await page.getByRole('link', { name: 'Spring news' }).waitFor()
      expect(await page.getByRole('rowheader').count()).toBe(10)
      await page.getByRole('link', { name: 'Older' }).click()
      await page.getByRole('link', { name: 'Weekly mail 1', exact: true }).waitFor()
      expect(await page.getByRole('rowheader').count()).toBe(OTHERS + 2 - 10)
      await page.goBack()
      await page.getByRole('link', { name: 'Spring news' }).waitFor()
    })
  })

  it('have the numbers of the API for the last 30 days in the list', async () => {
    const { performance_stats: stats, conversion_goal_stats: goals } = await numbersOf(reported, { days: 30 })
    await visit('campaigns?search=Spring+sale', async (page) => {
      const cells = page.getByRole('row').filter({ hasText: 'Spring sale' }).getByRole('cell')
      await cells
        .filter({ hasText: counts.format(stats.sent) })
        .first()
        .waitFor()
      expect(await cells.allInnerTexts()).toEqual([
        'Reported',
        counts.format(stats.sent),
        toPercent(stats.open_rate),
        toPercent(stats.ctr),
        expect.stringMatching(new RegExp(`^${goals['Purchase']?.conversions}\\b`)),
      ])
    })
  })

  it('have a report with the numbers of the API, in total and as people, in numbers and percent', async () => {
    await visit(`campaigns/${reported}`, async (page) => {
      for (const metric_type of ['UNIQUE', 'TOTAL'] as const) {
        const { performance_stats: stats } = await numbersOf(reported, { metric_type })
        await page
          .getByRole('radiogroup', { name: 'Count' })
          .getByText(metric_type === 'TOTAL' ? 'Total' : 'People')
          .click()
        const opens = page.locator('.tile').filter({ hasText: 'Opens' })
        await opens.getByText(counts.format(stats.impression), { exact: true }).waitFor()
        expect(await page.locator('.tile-value').allInnerTexts()).toEqual([
          counts.format(stats.sent),
          'not reported',
          ...[stats.impression, stats.click, stats.failed, stats.bounce, stats.unsubscribe, stats.complaint].map(
            (value) => counts.format(value),
          ),
        ])
      }
      const { performance_stats: stats } = await numbersOf(reported, { metric_type: 'TOTAL' })
      await page.getByRole('radiogroup', { name: 'Show' }).getByText('Percent').click()
      await page.locator('.tile').filter({ hasText: 'Open rate' }).waitFor()
      expect(await page.locator('.tile-value').allInnerTexts()).toEqual(
        [
          stats.sent_rate,
          stats.delivery_rate,
          stats.open_rate,
          stats.ctr,
          stats.failure_rate,
          stats.bounce_rate,
          stats.unsubscribe_rate,
          stats.complaint_rate,
        ].map(toPercent),
      )
      expect((await page.locator('.tile .note').allInnerTexts()).slice(1, 4)).toEqual([
        'Estimated, because deliveries are not reported',
        `Opens: ${counts.format(stats.impression)}`,
        `Clicks: ${counts.format(stats.click)}`,
      ])
      expect(new URL(page.url()).search).toBe('?count=TOTAL&show=percent')
    })
  })

  it('show goals, locales, variations and control groups as the API has them', async () => {
    const tree = await ask(reported)
    const { conversion_goal_stats: goals, campaign_control_group: control } = await numbersOf(reported)
    await visit(`campaigns/${reported}`, async (page) => {
      const goal = rowOf(page, 'Conversion goals', 'Purchase')
      const { conversions = 0, cvr = 0, uplift_significant: isSignificant } = goals['Purchase'] ?? {}
      await goal.waitFor()
      const cells = await goal.getByRole('cell').allInnerTexts()
      expect(cells.slice(0, 2)).toEqual([counts.format(conversions), toPercent(cvr)])
      expect(isSignificant).toBe(false)
      expect(cells.at(-1)).toBe('Not significant yet')
      const ofLocale = rowOf(page, 'Locale × variation', 'de')
      const { variations = {} } = tree.platforms['all_platforms']?.locales['de'] ?? {}
      const rates = ['all_variations', 'A', 'B'].map((name) => {
        const { performance_stats: stats } = variations[name] as VariationBody
        return `${toPercent(stats.open_rate)}\n${counts.format(stats.impression)}`
      })
      expect(await ofLocale.getByRole('cell').allInnerTexts()).toEqual(rates)
      const ofControl = rowOf(page, 'Control groups', 'Campaign').first()
      expect(await ofControl.getByRole('cell').allInnerTexts()).toEqual([
        counts.format(control.delivery_funnel.reachable_users_in_segment),
        'Purchase',
        counts.format(control.conversion_goal_stats['Purchase']?.conversions ?? -1),
        toPercent(control.conversion_goal_stats['Purchase']?.cvr ?? -1),
      ])
    })
  })

  it('show one locale in all sections after a click, and everything again by going back', async () => {
    const { performance_stats: german } = await numbersOf(reported, { locale: 'de' })
    const { performance_stats: all } = await numbersOf(reported)
    expect(german.sent).not.toBe(all.sent)
    await visit(`campaigns/${reported}`, async (page) => {
      const sent = page.locator('.tile-value').first()
      await sent.waitFor()
      expect(await sent.innerText()).toBe(counts.format(all.sent))
      await page.getByRole('link', { name: 'de', exact: true }).click()
      await sent.getByText(counts.format(german.sent), { exact: true }).waitFor()
      expect(new URL(page.url()).search).toBe('?locale=de')
      expect(await page.getByLabel('Locale', { exact: true }).inputValue()).toBe('de')
      await page.goBack()
      await sent.getByText(counts.format(all.sent), { exact: true }).waitFor()
      expect(await page.getByLabel('Days').locator('option').allTextContents()).not.toContain(FIRST_DAYS)
      await page.getByLabel('Days').selectOption({ label: 'Custom range' })
      await page.getByLabel('To', { exact: true }).fill('2026-01-31')
      await page.getByText('No numbers for these days').waitFor()
      expect(await page.getByLabel('From', { exact: true }).inputValue()).toBe('2026-01-01')
      await page.getByRole('link', { name: 'Show the last 31 days' }).click()
      await sent.getByText(counts.format(all.sent), { exact: true }).waitFor()
    })
  })

  it('begin with the first days of a campaign that has a start time', async () => {
    const id = await addMailing(server, sink, { delivery: { start_at: '2026-01-05T09:00' } })
    await visit(`campaigns/${id}`, async (page) => {
      const days = page.getByLabel('Days')
      await days.waitFor()
      expect(await days.locator('option:checked').textContent()).toBe(FIRST_DAYS)
      await page.getByText('5 Jan – 4 Feb 2026').first().waitFor()
    })
  })

  it('have a funnel whose steps add up on the screen', async () => {
    const { delivery_funnel: funnel, failure_breakdown: failures } = await numbersOf(reported)
    await visit(`campaigns/${reported}`, async (page) => {
      const table = page.getByRole('table', { name: 'Delivery funnel' })
      await table.waitFor()
      const rows = await table
        .locator('tbody tr')
        .evaluateAll((found) =>
          found.map((line) => [...line.children].slice(0, 2).map((cell) => cell.textContent ?? '')),
        )
      const units = rows.map(([, text = '']) => Number(text.replace('−', '-').replaceAll(/[, ]/g, '')))
      const taken = units.filter((value) => value < 0)
      expect(units[0]).toBe(funnel.reachable_users_in_segment)
      expect(taken).toHaveLength(Object.keys(failures).length + (funnel.pending > 0 ? 1 : 0))
      expect((units[0] ?? 0) + taken.reduce((sum, value) => sum + value, 0)).toBe(funnel.sent)
      expect(units.at(-1)).toBe(funnel.sent)
      const sum = [units[0], ...taken.map((value) => -value)].map((value) => counts.format(value ?? 0)).join(' − ')
      await page.getByText(`${sum} = ${counts.format(funnel.sent)} sent`).waitFor()
    })
  })

  it('show the chart as a table, whose days add up to the total', async () => {
    const { performance_stats: stats } = await numbersOf(reported, { metric_type: 'TOTAL' })
    await visit(`campaigns/${reported}?count=TOTAL`, async (page) => {
      await page.locator('.chart canvas').waitFor()
      await page.getByRole('button', { name: 'Show as table' }).click()
      const table = page.getByRole('table', { name: 'Over time' })
      await table.waitFor()
      const opens = await table.locator('tbody tr td:nth-child(2)').allInnerTexts()
      expect(opens).toHaveLength(31)
      expect(opens.reduce((sum, text) => sum + Number(text), 0)).toBe(stats.impression)
      expect(await table.locator('tfoot td').first().innerText()).toBe(counts.format(stats.impression))
      expect(new URL(page.url()).search).toBe('?count=TOTAL&view=table')
    })
  })

  it('say that there is a newer version where a chart cannot be loaded, and still show its table', async () => {
    const expected = [/status of 404/, /^uncaught $/]
    await visit(
      'campaigns',
      async (page) => {
        await page.route(/\/assets\/draw-chart-.*\.js$/, (route) => route.fulfill({ status: 404, body: '' }))
        await page.goto(`/dashboard/main/campaigns/${reported}`)
        const notice = page.getByRole('alert').filter({ hasText: 'A newer version of Tidings is available' })
        await notice.getByRole('button', { name: 'Reload' }).waitFor()
        await expectNoAxeViolations(page)
        await page.getByRole('button', { name: 'Show as table' }).click()
        await page.getByRole('table', { name: 'Over time' }).waitFor()
        expect(await notice.count()).toBe(0)
      },
      { expected },
    )
  })

  it('save the numbers of a section as CSV', async () => {
    const { failure_breakdown: failures } = await numbersOf(reported)
    await visit(`campaigns/${reported}`, async (page) => {
      const saving = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Download Failure reasons as CSV' }).click()
      const saved = await saving
      expect(saved.suggestedFilename()).toMatch(/^Spring-sale-Failure-reasons-.*\.csv$/)
      const chunks: Buffer[] = []
      for await (const chunk of await saved.createReadStream()) chunks.push(chunk as Buffer)
      const [head, ...lines] = Buffer.concat(chunks).toString('utf8').trimEnd().split('\r\n')
      expect(head).toBe('\uFEFFReason,People')
      expect(lines.toSorted()).toEqual(
        Object.entries(failures)
          .map((line) => line.join(','))
          .toSorted(),
      )
    })
  })

  it('show the people behind a reason, and are paused and resumed', async () => {
    await visit(`campaigns/${sending}`, async (page) => {
      const { failure_breakdown: failures } = await numbersOf(sending)
      const [[reason, units] = []] = Object.entries(failures)
      expect({ reason, units }).toEqual({ reason: 'soft_bounce', units: 1 })
      await page.getByRole('link', { name: /^People: / }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('link', { name: 'reject-552-5.2.2' }).waitFor()
      await dialog.getByText(/^552 /).waitFor()
      await expectNoAxeViolations(page)
      await dialog.getByRole('button', { name: 'Close' }).click()
      await page.getByRole('button', { name: 'Pause campaign' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Pause campaign' }).click()
      await page.getByText('Campaign paused').waitFor()
      await page.getByRole('button', { name: 'Resume campaign' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Resume campaign' }).click()
      await page.getByText('Campaign resumed').waitFor()
      expect((await readRun(server, sending))?.state).toBe('running')
    })
  })

  it('say on the page of the run that another program sends them', async () => {
    await visit(`campaigns/${reported}/run`, async (page) => {
      await page.getByText('Not sent by Tidings').waitFor()
      expect(await page.getByRole('status', { name: 'Loading' }).count()).toBe(0)
    })
  })

  it('are read by an analyst, without people and without what they may not do', async () => {
    const analyst = await signInAs(server, 'analyst', 'main')
    const see = async (page: Page) => {
      await page.getByRole('heading', { name: 'Failure reasons' }).waitFor()
      await page.getByRole('link', { name: 'Sending' }).waitFor()
      for (const name of ['Pause campaign', 'More actions'])
        expect(await page.getByRole('button', { name }).count()).toBe(0)
      for (const name of ['Edit', /^People: /]) expect(await page.getByRole('link', { name }).count()).toBe(0)
    }
    await visit(`campaigns/${sending}`, see, { person: analyst })
  })

  it('have numbers that anybody may check, and the check is found again after leaving', async () => {
    const analyst = await signInAs(server, 'analyst', 'main')
    const check = async (page: Page) => {
      await page.getByRole('button', { name: 'Check these numbers' }).click()
      await page.getByRole('button', { name: 'Check again' }).waitFor()
      await page.getByRole('link', { name: 'Campaigns' }).first().click()
      await page.getByRole('link', { name: 'Spring sale' }).click()
      await page.getByText(/^No difference: [\d,]+ stored numbers equal the facts\.$/).waitFor()
      await page.getByText(`by ${analyst.email}`).waitFor()
      await expectNoAxeViolations(page)
      const path = `/core-services/v1/campaigns/${reported}/recount`
      const { body } = await server.call('GET', path, { tile: 'reports' })
      expect(body).toMatchObject({ recount: { state: 'finished', differing_numbers: 0 } })
    }
    await visit(`campaigns/${reported}`, check, { person: analyst })
  })

  it('teach what they are where none is', async () => {
    const made = await server.makeWorkspace()
    const owner = await signInAs(server, 'owner')
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, owner)
      await page.goto(`/dashboard/${made.id}/campaigns`)
      await page.getByText('No campaigns yet').waitFor()
      expect(await page.getByRole('link', { name: 'Create campaign' }).count()).toBe(2)
      await expectNoAxeViolations(page)
    })
  })
})
