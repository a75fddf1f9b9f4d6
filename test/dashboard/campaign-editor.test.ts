// A campaign in a browser: from a segment to mails in a sink, its faults all at once, two people who edit the same, and its run.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signInAs, type SignedInPerson } from '../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../support/browser/accessibility.ts'
import { describeInChromium } from '../support/browser/chromium.ts'
import { enterAs } from '../support/browser/enter-as.ts'
import { holdRequest } from '../support/browser/hold-request.ts'
import { WIDTHS, withPage } from '../support/browser/open-page.ts'
import { campaignCallsOf, type CampaignCalls } from '../support/calls/campaign-calls.ts'
import { addMailing, addPeople, addSender, addTemplate } from '../support/delivery/mailing.ts'
import { recipientsIn, sendMailing } from '../support/delivery/mailing-server.ts'
import { startMailSink, type MailSink } from '../support/mail-sink/mail-sink.ts'
import { startServer, type TestServer } from '../support/server.ts'

const CAMPAIGNS = '/dashboard/main/campaigns'

describeInChromium('Campaigns that people make', (browser) => {
  let server: TestServer
  let sink: MailSink
  let calls: CampaignCalls
  let marketer: SignedInPerson
  let senderId: string

  beforeAll(async () => {
    sink = await startMailSink()
    server = await startServer('sqlite', { PUBLIC_URL: 'http://127.0.0.1:8080' })
    calls = campaignCallsOf(server)
    marketer = await signInAs(server, 'marketer')
    await addPeople(server, [
      { customer_id: 'ada', email: 'ada@gold.example', first_name: 'Ada', tier: 'gold' },
      { customer_id: 'ben', email: 'ben@gold.example', first_name: 'Ben', tier: 'gold' },
      { customer_id: 'out', email: 'out@gold.example', tier: 'gold', opt_in_status: 'OPTED_OUT' },
      { customer_id: 'cleo', email: 'cleo@else.example', tier: 'silver' },
    ])
    senderId = await addSender(server, sink)
    const content = '<p>Hello {{ first_name }}, this is <b>for gold members</b></p>'
    await addTemplate(
      server,
      { email_content: content, subject: 'For {{ first_name }}' },
      { template_name: 'Gold news' },
    )
  })
  afterAll(async () => {
    await server.stop()
    await sink.stop()
  })

  interface Look {
    readonly width?: number
    readonly expected?: readonly RegExp[]
  }

  const open = (path: string, use: (page: Page) => Promise<void>, look: Look = {}) =>
    withPage(browser(), { url: server.url, ...look }, async (page) => {
      await enterAs(page, marketer)
      await page.goto(CAMPAIGNS + path)
      await use(page)
    })
  const idIn = (page: Page) => page.url().split('/campaigns/')[1]?.split('/')[0] ?? ''
  const makeDraft = (delivery = {}) => addMailing(server, sink, { delivery: { sender_id: senderId, ...delivery } })

  it('leads from a new segment to mails that people have', async () => {
    await open('/new', async (page) => {
      await page.getByLabel('Campaign name').fill('For gold members')
      await page.getByRole('button', { name: 'Create a new segment' }).click()
      const dialog = page.getByRole('dialog', { name: 'Create segment' })
      await dialog.getByLabel('Name', { exact: true }).fill('Gold members')
      await dialog.getByRole('button', { name: 'Add condition' }).click()
      await dialog.getByLabel('Name of the attribute').fill('tier')
      await dialog.getByLabel('Value', { exact: true }).fill('gold')
      await dialog.getByRole('button', { name: 'Create segment' }).click()
      await page.locator('.chosen', { hasText: 'Gold members' }).waitFor()
      await page.locator('.people-count', { hasText: '3 people' }).waitFor()
      await page.getByRole('link', { name: 'Continue: Content' }).click()
      await page.getByRole('button', { name: 'Gold news' }).click()
      await page.getByRole('button', { name: 'Save draft and preview' }).click()
      await page.getByText('would get this message').waitFor()
      await page.getByText('For Ada').first().waitFor()
      await page.frameLocator('iframe.mail-frame').getByText('Hello Ada').waitFor()
      await page.getByRole('link', { name: 'Continue: Goals' }).click()
      const goalsStep = page.getByRole('navigation', { name: 'Steps' }).getByRole('link', { name: 'Goals' })
      await page.getByRole('button', { name: 'Add goal' }).click()
      await page.getByLabel('Name of the goal').fill('Order')
      expect(await goalsStep.textContent()).toBe('3Goals')
      await page.getByLabel('Event', { exact: true }).fill('Order Placed')
      await expect.poll(() => goalsStep.textContent()).toBe('Goals(complete)')
      await page.getByRole('button', { name: 'Add event detail' }).click()
      await expect.poll(() => goalsStep.textContent()).toBe('3Goals')
      await page.getByLabel('Name of the attribute').fill('channel')
      await page.getByLabel('Value', { exact: true }).fill('web')
      await expect.poll(() => goalsStep.textContent()).toBe('Goals(complete)')
      await page.getByRole('link', { name: 'Continue: Schedule' }).click()
      await page.getByRole('link', { name: 'Continue: Review' }).click()
      await page.getByRole('button', { name: 'Save draft and check' }).click()
      await page.getByText('No problems found').waitFor()
      await page.getByRole('row', { name: 'No consent' }).getByText('−1').waitFor()
      await page.getByRole('row', { name: 'Would get a message' }).getByText('2').waitFor()
      await page.getByRole('button', { name: 'Start campaign' }).click()
      const start = page.getByRole('dialog', { name: 'Start campaign' })
      await start.getByText('It is sent to 2 people now.').waitFor()
      await start.getByRole('button', { name: 'Start campaign' }).click()
      await page.getByRole('heading', { name: 'Sending: For gold members' }).waitFor()
      await page.locator('.badge', { hasText: 'Finished' }).waitFor()
      await page.getByRole('row', { name: /^Sent/ }).first().getByText('2', { exact: true }).waitFor()
      expect(recipientsIn(sink, 'gold.example')).toEqual(['ada@gold.example', 'ben@gold.example'])
      expect(await calls.fetch(idIn(page))).toMatchObject({
        created_by: marketer.email,
        conversion_goals: [{ name: 'Order', event: 'Order Placed', window_hours: 36 }],
        delivery: { sender_id: senderId, consent: 'opted_in', campaign_control_percent: 0 },
      })
      await page.getByRole('button', { name: 'Show the message of ada' }).click()
      await page.getByRole('dialog', { name: 'Message to ada' }).getByText(/^250/).waitFor()
    })
  })

  it('takes the only sender, also when somebody types before it is known', async () => {
    await open('', async (page) => {
      const held = await holdRequest(page, 'GET', '/core-services/v1/senders')
      await page.goto(`${CAMPAIGNS}/new`)
      await held.sent
      await page.getByLabel('Campaign name').fill('Typed at once')
      held.release()
      await page.getByRole('link', { name: 'Continue: Content' }).click()
      await expect.poll(() => page.getByLabel('Sender', { exact: true }).inputValue()).toBe(senderId)
    })
  })

  it('names everything that is missing at once, with the steps that mend it', async () => {
    await open(
      '/new?step=review',
      async (page) => {
        await page.getByRole('button', { name: 'Save draft and check' }).click()
        const faults = page.getByRole('alert').locator('li')
        await faults.first().waitFor()
        const fields = await faults.locator('code').allTextContents()
        expect(fields).toEqual(
          expect.arrayContaining(['name', 'delivery.audience.include', 'delivery.variations[0].external_template_id']),
        )
        await faults.filter({ hasText: 'external_template_id' }).getByRole('link', { name: 'Content' }).click()
        await page.locator('.fault', { hasText: 'Template' }).waitFor()
        await page
          .getByRole('link', { name: /Audience/ })
          .first()
          .click()
        expect(await page.getByLabel('Campaign name').getAttribute('aria-invalid')).toBe('true')
      },
      { expected: [/status of 400/] },
    )
  })

  it('says before a start what keeps the server from it', async () => {
    const id = await makeDraft({ category: 'No such category', start_at: '2020-01-01T09:00' })
    await open(`/${id}/edit?step=review`, async (page) => {
      await page.getByRole('alert').getByText('2 problems to correct').waitFor()
      expect(await page.getByRole('button', { name: 'Schedule campaign' }).isDisabled()).toBe(true)
      const asked = page.waitForResponse((answer) => answer.url().endsWith('/check'))
      await page.getByRole('button', { name: 'Check again' }).click()
      expect((await asked).status()).toBe(200)
      await page.getByRole('alert').getByRole('link', { name: 'Schedule' }).click()
      await page.getByText('As soon as I start it').click()
      await page
        .getByRole('link', { name: /Audience/ })
        .first()
        .click()
      await page.getByLabel('Category').selectOption('No category')
      await page.getByRole('button', { name: 'Save draft' }).click()
      await page.getByText('Nothing is sent before you start it').waitFor()
      await page.getByRole('link', { name: /Review/ }).click()
      await page.getByText('No problems found').waitFor()
      expect(await page.getByRole('button', { name: 'Start campaign' }).isEnabled()).toBe(true)
    })
  })

  it('says before a start that people who lack a value get nothing', async () => {
    const template = await addTemplate(server, { email_content: '<p>Dear {{ first_name }}</p>', subject: 'News' })
    const variations = [{ name: 'A', share: 100, external_template_id: template }]
    const id = await makeDraft({ variations, audience: { include: [{ attribute: 'tier', operator: 'exists' }] } })
    await open(`/${id}/edit?step=review`, async (page) => {
      const estimate = page.getByRole('table', { name: 'From the segments to the people who get a message' })
      await estimate
        .getByRole('row', { name: /^Would get a message/ })
        .getByText('At most: anyone')
        .waitFor()
      const lacked = page.getByRole('table', { name: 'Values that people lack' }).locator('tbody tr')
      expect(await lacked.allTextContents()).toEqual(['first_name1'])
      await page.getByRole('button', { name: 'Start campaign' }).click()
      await page.getByRole('dialog').getByText('It is sent to at most 3 people now').waitFor()
    })
  })

  it('shows both versions when another tab saved first, and lets one choose', async () => {
    const id = await makeDraft()
    const dialogIn = (page: Page) => page.getByRole('dialog', { name: 'Someone else has saved changes' })
    await open(
      `/${id}/edit`,
      async (page) => {
        const other = await page.context().newPage()
        await other.goto(`${CAMPAIGNS}/${id}/edit`)
        await page.getByLabel('Campaign name').fill('From the first tab')
        await other.getByLabel('Campaign name').fill('From the second tab')
        await other.getByRole('button', { name: 'Save draft' }).click()
        await expect.poll(async () => (await calls.fetch(id)).name).toBe('From the second tab')
        await page.getByRole('button', { name: 'Save draft' }).click()
        await dialogIn(page).getByText('From the second tab').waitFor()
        await dialogIn(page).getByText('From the first tab').waitFor()
        await expectNoAxeViolations(page)
        await dialogIn(page).getByRole('button', { name: 'Keep my version' }).click()
        await expect.poll(async () => (await calls.fetch(id)).name).toBe('From the first tab')
      },
      { expected: [/status of 409/] },
    )
  })

  it('can be scheduled with the keyboard only', async () => {
    const id = await makeDraft()
    await open(`/${id}/edit`, async (page) => {
      const pressOn = async (role: 'link' | 'button', name: string | RegExp) => {
        const target = page.getByRole(role, { name }).first()
        await target.waitFor()
        for (let steps = 0; steps < 200; steps++) {
          if (await target.evaluate((element) => element === document.activeElement)) break
          await page.keyboard.press('Tab')
        }
        await page.keyboard.press('Enter')
      }
      await pressOn('link', /Schedule/)
      const later = page.getByRole('radio', { name: 'At a date and time' })
      for (let steps = 0; steps < 50; steps++) {
        await page.keyboard.press('Tab')
        if (
          await page
            .getByRole('radio')
            .first()
            .evaluate((radio) => radio === document.activeElement)
        )
          break
      }
      await page.keyboard.press('ArrowRight')
      expect(await later.isChecked()).toBe(true)
      await page.keyboard.press('Tab')
      await page.keyboard.type('01012099')
      await page.keyboard.press('Tab')
      // Some languages ask for AM or PM too.
      await page.keyboard.type('0900A')
      await page.keyboard.press('Control+Enter')
      await expect.poll(async () => (await calls.fetch(id)).delivery?.start_at).toBe('2099-01-01T09:00')
      await pressOn('link', 'Continue: Review')
      await page.getByText('No problems found').waitFor()
      await pressOn('button', 'Schedule campaign')
      await page.getByRole('dialog').waitFor()
      await page.keyboard.press('Escape')
      await pressOn('button', 'Schedule campaign')
      await page.getByRole('dialog').getByText('1 Jan 2099, 09:00 (UTC)').waitFor()
      await page.keyboard.press('Tab')
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await page.getByText('Waiting for its start time').waitFor()
      expect((await calls.fetch(id)).state).toBe('scheduled')
    })
  })

  it('copies a campaign, and keeps what is typed through a reload', async () => {
    const id = await makeDraft({ campaign_control_percent: 12.5 })
    await open(`/new?from=${id}`, async (page) => {
      const name = page.getByLabel('Campaign name')
      expect(await name.inputValue()).toBe('Copy of Spring news')
      expect(await page.getByRole('button', { name: 'Save draft' }).isEnabled()).toBe(true)
      expect(await page.getByLabel('Percent of the audience').inputValue()).toBe('12.5')
      await name.fill('Autumn news')
      await page.reload()
      expect(await name.inputValue()).toBe('Autumn news')
      await page.getByRole('button', { name: 'Save draft' }).click()
      await page.waitForURL('**/edit')
      const saved = await calls.fetch(idIn(page))
      expect(saved).toMatchObject({ name: 'Autumn news', delivery: { campaign_control_percent: 12.5 } })
      expect(saved.campaign_id).not.toBe(id)
    })
  })

  it('keeps what somebody types while the campaign is created, and while it is saved', async () => {
    const from = await makeDraft()
    await open(`/new?from=${from}`, async (page) => {
      const name = page.getByLabel('Campaign name')
      const save = page.getByRole('button', { name: 'Save draft' })
      await name.fill('Slow')
      const created = await holdRequest(page, 'POST', '/campaigns')
      await save.click()
      await created.sent
      await name.fill('Typed later')
      created.release()
      await page.waitForURL('**/edit')
      await page.getByRole('heading', { name: 'Typed later' }).waitFor()
      const id = idIn(page)
      expect((await calls.fetch(id)).name).toBe('Slow')
      const saved = await holdRequest(page, 'PATCH', `/campaigns/${id}`)
      await save.click()
      await saved.sent
      await name.fill('Typed last')
      saved.release()
      await expect.poll(async () => (await calls.fetch(id)).name).toBe('Typed later')
      await page.getByRole('button', { name: 'Save draft', disabled: false }).waitFor()
      expect(await name.inputValue()).toBe('Typed last')
      await save.click()
      await expect.poll(async () => (await calls.fetch(id)).name).toBe('Typed last')
    })
  })

  it('asks once before a link leads out of the dashboard, and again before each other end of the page', async () => {
    await open('/new', async (page) => {
      const asked: string[] = []
      const answers = [false, true, true]
      page.on('dialog', (dialog) => {
        asked.push(dialog.type())
        void (answers.shift() ? dialog.accept() : dialog.dismiss())
      })
      await page.getByLabel('Campaign name').fill('Not saved')
      await page.getByRole('link', { name: 'API reference' }).click()
      await page.reload()
      await page.getByRole('heading', { name: 'Not saved' }).waitFor()
      await page.getByRole('link', { name: 'API reference' }).click()
      await page.waitForURL(/\/docs/)
      expect(asked).toEqual(['confirm', 'beforeunload', 'confirm'])
    })
  })

  it('sends a test and shows the reply of the server', async () => {
    const id = await makeDraft()
    await open(`/${id}/edit?step=content`, async (page) => {
      await page.getByLabel('To', { exact: true }).fill('one@test.example, two@test.example')
      await page.getByRole('button', { name: 'Send test' }).click()
      await page.getByText('one@test.example: sent').waitFor()
      expect(recipientsIn(sink, 'test.example')).toEqual(['one@test.example', 'two@test.example'])
    })
  })

  it('changes only name and goals of a campaign that has started', async () => {
    const { campaign } = await sendMailing(server, sink, { delivery: { sender_id: senderId } })
    await open(`/${campaign}/edit`, async (page) => {
      await page.getByText('This campaign is finished.').waitFor()
      expect(await page.getByRole('link', { name: /Audience/ }).count()).toBe(0)
      await page.getByLabel('Campaign name').fill('Renamed')
      await page.getByRole('button', { name: 'Save campaign' }).click()
      await expect.poll(async () => (await calls.fetch(campaign)).name).toBe('Renamed')
    })
  })

  it('shows the people behind each state of a run', async () => {
    const { campaign } = await sendMailing(server, sink, { delivery: { sender_id: senderId } })
    await open(`/${campaign}/run`, async (page) => {
      await page.getByRole('link', { name: 'Removed' }).click()
      await page.waitForURL('**state=removed*')
      const rows = page.getByRole('table', { name: 'Messages, newest first' }).locator('tbody tr')
      await expect.poll(() => rows.count()).toBe(1)
      expect(await rows.first().textContent()).toContain('No consent')
      await page.getByLabel('Customer id or address').fill('nobody')
      await page.getByText('Nothing matches').waitFor()
    })
  })

  it('shows analysts how far it is, and no person', async () => {
    const { campaign } = await sendMailing(server, sink, { delivery: { sender_id: senderId } })
    const analyst = await signInAs(server, 'analyst')
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, analyst)
      await page.goto(`${CAMPAIGNS}/${campaign}/run`)
      await page.getByRole('heading', { name: 'Progress' }).waitFor()
      expect(await page.getByRole('heading', { name: 'Messages' }).count()).toBe(0)
      for (const path of ['new', `${campaign}/edit`]) {
        await page.goto(`${CAMPAIGNS}/${path}`)
        await page.getByRole('heading', { name: 'Your role does not include this page' }).waitFor()
      }
    })
  })

  it.each(WIDTHS)('everybody can use it, at %i px', async (width) => {
    const templateId = await addTemplate(server)
    const variations = ['A', 'B'].map((name) => ({ name, share: 50, external_template_id: templateId }))
    const id = await makeDraft({ variations })
    const look = { width, expected: [/status of 400/] }
    const check = async (page: Page) => {
      await expectNoAxeViolations(page)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    }
    await open(
      `/${id}/edit`,
      async (page) => {
        await page.locator('.people-count', { hasText: 'people' }).waitFor()
        await page.getByLabel('Campaign name').fill('')
        await page.getByRole('button', { name: 'Save draft' }).click()
        await page.getByRole('alert').waitFor()
        await check(page)
        await page.getByRole('button', { name: 'Create a new segment' }).click()
        await page.getByRole('dialog').waitFor()
        await check(page)
        await page.keyboard.press('Escape')
        for (const step of ['Content', 'Goals', 'Schedule', 'Review']) {
          await page.getByRole('link', { name: `Continue: ${step}` }).click()
          await page.getByRole('group', { name: step }).waitFor()
          await check(page)
        }
      },
      look,
    )
    await open(
      `/${id}/edit?step=review`,
      async (page) => {
        await page.getByText('No problems found').waitFor()
        await page.getByRole('row', { name: 'Would get a message' }).waitFor()
        await page.locator('iframe.mail-frame').waitFor()
        await check(page)
        await page.getByRole('button', { name: 'Start campaign' }).click()
        await page.getByRole('dialog').waitFor()
        await check(page)
      },
      look,
    )
  })

  it.each(WIDTHS)('everybody can follow a run, at %i px', async (width) => {
    const { campaign } = await sendMailing(server, sink, { delivery: { sender_id: senderId } })
    await open(
      `/${campaign}/run`,
      async (page) => {
        await page
          .getByRole('button', { name: /Show the message/ })
          .first()
          .click()
        await page.getByRole('dialog').waitFor()
        await expectNoAxeViolations(page)
        await page.keyboard.press('Escape')
        await expectNoAxeViolations(page)
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      },
      { width },
    )
  })
})
