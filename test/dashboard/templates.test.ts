// Templates in a browser: from pasted HTML to its versions. What is saved is exactly what was typed, nothing typed is lost, and a preview
// does nothing by itself.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Role } from '../../src/core/accounts/role.ts'
import { endSession, PASSWORD_OF_PEOPLE, signInAs } from '../support/accounts/sign-in-as.ts'
import { expectNoAxeViolations } from '../support/browser/accessibility.ts'
import { describeInChromium } from '../support/browser/chromium.ts'
import { enterAs } from '../support/browser/enter-as.ts'
import { holdRequest } from '../support/browser/hold-request.ts'
import { WIDTHS, withPage, type OpenedPage } from '../support/browser/open-page.ts'
import { newTemplate, TemplateCaller } from '../support/calls/template-calls.ts'
import { trackingOf } from '../support/calls/tracking.ts'
import { startServer, type TestServer, type TestWorkspace } from '../support/server.ts'

/** Line ends of both kinds are in `MIXED`; in the other text they are all the same. */
const WITH_RETURNS = '<p>\tTabs, spaces at the end   \r\n\r\n  𝒳 and 👩‍👩‍👧 and é</p>\r\n   \r\n'
const MIXED = '<p>one\r\ntwo\nthree  \n</p>\r\n'

describeInChromium('Templates in the dashboard', (browser) => {
  let server: TestServer
  beforeAll(async () => void (server = await startServer('sqlite')))
  afterAll(() => server.stop())

  interface Visit {
    readonly page: Page
    readonly workspace: TestWorkspace
    readonly templates: TemplateCaller
    readonly person: Awaited<ReturnType<typeof signInAs>>
    /** The address of a page of the workspace. */
    readonly at: (path: string) => string
  }

  /** A workspace of its own, and somebody with a role in it. */
  async function visit(
    { role = 'marketer', ...options }: Partial<OpenedPage> & { readonly role?: Role },
    use: (visit: Visit) => Promise<void>,
  ): Promise<void> {
    const workspace = await server.makeWorkspace()
    const person = await signInAs(server, role, workspace.id)
    const context = { permissions: ['clipboard-read', 'clipboard-write'] }
    await withPage(browser(), { url: server.url, context, ...options }, async (page) => {
      await enterAs(page, person)
      const at = (path: string) => `/dashboard/${workspace.id}/templates${path}`
      await use({ page, workspace, person, at, templates: new TemplateCaller(server, workspace) })
    })
  }

  it('goes from pasted HTML to a second version, over a conflict, and back to the first', async () => {
    await visit({ expected: [/status of 409/] }, async ({ page, at, templates, person }) => {
      await page.goto(at(''))
      await page.getByRole('link', { name: 'Paste your first template' }).click()
      await page.getByLabel('Name', { exact: true }).fill('Spring range')
      await page.getByLabel('Subject').fill('Hi {{ first_name | default: "there" }}')
      await paste(page, '<h1>Spring</h1>\n<p>Linen.</p>\n')
      await mailIn(page).getByRole('heading', { name: 'Spring' }).waitFor()
      await page.getByText('Hi there').waitFor()
      await page.getByRole('button', { name: 'Create template' }).click()
      await page.getByRole('heading', { name: 'Spring range' }).waitFor()
      const id = idIn(page)
      expect((await templates.latest(id)).meta_info).toMatchObject({
        template_id: 'spring-range',
        created_by: person.email,
      })

      await editor(page).click()
      await page.keyboard.press('Control+End')
      await page.keyboard.type('<p>Silk.</p>')
      await templates.update({
        external_template_id: id,
        updated_by: 'ben@example.com',
        basic_details: { subject: 'Theirs', email_content: '<h1>Theirs</h1>\n<p>Linen.</p>\n' },
      })
      await page.keyboard.press('Control+Enter')
      const dialog = page.getByRole('dialog')
      await dialog.getByText('by ben@example.com').waitFor()
      await dialog.getByText('<p>Silk.</p>').waitFor()
      await expectNoAxeViolations(page)
      await dialog.getByRole('button', { name: 'Keep my version' }).click()
      await page.getByText('Version 3 saved').waitFor()
      expect((await templates.latest(id)).basic_details).toMatchObject({
        subject: 'Theirs',
        email_content: '<h1>Spring</h1>\n<p>Linen.</p>\n<p>Silk.</p>',
      })

      await page.getByRole('link', { name: 'Versions' }).click()
      await page.getByRole('link', { name: 'Version 1' }).click()
      await page.getByRole('button', { name: 'Restore version 1' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Restore version 1' }).click()
      await page.getByText('Version 1 restored as version 4').waitFor()
      expect((await templates.get(id)).body).toMatchObject({
        version: 4,
        basic_details: { email_content: '<h1>Spring</h1>\n<p>Linen.</p>\n', subject: expect.stringContaining('Hi') },
      })
    })
  })

  it('takes the version of somebody else where one asks for that', async () => {
    await visit({ expected: [/status of 409/] }, async ({ page, at, templates }) => {
      const id = await templates.add()
      await page.goto(at(`/${id}`))
      await page.getByLabel('Subject').fill('Mine')
      await templates.update({ external_template_id: id, updated_by: 'ben', basic_details: { subject: 'Theirs' } })
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('button', { name: 'Take the other version' }).click()
      await page.getByText('Version 2', { exact: true }).waitFor()
      expect(await page.getByLabel('Subject').inputValue()).toBe('Theirs')
      expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    })
  })

  it.each([
    ['returns and line feeds, tabs, spaces and characters of all planes', WITH_RETURNS],
    ['line ends of both kinds', MIXED],
  ])('saves exactly what was pasted: %s', async (_what, html) => {
    await visit({}, async ({ page, at, templates }) => {
      await page.goto(at('/new'))
      await page.getByLabel('Name', { exact: true }).fill('Exact')
      await paste(page, html)
      await page.getByRole('button', { name: 'Create template' }).click()
      await page.getByRole('heading', { name: 'Exact' }).waitFor()
      const id = idIn(page)
      expect((await templates.latest(id)).basic_details['email_content']).toBe(html)
      await editor(page).click()
      await page.keyboard.press('Control+Home')
      await page.keyboard.type('x')
      await page.keyboard.press('Control+Enter')
      await page.getByText('Version 2 saved').waitFor()
      expect((await templates.latest(id)).basic_details['email_content']).toBe(`x${html}`)
    })
  })

  it('changes only what one changes in a template that came over the API', async () => {
    await visit({}, async ({ page, at, templates }) => {
      const id = await templates.add({}, { email_content: WITH_RETURNS, subject: ' two  spaces ' })
      await page.goto(at(`/${id}`))
      await editor(page).click()
      await page.keyboard.press('Control+End')
      await page.keyboard.press('Enter')
      await page.keyboard.type('new')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Version 2 saved').waitFor()
      expect((await templates.latest(id)).basic_details).toMatchObject({
        email_content: `${WITH_RETURNS}\r\nnew`,
        subject: ' two  spaces ',
      })
    })
  })

  it('previews without running a script or asking another server, until one loads the images', async () => {
    const refused = [/Blocked script execution/, /violates the following Content Security Policy directive: "img-src/]
    const loaded = [/elsewhere\.test/, /ERR_NAME_NOT_RESOLVED/]
    await visit({ expected: [...refused, ...loaded] }, async ({ page, at, templates }) => {
      const html = `<script>fetch('/script')</script><img src="http://elsewhere.test/pixel" alt="A pixel"><p>Seen</p>`
      const id = await templates.add({}, { email_content: html })
      const asked: string[] = []
      page.on('response', (response) => asked.push(response.url()))
      page.on('requestfailed', (request) => asked.push(`${request.failure()?.errorText} ${request.url()}`))
      await page.goto(at(`/${id}`))
      await mailIn(page).getByText('Seen').waitFor()
      expect(asked.filter((url) => url.endsWith('/script'))).toEqual([])
      expect(asked.filter((url) => url.includes('elsewhere') && !url.startsWith('csp'))).toEqual([])
      const request = page.waitForRequest('http://elsewhere.test/pixel')
      await page.getByRole('button', { name: 'Load images' }).click()
      await request
    })
  })

  it.each([
    ['id', 'ada-1'],
    ['email address', 'Ada@example.com'],
  ])('previews as a person by %s, who stands in the address with width and scheme', async (_what, ada) => {
    await visit({}, async ({ page, at, templates, workspace }) => {
      await trackingOf(server, workspace).apply({
        type: 'customer',
        customer_id: 'ada-1',
        attributes: { first_name: 'Ada', email: 'ada@example.com' },
      })
      const id = await templates.add({}, { email_content: '<p>Hello {{ first_name }}</p>' })
      await page.goto(at(`/${id}`))
      await page.getByText('No value for first_name').waitFor()
      await page.getByText('A person who lacks a value gets nothing').waitFor()
      await page.getByLabel('Preview as').fill(ada)
      await page.getByLabel('Preview as').press('Enter')
      await mailIn(page).getByText('Hello Ada').waitFor()
      await page.getByText('No problems for this person').waitFor()
      await page.getByText('Phone').click()
      await page.getByText('Dark').click()
      await page.waitForURL(/person=ada-1&device=phone&scheme=dark/)
      await page.reload()
      await mailIn(page).getByText('Hello Ada').waitFor()
      expect(await page.getByRole('radio', { name: 'Dark' }).isChecked()).toBe(true)
    })
  })

  it('names faults with line and column, and leads to them', async () => {
    await visit({}, async ({ page, at, templates }) => {
      const id = await templates.add({}, { email_content: '<p>\n  {% nonsense %}</p>' })
      await page.goto(at(`/${id}`))
      await page.getByRole('button', { name: 'Line 2, column 3' }).click()
      expect(await editor(page).evaluate((element) => element.matches(':focus'))).toBe(true)
      await page.keyboard.press('Delete')
      await page.getByText('No problems for this person').waitFor()
      await page.keyboard.press('Control+Enter')
      await page.getByText('Version 2 saved').waitFor()
      expect((await templates.latest(id)).basic_details['email_content']).toBe('<p>\n  </p>')
    })
  })

  it('keeps what was typed through a reload, and through a session that ended', async () => {
    await visit({ expected: [/status of 401/] }, async ({ page, at, templates, person }) => {
      const id = await templates.add()
      await page.goto(at(`/${id}`))
      await editor(page).click()
      await page.keyboard.press('Control+Home')
      await page.keyboard.type('typed ')
      await page.getByText('Changes to version 1, not saved yet').waitFor()
      page.once('dialog', (dialog) => void dialog.accept())
      await page.reload()
      await mailIn(page).getByText('typed').waitFor()
      await endSession(server, person)
      // The page may ask already, over the button.
      await page
        .locator('form')
        .first()
        .evaluate((form: HTMLFormElement) => form.requestSubmit())
      const again = page.getByRole('dialog', { name: 'Sign in again' })
      await again.getByLabel('Password').fill(PASSWORD_OF_PEOPLE)
      await again.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('Version 2 saved').waitFor()
      expect((await templates.latest(id)).basic_details['email_content']).toBe('typed <p>Hello</p>')
    })
  })

  it('keeps what somebody types while the template is created', async () => {
    await visit({}, async ({ page, at, templates }) => {
      await page.goto(at('/new'))
      await page.getByLabel('Name', { exact: true }).fill('Slow')
      await paste(page, '<p>One</p>')
      const held = await holdRequest(page, 'POST', '/custom-templates/email')
      await page.getByRole('button', { name: 'Create template' }).click()
      await held.sent
      await editor(page).click()
      await page.keyboard.press('Control+End')
      await page.keyboard.type(' and two')
      await page.getByLabel('Subject').fill('Typed later')
      held.release()
      await page.getByRole('heading', { name: 'Slow' }).waitFor()
      await page.getByText('Changes to version 1, not saved yet').waitFor()
      expect(await editor(page).textContent()).toBe('<p>One</p> and two')
      expect((await templates.latest(idIn(page))).basic_details).toMatchObject({ email_content: '<p>One</p>' })
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Version 2 saved').waitFor()
      expect((await templates.latest(idIn(page))).basic_details).toMatchObject({
        email_content: '<p>One</p> and two',
        subject: 'Typed later',
      })
    })
  })

  it('leaves nothing of a template that was deleted in the tab', async () => {
    await visit({}, async ({ page, at, templates }) => {
      const id = await templates.add({ template_id: 'gone-mail' })
      await page.goto(at(`/${id}`))
      await page.getByLabel('Subject').fill('Not saved')
      await page.getByText('Changes to version 1, not saved yet').waitFor()
      const drafts = () => page.evaluate(() => Object.keys(sessionStorage).filter((name) => name.startsWith('draft ')))
      expect(await drafts()).toEqual([expect.stringContaining(id)])
      await page.getByRole('button', { name: 'More actions' }).click()
      await page.getByRole('button', { name: 'Delete template' }).click()
      await page.getByLabel('Type gone-mail to confirm').fill('gone-mail')
      await page.getByRole('dialog').getByRole('button', { name: 'Delete template' }).click()
      await page.getByText('No templates yet').waitFor()
      expect(await drafts()).toEqual([])
    })
  })

  it('shows both versions to the second of two tabs, and merges what they changed apart', async () => {
    await visit({ expected: [/status of 409/] }, async ({ page, at, templates }) => {
      const id = await templates.add()
      const other = await page.context().newPage()
      for (const tab of [page, other]) await tab.goto(at(`/${id}`))
      await other.getByLabel('Subject').fill('From the other tab')
      await page.getByLabel('Sender name').fill('From this tab')
      await other.getByRole('button', { name: 'Save' }).click()
      await other.getByText('Version 2 saved').waitFor()
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('button', { name: 'Keep my version' }).click()
      await page.getByText('Version 3 saved').waitFor()
      expect((await templates.latest(id)).basic_details).toMatchObject({
        subject: 'From the other tab',
        sender_name: 'From this tab',
      })
    })
  })

  it('finds templates by a part of the name and by other filters, which stand in the address', async () => {
    await visit({}, async ({ page, at, templates }) => {
      const group = await templates.add({ template_name: 'Winter range', locale: 'en' })
      await templates.add({ template_name: 'Winter range', locale: 'de', group_id: group })
      await templates.add({ template_name: 'Welcome' })
      await templates.archive(await templates.add({ template_name: 'Winter of last year' }))
      await page.goto(at(''))
      await page.getByLabel('Name', { exact: true }).fill('wint')
      await page.waitForURL(/search=wint/)
      await page.getByText('2 templates').waitFor()
      await page.reload()
      await page.getByText('2 templates').waitFor()
      await page.getByText('More filters').click()
      await page.getByLabel('Locale').fill('de')
      await page.getByText('1 template', { exact: true }).waitFor()
      await page.getByLabel('Locale').fill('fr')
      await page.getByRole('link', { name: 'Remove the filters' }).click()
      await page.getByText('3 templates').waitFor()
      await page.getByLabel('Show').selectOption('Archived')
      await page.getByRole('link', { name: 'Winter of last year' }).waitFor()
      await page.goto(at(`/${group}/group`))
      const cells = page.getByRole('table').getByRole('row').filter({ hasText: 'Winter range' })
      await cells.first().waitFor()
      expect(await cells.getByRole('rowheader').allTextContents()).toEqual(['de', 'en'])
      await page.getByRole('link', { name: 'Add a translation or variation' }).click()
      await page.getByRole('heading', { name: 'Create template' }).waitFor()
      await page.getByLabel('Locale').fill('fr')
      await page.getByRole('button', { name: 'Create template' }).click()
      await page.getByRole('heading', { name: 'Winter range' }).waitFor()
      expect((await templates.latest(idIn(page))).meta_info).toMatchObject({ group_id: group, locale: 'fr' })
    })
  })

  it('archives, restores and deletes after a question', async () => {
    await visit({}, async ({ page, at, templates }) => {
      const id = await templates.add({ template_id: 'old-mail' })
      const ask = async (item: string) => {
        await page.getByRole('button', { name: 'More actions' }).click()
        await page.getByRole('button', { name: item }).click()
      }
      await page.goto(at(`/${id}`))
      await ask('Archive template')
      await page.getByRole('dialog').getByRole('button', { name: 'Archive template' }).click()
      await page.getByText('This template is archived').waitFor()
      expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0)
      await page.getByRole('button', { name: 'Restore template' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Restore template' }).click()
      await page.getByRole('button', { name: 'Save' }).waitFor()
      await ask('Delete template')
      await page.getByLabel('Type old-mail to confirm').fill('old-mail')
      await page.getByRole('dialog').getByRole('button', { name: 'Delete template' }).click()
      await page.getByText('No templates yet').waitFor()
      expect((await templates.get(id)).status).toBe(404)
    })
  })

  it('lets an analyst read, and offers no change', async () => {
    await visit({ role: 'analyst' }, async ({ page, at, templates }) => {
      const id = await templates.add({ template_name: 'Read me' }, { email_content: '<p>Hello {{ first_name }}</p>' })
      await templates.change(id, { template_name: 'Read me again' })
      await page.goto(at(''))
      await page.getByRole('link', { name: 'Read me again' }).click()
      await mailIn(page).getByText('Hello {{ first_name }}').waitFor()
      await editor(page).click()
      await page.keyboard.type('x')
      expect(await editor(page).textContent()).toBe('<p>Hello {{ first_name }}</p>')
      const offers = page.getByRole('button', { name: /Save|More actions|Restore/ })
      expect(await offers.count()).toBe(0)
      await expectNoAxeViolations(page)
      await page.goto(at(`/${id}/versions?version=1`))
      await page.getByRole('heading', { name: 'Version 1' }).waitFor()
      expect(await offers.count()).toBe(0)
      await page.goto(at('/new'))
      await page.getByText('Your role does not include this page').waitFor()
    })
  })

  it.each(WIDTHS)('can be used by everybody, at %i px', async (width) => {
    await visit({ width }, async ({ page, at, templates }) => {
      const check = async () => {
        await expectNoAxeViolations(page)
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      }
      await page.goto(at(''))
      await page.getByText('No templates yet').waitFor()
      await check()
      const html = '<h1>Hi {{ first_name }}</h1>\n<!-- {% if a %}x{% endif %} -->\n<p style="color: red">Text</p>\n'
      const id = await templates.add({ locale: 'en' }, { email_content: html })
      await templates.create(newTemplate({ group_id: id, locale: 'de', variation: 'A' }))
      await templates.update({
        external_template_id: id,
        updated_by: 'ben',
        basic_details: { subject: 'New', email_content: html.replace('Text', 'Other text') },
      })
      await page.goto(at(''))
      await page.getByText('2 templates').waitFor()
      await check()
      await page.goto(at(`/${id}`))
      await page.getByText('No value for first_name').waitFor()
      await mailIn(page).getByRole('heading', { name: 'Hi' }).waitFor()
      await check()
      await page.goto(at(`/${id}/versions`))
      await page.getByRole('textbox', { name: 'Differences in the HTML' }).waitFor()
      await check()
      await page.goto(at(`/${id}/group`))
      await page.getByRole('table').waitFor()
      await check()
      await page.goto(at('/new'))
      await editor(page).waitFor()
      await page.getByRole('button', { name: 'Add attachment' }).click()
      await check()
    })
  })
})

function editor(page: Page) {
  return page.getByRole('textbox', { name: 'HTML' })
}

/** The mail in the frame; while the next one is loaded, there are two. */
function mailIn(page: Page) {
  return page.frameLocator('iframe:not(.next)')
}

/** As people do it, through the clipboard. */
async function paste(page: Page, text: string): Promise<void> {
  await editor(page).click()
  await page.evaluate((copied) => navigator.clipboard.writeText(copied), text)
  await page.keyboard.press('Control+V')
}

function idIn(page: Page): string {
  return new URL(page.url()).pathname.split('/').at(-1) ?? ''
}
