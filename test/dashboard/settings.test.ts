// Settings in a browser: every tab in both schemes and on a phone, two people who change the same settings, senders and their checks,
// suppressions, keys with an overlap, and what the audit trail says of it.
import { getServers, setServers } from 'node:dns'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Role } from '../../src/core/accounts/role.ts'
import { signInAs, type SignedInPerson } from '../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../support/browser/accessibility.ts'
import { describeInChromium } from '../support/browser/chromium.ts'
import { enterAs } from '../support/browser/enter-as.ts'
import { holdRequest } from '../support/browser/hold-request.ts'
import { WIDTHS, withPage } from '../support/browser/open-page.ts'
import { readText } from '../support/browser/read-text.ts'
import { SENDER, SENDERS_PATH, type SenderBody } from '../support/calls/sender-calls.ts'
import { startDnsServer, type DnsServer } from '../support/dns/dns-server.ts'
import { startMailSink, type MailSink } from '../support/mail-sink/mail-sink.ts'
import { basic } from '../support/program.ts'
import { startServer, type TestServer, type TestWorkspace } from '../support/server.ts'

describeInChromium('Settings in the dashboard', (browser) => {
  let server: TestServer
  let owner: SignedInPerson
  let sink: MailSink
  let dns: DnsServer
  const resolvers = getServers()
  beforeAll(async () => {
    server = await startServer('sqlite')
    owner = await signInAs(server, 'owner')
    sink = await startMailSink({})
    dns = await startDnsServer()
    setServers([dns.address])
  })
  afterAll(async () => {
    setServers(resolvers)
    await Promise.all([dns.stop(), sink.stop()])
    await server.stop()
  })

  const inWorkspace = (as: TestWorkspace, method: string, path: string, body?: unknown) =>
    server.call<Record<string, unknown>>(method, path, { as, person: owner, ...(body !== undefined && { body }) })
  const settingsOf = async (as: TestWorkspace) =>
    (await inWorkspace(as, 'GET', `/v1/workspaces/${as.id}`)).body['settings'] as Record<string, unknown>
  const addSender = async (as: TestWorkspace): Promise<string> => {
    const smtp = { ...SENDER.smtp, port: sink.port }
    const made = await server.call<SenderBody>('POST', SENDERS_PATH, { as, person: owner, body: { ...SENDER, smtp } })
    expect(made.status).toBe(201)
    return made.body.sender_id
  }

  const TABS = ['workspace', 'apis', 'limits', 'senders', 'suppressions', 'people', 'audit', 'account'] as const
  it.each(WIDTHS)('are without faults on every tab, at %i px', async (width) => {
    const made = await server.makeWorkspace()
    const senderId = await addSender(made)
    const email = 'somebody.with.a.long.address@mail.shop.example.com'
    await inWorkspace(made, 'POST', '/core-services/v1/suppressions', { email, evidence: 'She asked us by phone.' })
    await inWorkspace(made, 'POST', `/v1/workspaces/${made.id}/people`, { email: 'ada@example.com', role: 'analyst' })
    await withPage(browser(), { url: server.url, width }, async (page) => {
      await enterAs(page, owner)
      const expectFine = async () => {
        await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0)
        await expectNoAxeViolations(page)
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
        const heights = await page.locator('.tabs').evaluate((tabs) => [tabs.scrollHeight, tabs.clientHeight])
        expect(heights[0], 'the tabs scroll up and down').toBe(heights[1])
      }
      for (const tab of TABS) {
        await page.goto(`/dashboard/${made.id}/settings/${tab}`)
        await page.locator('.tab[aria-current]').waitFor()
        await expectFine()
      }
      await page.goto(`/dashboard/${made.id}/settings/senders/${senderId}`)
      await page.getByRole('heading', { name: SENDER.name }).waitFor()
      await expectFine()
    })
  })

  const tabs: [role: Role, names: string[]][] = [
    ['owner', ['Workspace', 'APIs', 'Limits', 'Senders', 'Suppressions', 'People', 'Audit', 'Your account']],
    ['developer', ['Workspace', 'APIs', 'Limits', 'Senders', 'Suppressions', 'Your account']],
    ['marketer', ['Senders', 'Suppressions', 'Your account']],
    ['analyst', ['Your account']],
  ]
  it.each(tabs)('show %s their tabs', async (role, names) => {
    const person = await signInAs(server, role)
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, person)
      await page.goto('/dashboard/main')
      await page.getByRole('link', { name: 'Settings' }).click()
      await page.getByRole('navigation', { name: 'Settings' }).waitFor()
      const shown = await page.locator('.tab').allTextContents()
      expect(shown.filter((name) => name !== 'System')).toEqual(names)
      await expectNoAxeViolations(page)
    })
  })

  it('show both versions in a tab whose settings another tab has changed, and save what is chosen', async () => {
    const made = await server.makeWorkspace()
    const expected = [/status of 409/, /status of 400/]
    await withPage(browser(), { url: server.url, expected }, async (page) => {
      await enterAs(page, owner)
      const address = `/dashboard/${made.id}/settings/workspace`
      const other = await page.context().newPage()
      // Otherwise the page may learn of the other version before it is sent.
      await page.route(`**/v1/workspaces/${made.id}/changes`, () => {})
      await page.goto(address)
      await other.goto(address)
      await page.getByLabel('Name', { exact: true }).fill('Mine')
      await page.getByLabel('Event retention, in days').fill('30')
      await other.getByLabel('Name', { exact: true }).fill('Theirs')
      await other.getByRole('button', { name: 'Save settings' }).click()
      await other.getByText('Settings saved').waitFor()
      await page.getByRole('button', { name: 'Save settings' }).click()
      const conflict = page.getByRole('alert').filter({ hasText: 'Someone else has saved changes' })
      await conflict.getByText('Theirs').waitFor()
      await conflict.getByText('Mine').waitFor()
      await expectNoAxeViolations(page)
      expect(await page.getByRole('button', { name: 'Save settings' }).isDisabled()).toBe(true)
      await page.getByRole('button', { name: 'Compare both versions' }).click()
      await expect.poll(() => conflict.evaluate((element) => element.getBoundingClientRect().top)).toBeGreaterThan(0)
      await page.reload()
      await conflict.getByRole('button', { name: 'Keep my version' }).click()
      await page.getByRole('button', { name: 'Save settings' }).click()
      await page.getByText('Settings saved').waitFor()
      expect(await settingsOf(made)).toMatchObject({ name: 'Mine', 'retention_days.events': 30 })
      await page.getByRole('button', { name: 'Mine' }).waitFor()

      await page.getByLabel('Global control group, in percent').fill('99')
      await page.getByRole('button', { name: 'Save settings' }).click()
      await page.getByText('1 field to correct above.').waitFor()
      await expectNoAxeViolations(page)
      await page.getByRole('button', { name: 'Discard changes' }).click()
      expect(await page.getByLabel('Global control group, in percent').inputValue()).toBe('0')
    })
  })

  it('are saved in two tabs that change different settings', async () => {
    const made = await server.makeWorkspace({ name: 'Before' })
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, owner)
      const address = `/dashboard/${made.id}/settings/workspace`
      const other = await page.context().newPage()
      await page.goto(address)
      await other.goto(address)
      await page.getByLabel('Event retention, in days').fill('30')
      await other.getByLabel('Name', { exact: true }).fill('Theirs')
      await other.getByRole('button', { name: 'Save settings' }).click()
      await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe('Theirs')
      await page.getByRole('button', { name: 'Save settings' }).click()
      await page.getByText('Settings saved').waitFor()
      expect(await settingsOf(made)).toMatchObject({ name: 'Theirs', 'retention_days.events': 30 })
    })
  })

  it('keep what somebody types while the settings are saved', async () => {
    const made = await server.makeWorkspace({ name: 'Before' })
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, owner)
      await page.goto(`/dashboard/${made.id}/settings/workspace`)
      const name = page.getByLabel('Name', { exact: true })
      const days = page.getByLabel('Event retention, in days')
      await name.fill('First')
      await days.fill('30')
      const held = await holdRequest(page, 'PATCH', `/v1/workspaces/${made.id}`)
      await page.getByRole('button', { name: 'Save settings' }).click()
      await held.sent
      // What was there before, which the form would otherwise not tell from what it saves.
      await name.fill('Before')
      held.release()
      await page.getByText('Settings saved').waitFor()
      expect(await settingsOf(made)).toMatchObject({ name: 'First', 'retention_days.events': 30 })
      expect([await name.inputValue(), await days.inputValue()]).toEqual(['Before', '30'])
      await page.getByRole('button', { name: 'Save settings' }).click()
      await expect.poll(() => settingsOf(made)).toMatchObject({ name: 'Before', 'retention_days.events': 30 })
      await page.getByRole('button', { name: 'Discard changes' }).waitFor({ state: 'detached' })
    })
  })

  it('set and remove a key of feedback without showing it', async () => {
    const made = await server.makeWorkspace()
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, owner)
      await page.goto(`/dashboard/${made.id}/settings/workspace`)
      await page.getByRole('button', { name: 'Set key of Mailgun' }).click()
      await page.getByLabel('Signing key').fill('key-of-mailgun')
      await page.getByRole('dialog').getByRole('button', { name: 'Set key' }).click()
      await page.getByText('Key saved').waitFor()
      expect(await settingsOf(made)).toMatchObject({ 'feedback.mailgun_key': 'set' })
      expect(await page.getByText('key-of-mailgun').count()).toBe(0)
      await page.getByRole('button', { name: 'Actions: Mailgun' }).click()
      await page.getByRole('button', { name: 'Remove key' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Remove key of Mailgun' }).click()
      await page.getByText('Key removed').waitFor()
      expect(await settingsOf(made)).toMatchObject({ 'feedback.mailgun_key': null })
    })
  })

  it('create a sender, show what a check finds, change and delete it', async () => {
    const made = await server.makeWorkspace()
    dns.texts.set('_dmarc.shop.example.com', ['v=DMARC1; p=reject'])
    await withPage(browser(), { url: server.url, expected: [/status of 400/] }, async (page) => {
      await enterAs(page, owner)
      await page.goto(`/dashboard/${made.id}/settings/senders`)
      await page.getByText('No senders yet').waitFor()
      await page.getByRole('link', { name: 'Create sender' }).first().click()
      await page.getByLabel('Name', { exact: true }).fill('Newsletter')
      await page.getByLabel('Address', { exact: true }).fill('no address')
      await page.getByLabel('Name that recipients see').fill('The Shop')
      await page.getByLabel('Host').fill('127.0.0.1')
      await page.getByLabel('Port').fill(String(sink.port))
      await page.getByLabel('Encryption').selectOption('None')
      await page.getByRole('button', { name: 'Create sender' }).click()
      await page.getByText('Address must be an email address').waitFor()
      await expectNoAxeViolations(page)
      await page.getByLabel('Address', { exact: true }).fill('news@shop.example.com')
      await page.getByRole('button', { name: 'Create sender' }).click()
      await page.getByRole('heading', { name: 'Newsletter' }).waitFor()

      await page.getByRole('button', { name: 'Check sender' }).click()
      await page.getByRole('row', { name: /^Connection OK/ }).waitFor()
      await page.getByRole('row', { name: /^SPF Warning|^SPF Failed/ }).waitFor()
      await page.getByRole('row', { name: /^DMARC OK/ }).waitFor()
      await expectNoAxeViolations(page)

      await page.getByLabel('Name that recipients see').fill('Another Shop')
      await page.getByRole('button', { name: 'Save sender' }).click()
      await page.getByText('Sender saved').waitFor()
      await page.getByRole('button', { name: 'Delete sender' }).click()
      await page.getByLabel('Type Newsletter to confirm').fill('Newsletter')
      await expectNoAxeViolations(page)
      await page.getByRole('dialog').getByRole('button', { name: 'Delete sender' }).click()
      await page.getByText('No senders yet').waitFor()
    })
  })

  it('suppress an address, find it, and remove it', async () => {
    const made = await server.makeWorkspace()
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, owner)
      await page.goto(`/dashboard/${made.id}/settings/suppressions`)
      for (const email of ['ada@example.com', 'grace@example.com']) {
        await page.getByRole('button', { name: 'Add suppression' }).first().click()
        await page.getByRole('dialog').getByLabel('Address').fill(email)
        await page.getByRole('dialog').getByRole('button', { name: 'Add suppression' }).click()
        await page.getByRole('rowheader', { name: email }).waitFor()
      }
      await page.getByLabel('Address').fill('ada@')
      await page.getByText('Enter the whole address').waitFor()
      await page.getByLabel('Address').fill('ada@example.com')
      await page.getByRole('rowheader', { name: 'grace@example.com' }).waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Remove suppression of ada@example.com' }).click()
      await expectNoAxeViolations(page)
      await page.getByRole('dialog').getByRole('button', { name: 'Remove suppression' }).click()
      await page.getByText('Nothing matches').waitFor()
    })
  })

  it('keep an old key valid for as long as somebody chose', async () => {
    const made = await server.makeWorkspace()
    const statusOf = async (key: string) => {
      const headers = { authorization: basic(made.id, key) }
      return (await fetch(`${server.url}/v1/customer/${made.id}/users`, { headers })).status
    }
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, owner)
      await page.goto(`/dashboard/${made.id}/settings/apis`)
      await page.getByRole('button', { name: 'Generate new key' }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('The old key stays valid for').selectOption('4 hours')
      await dialog.getByLabel(`Type ${made.id} to confirm`).fill(made.id)
      await dialog.getByRole('button', { name: 'Generate new key' }).click()
      await dialog.getByText('Copy it now').waitFor()
      const key = (await dialog.locator('code').first().textContent()) ?? ''
      await dialog.getByRole('button', { name: 'I have copied it' }).click()
      await page.getByText('valid until').waitFor()
      expect([await statusOf(key), await statusOf(made.dataKey)]).toEqual([200, 200])
    })
  })

  it('tell in the audit trail what was just changed, from which value to which, and as CSV', async () => {
    const made = await server.makeWorkspace({ name: 'Old name' })
    await withPage(browser(), { url: server.url }, async (page) => {
      await enterAs(page, owner)
      await page.goto(`/dashboard/${made.id}/settings/workspace`)
      await page.getByLabel('Name', { exact: true }).fill('New name')
      await page.getByRole('button', { name: 'Save settings' }).click()
      await page.getByText('Settings saved').waitFor()
      await page.getByRole('link', { name: 'Audit' }).click()
      const entry = page.getByRole('row').filter({ hasText: 'Update workspace' })
      await entry.getByText(owner.email).waitFor()
      expect(await entry.locator('li').first().textContent()).toMatch(/name Old name.*New name/)
      await page.getByLabel('What', { exact: true }).selectOption('Keys')
      await page.getByText('Nothing matches').waitFor()
      expect(new URL(page.url()).search).toBe('?kind=key')
      await page.goto(`/dashboard/${made.id}/settings/audit?kind=workspace`)
      await entry.waitFor()
      const saved = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Download CSV' }).click()
      expect(await readText(await saved)).toContain('update_workspace')
      await expectNoAxeViolations(page)
    })
  })
})
