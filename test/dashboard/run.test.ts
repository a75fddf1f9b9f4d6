// The run of a campaign in a browser: somebody pauses, resumes and cancels it, and decides about messages in doubt, while it sends to a
// mail sink.
import type { Page } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import { signInAs, type SignedInPerson } from '../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../support/browser/accessibility.ts'
import { describeInChromium } from '../support/browser/chromium.ts'
import { enterAs } from '../support/browser/enter-as.ts'
import { withPage } from '../support/browser/open-page.ts'
import { addMailing, addPeople, addSender, changeMailing, readRun } from '../support/delivery/mailing.ts'
import {
  finishMailing,
  messagesOf,
  peopleOf,
  recipientsIn,
  sendMailing,
  startMailing,
  untilRun,
  useMailingBench,
  type MailingWorkspace,
} from '../support/delivery/mailing-server.ts'
import type { SinkRule } from '../support/mail-sink/sink-rules.ts'
import { until } from '../support/server.ts'

const REPORTS = { tile: 'reports' } as const
/** More people than are sent to at `SLOW` before somebody has pressed a button. */
const MANY = 90
const SLOW = { per_second: 1 }
const FAST = { per_second: 10_000 }
const HOUR_MS = 3_600_000
/** On a machine so busy that the pipeline is seconds behind, a decision is answered with 503. */
const LATE = [/status of 503/]

/** Takes the first message to an address that begins with `doubt`, and ends the connection in place of its reply. Takes the second. */
function dropFirst(): SinkRule {
  const dropped = new Set<string>()
  return ({ stage, to = '' }) => {
    if (stage !== 'recorded' || !to.startsWith('doubt') || dropped.has(to)) return undefined
    dropped.add(to)
    return { ends: 'drop' }
  }
}

describeInChromium('The run of a campaign', (browser) => {
  const bench = useMailingBench('sqlite', { rule: dropFirst() })
  let marketer: SignedInPerson
  beforeAll(async () => void (marketer = await signInAs(bench.server, 'marketer')))

  const open = (
    { workspace }: MailingWorkspace,
    campaign: string,
    use: (page: Page) => Promise<void>,
    person: SignedInPerson = marketer,
  ) =>
    withPage(browser(), { url: bench.server.url, expected: LATE }, async (page) => {
      await enterAs(page, person)
      await page.goto(`/dashboard/${workspace.id}/campaigns/${campaign}/run`)
      await page.getByRole('heading', { name: 'Sending: Spring news' }).waitFor()
      await use(page)
    })
  /** Presses a button of the page, then the one of the same name in the dialog that it opens. */
  const confirm = async (page: Page, name: string) => {
    await page.getByRole('button', { name, exact: true }).click()
    await page.getByRole('dialog', { name }).getByRole('button', { name, exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  const badge = (page: Page, state: string) => page.locator('.page-head .badge', { hasText: state })
  /** How many people a row of the table of states shows. */
  const shown = async (page: Page, state: string) => {
    const row = page.getByRole('table', { name: 'The audience by state' }).getByRole('row')
    return (await row.filter({ hasText: state }).first().getByRole('cell').first().textContent()) ?? ''
  }

  /** A campaign that sends so slowly that most people wait. */
  const startSlowly = async (domain: string) => {
    const server = await bench.makeWorkspace()
    await addPeople(server, peopleOf(MANY, domain))
    const senderId = await addSender(server, bench.sink, { limits: SLOW })
    const campaign = await startMailing(server, bench.sink, { delivery: { sender_id: senderId } })
    await untilRun(server, campaign, 'the first was sent', ({ states }) => (states['sent'] ?? 0) > 0)
    const hurry = async () => {
      const path = `/core-services/v1/senders/${senderId}`
      expect(await server.call('PATCH', path, { ...REPORTS, body: { limits: FAST } })).toMatchObject({ status: 200 })
    }
    return { server, campaign, hurry }
  }

  it('stops at a pause, and says since when and why', async () => {
    const { server, campaign } = await startSlowly('paused.example')
    await open(server, campaign, async (page) => {
      await badge(page, 'Running').waitFor()
      await confirm(page, 'Pause campaign')
      await badge(page, 'Paused').waitFor()
      await page.locator('p', { hasText: /It is paused since.*Somebody paused the campaign/ }).waitFor()
      expect(await page.getByRole('button', { name: 'Pause campaign' }).count()).toBe(0)
      expect(await readRun(server, campaign)).toMatchObject({ state: 'paused' })
      const { states } = await untilRun(
        server,
        campaign,
        'nobody is being sent to',
        (run) => run.states['sending'] === 0,
      )
      expect(states['queued']).toBeGreaterThan(0)
      await expect.poll(() => shown(page, 'Queued')).toBe(String(states['queued']))
      await expectNoAxeViolations(page)
    })
  })

  it('goes on at a resume, until everybody has the mail once', async () => {
    const { server, campaign, hurry } = await startSlowly('resumed.example')
    await changeMailing(server, campaign, 'pause')
    await hurry()
    await open(server, campaign, async (page) => {
      await badge(page, 'Paused').waitFor()
      await confirm(page, 'Resume campaign')
      await badge(page, 'Finished').waitFor()
      await expect.poll(() => shown(page, 'Sent')).toBe(String(MANY))
      expect(await page.getByRole('button', { name: 'Resume campaign' }).count()).toBe(0)
      const { run } = await finishMailing(server, campaign)
      expect(run.states).toMatchObject({ sent: MANY })
      expect(new Set(recipientsIn(bench.sink, 'resumed.example')).size).toBe(MANY)
      expect(recipientsIn(bench.sink, 'resumed.example')).toHaveLength(MANY)
    })
  })

  it('ends at a cancellation, which asks for its name, and who was not sent to is removed', async () => {
    const { server, campaign } = await startSlowly('cancelled.example')
    await open(server, campaign, async (page) => {
      await page.getByRole('button', { name: 'More actions' }).click()
      await page.getByRole('button', { name: 'Cancel campaign' }).click()
      const dialog = page.getByRole('dialog', { name: 'Cancel campaign' })
      const cancel = dialog.getByRole('button', { name: 'Cancel campaign' })
      expect(await cancel.isDisabled()).toBe(true)
      await expectNoAxeViolations(page)
      await dialog.getByLabel('Type Spring news to confirm').fill('Spring news')
      await cancel.click()
      await badge(page, 'Cancelled').waitFor()
      const { states } = await untilRun(server, campaign, 'nobody is left', ({ states: { queued, sending } }) => {
        return queued === 0 && sending === 0
      })
      expect(states['removed']).toBeGreaterThan(0)
      await expect.poll(() => shown(page, 'Removed')).toBe(String(states['removed']))
      expect(recipientsIn(bench.sink, 'cancelled.example')).toHaveLength(states['sent'] ?? 0)
      await page.getByRole('button', { name: 'More actions' }).click()
      await page.getByRole('link', { name: 'Duplicate' }).waitFor()
      expect(await page.getByRole('button', { name: /(Pause|Resume|Cancel) campaign/ }).count()).toBe(0)
    })
  })

  it('begins late where somebody resumes what is overdue', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, peopleOf(2, 'overdue.example'))
    const start_at = new Date(Date.now() + HOUR_MS).toISOString()
    const campaign = await addMailing(server, bench.sink, { delivery: { start_at, grace_hours: 1 } })
    await changeMailing(server, campaign, 'start')
    await bench.server.database.write(async ({ query }) => {
      const ofWorkspace = query.updateTable('deliveries').where('workspace_id', '=', server.workspace.id)
      await ofWorkspace.set({ start_at: Date.now() - 2 * HOUR_MS }).execute()
    })
    await open(server, campaign, async (page) => {
      await badge(page, 'Overdue').waitFor()
      await page.getByText('Resume it to send it now').waitFor()
      await confirm(page, 'Resume campaign')
      await badge(page, 'Finished').waitFor()
      expect(recipientsIn(bench.sink, 'overdue.example')).toHaveLength(2)
    })
  })

  /** A finished campaign with two messages of which nobody knows whether they were accepted: to `d1` and `d2`. */
  const makeDoubt = async (domain: string) => {
    const server = await bench.makeWorkspace()
    const people = [1, 2].map((index) => ({ customer_id: `d${index}`, email: `doubt${index}@${domain}` }))
    await addPeople(server, [...people, ...peopleOf(1, domain)])
    const { campaign, run } = await sendMailing(server, bench.sink)
    expect(run.states).toMatchObject({ in_doubt: 2, sent: 1 })
    return { server, campaign }
  }
  const stateOf = async (server: MailingWorkspace, campaign: string, id: string) => {
    const message = (await messagesOf(server, campaign)).get(id)
    return [message?.state, message?.reason]
  }
  const doubt = (page: Page, count: string) => page.getByText(`${count} in doubt.`)
  const openMessage = async (page: Page, id: string) => {
    await page.getByRole('button', { name: `Show the message of ${id}` }).click()
    return page.getByRole('dialog', { name: `Message to ${id}` })
  }

  it('sends all that are in doubt again, after saying what that risks', async () => {
    const { server, campaign } = await makeDoubt('again.example')
    await open(server, campaign, async (page) => {
      await doubt(page, '2 messages').waitFor()
      await page.getByRole('button', { name: 'Send again' }).click()
      const dialog = page.getByRole('dialog', { name: 'Send again' })
      await dialog.getByText('Anyone who already got the message gets it twice.').waitFor()
      await expectNoAxeViolations(page)
      await dialog.getByRole('button', { name: 'Send again' }).click()
      await page.getByText('Messages queued again').waitFor()
      await doubt(page, '2 messages').waitFor({ state: 'detached' })
      await expect.poll(() => shown(page, 'Sent')).toBe('3')
      await badge(page, 'Finished').waitFor()
      expect((await finishMailing(server, campaign)).run.states).toMatchObject({ sent: 3, in_doubt: 0 })
      const own = recipientsIn(bench.sink, 'again.example').filter((address) => address.startsWith('doubt'))
      expect(own).toEqual(['doubt1', 'doubt1', 'doubt2', 'doubt2'].map((local) => `${local}@again.example`))
    })
  })

  it('gives up all that are in doubt, which count as failed', async () => {
    const { server, campaign } = await makeDoubt('given-up.example')
    await open(server, campaign, async (page) => {
      await page.getByRole('button', { name: 'Give up' }).click()
      const dialog = page.getByRole('dialog', { name: 'Give up' })
      await dialog.getByText('Anyone who did not get the message never will.').waitFor()
      await decide(page, 'Give up')
      await page.getByText('Messages given up').waitFor()
      await doubt(page, '2 messages').waitFor({ state: 'detached' })
      await expect.poll(() => shown(page, 'Failed')).toBe('2')
      for (const id of ['d1', 'd2']) expect(await stateOf(server, campaign, id)).toEqual(['failed', 'in_doubt'])
      expect(recipientsIn(bench.sink, 'given-up.example')).toHaveLength(3)
    })
  })

  it('decides about one message in doubt, and leaves the other', async () => {
    const { server, campaign } = await makeDoubt('each.example')
    await open(server, campaign, async (page) => {
      await page.getByRole('link', { name: 'Show', exact: true }).click()
      await page.waitForURL('**state=in_doubt*')
      await (await openMessage(page, 'd1')).getByRole('button', { name: 'Send again' }).click()
      await decide(page, 'Send again')
      await doubt(page, '1 message').waitFor()
      await expect.poll(() => stateOf(server, campaign, 'd1')).toEqual(['sent', null])
      await page.getByRole('button', { name: 'Show the message of d1' }).waitFor({ state: 'detached' })
      await (await openMessage(page, 'd2')).getByRole('button', { name: 'Give up' }).click()
      await decide(page, 'Give up')
      await doubt(page, '1 message').waitFor({ state: 'detached' })
      expect(await stateOf(server, campaign, 'd2')).toEqual(['failed', 'in_doubt'])
      await page.getByText('Nothing matches').waitFor()
    })
  })

  it('can only give up what is in doubt of a cancelled campaign', async () => {
    const server = await bench.makeWorkspace()
    await addPeople(server, [{ customer_id: 'd1', email: 'doubt1@ended.example' }, ...peopleOf(MANY, 'ended.example')])
    const campaign = await startMailing(server, bench.sink, { sender: { limits: SLOW } })
    await untilRun(server, campaign, 'one is in doubt', ({ states }) => states['in_doubt'] === 1)
    await changeMailing(server, campaign, 'cancel')
    await open(server, campaign, async (page) => {
      await badge(page, 'Cancelled').waitFor()
      await doubt(page, '1 message').waitFor()
      await page.getByRole('link', { name: 'Show', exact: true }).click()
      const dialog = await openMessage(page, 'd1')
      await dialog.getByRole('button', { name: 'Give up' }).waitFor()
      expect(await page.getByRole('button', { name: 'Send again' }).count()).toBe(0)
      await dialog.getByRole('button', { name: 'Give up' }).click()
      await decide(page, 'Give up')
      await doubt(page, '1 message').waitFor({ state: 'detached' })
      expect(await stateOf(server, campaign, 'd1')).toEqual(['failed', 'in_doubt'])
    })
  })

  it('shows analysts no button that their role refuses', async () => {
    const { server, campaign } = await makeDoubt('analyst.example')
    const analyst = await signInAs(bench.server, 'analyst')
    await open(
      server,
      campaign,
      async (page) => {
        await doubt(page, '2 messages').waitFor()
        expect(await page.getByRole('button', { name: /campaign|again|Give up|actions/ }).count()).toBe(0)
      },
      analyst,
    )
  })
})

/** Confirms in the dialog that asks. While the pipeline is far behind, the answer is 503 and stays in the dialog: one presses again. */
async function decide(page: Page, name: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name })
  await until('the decision is taken', async () => {
    const button = dialog.getByRole('button', { name })
    if (await button.isEnabled()) await button.click()
    await dialog.getByRole('alert').or(page.locator('body:not(:has(dialog))')).first().waitFor()
    return (await dialog.count()) === 0
  })
}
