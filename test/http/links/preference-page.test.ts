// The preference page behind the links of messages over real HTTP, on every store: what it shows, and what its form changes.
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { labelCategory } from '../../../src/actions/workspaces/change-categories.ts'
import type { CategoryLabels } from '../../../src/core/workspaces/category-labels.ts'
import { changedByTest } from '../../support/audit/changed-by.ts'
import { listFactsOf, storeRun, type SentRun } from '../../support/calls/link-calls.ts'
import { NO_LIMITS, preferenceCalls, type PreferenceCalls } from '../../support/calls/preference-calls.ts'
import { reportCallsOf, type ReportCalls } from '../../support/calls/report-calls.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import { startServer, until, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const EVIL = `<b>"Fish" & 'Chips'</b>`
const CATEGORIES = ['news', 'offers', EVIL]

/** A switch as the page shows it. */
interface Switch {
  readonly category: string
  readonly value: string
  readonly isOn: boolean
}

const APPLIED_MS_MAX = 20_000

describeEachStore('The preference page', (kind) => {
  let server: TestServer
  let calls: PreferenceCalls
  let reports: ReportCalls
  let run: SentRun
  let customer: string
  let made = 0

  beforeAll(async () => {
    server = await startServer(kind)
    calls = preferenceCalls(server)
    reports = reportCallsOf(server)
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    customer = `customer-${++made}`
    await setCategories(CATEGORIES)
    await calls.makeUsers([customer], `${customer}@example.com`)
    const campaign = (await reports.makeCampaign()).number
    const sent = { workspaceId: server.workspace.id, campaign, category: 'news', customers: [customer] }
    run = await storeRun(server.database, sent)
  })

  const setCategories = (categories: readonly string[]) => {
    const limits = { ...NO_LIMITS, update_preferences_per_minute: 1_000_000 }
    return server.changeSettings(server.workspace, { categories, limits })
  }
  const set = (status: string, categories: Record<string, boolean>) =>
    calls.set({ customer_id: customer, opt_in_status: status, categories })
  const pageUrl = (message = 1) => `${server.url}/p/${run.tokenOf('preferences', message)}`
  const read = async () => (await fetch(pageUrl())).text()
  const optIn = async () => {
    const { opt_in_status, categories } = await calls.readOne(customer)
    return [opt_in_status, categories]
  }

  /** A busy machine may take longer than the answer waits. */
  const expectOptIn = async (status: string, categories: Readonly<Record<string, boolean>>) => {
    const isApplied = async () => isDeepStrictEqual(await optIn(), [status, categories])
    await until('the decision is applied', isApplied, APPLIED_MS_MAX).catch(() => {})
    expect(await optIn()).toEqual([status, categories])
  }
  const unsubscribes = async () =>
    (await listFactsOf(server.database, run.campaign)).filter(({ kind: of }) => of === 'unsubscribe').length

  /** Sends the form of a page with these switches on, and a button. */
  const send = async (page: string, on: readonly string[], [name, value]: readonly [string, string]) => {
    const form = new URLSearchParams(hiddenFields(page))
    for (const one of switchesOf(page)) if (on.includes(one.category)) form.append('on', one.value)
    form.append(name, value)
    const answer = await fetch(pageUrl(), { method: 'POST', body: form })
    expect(answer.status).toBe(200)
    return answer.text()
  }
  const save = (page: string, on: readonly string[]) => send(page, on, ['save', 'choices'])
  const end = async () => send(await read(), [], ['end', 'all'])
  const on = (page: string) => switchesOf(page).flatMap(({ category, isOn }) => (isOn ? [category] : []))

  it('shows all active categories with what the person chose, and not the address', async () => {
    await set('OPTED_IN', { news: true, offers: false })
    const page = await read()
    expect(switchesOf(page).map(({ category }) => category)).toEqual(CATEGORIES)
    expect(on(page)).toEqual(['news'])
    expect(page).not.toContain('example.com')
    expect(page).not.toContain(customer)
    expect(page).not.toContain('<b>')
    expect(page).not.toMatch(/<script|javascript:|https?:/i)
  })

  it('is read a hundred times without a change', async () => {
    await set('OPTED_IN', { news: true })
    const before = [await optIn(), await calls.proofsOf(customer)]
    for (let round = 0; round < 100; round++) {
      const method = round % 2 === 0 ? 'GET' : 'HEAD'
      expect((await fetch(pageUrl(), { method })).status).toBe(200)
    }
    expect([await optIn(), await calls.proofsOf(customer)]).toEqual(before)
  })

  it('saves what is chosen, and shows it', async () => {
    await set('OPTED_IN', { news: true, offers: false, [EVIL]: false })
    const saved = await save(await read(), ['offers', EVIL])
    expect(on(saved)).toEqual(['offers', EVIL])
    expect(saved).toContain('Your preferences have been saved.')
    await expectOptIn('OPTED_IN', { news: false, offers: true, [EVIL]: true })
    expect(on(await read())).toEqual(['offers', EVIL])
    const [proof] = await calls.proofsOf(customer)
    expect(proof).toMatchObject({ by: `link:${run.number}-1`, ip: '127.0.0.1' })
  })

  it('tells of an unsubscribe only if something ends', async () => {
    await set('OPTED_IN', { news: true, offers: false, [EVIL]: false })
    await save(await read(), ['news', 'offers'])
    expect(await unsubscribes()).toBe(0)
    await save(await read(), ['news'])
    await until('the fact is stored', async () => (await unsubscribes()) === 1)
    await save(await read(), ['news'])
    expect(await unsubscribes()).toBe(1)
  })

  it('ends everything with one button', async () => {
    await set('DOUBLE_OPTED_IN', { news: true, offers: true })
    const page = await end()
    expect(page).toContain('You are unsubscribed from all emails.')
    expect(on(page)).toEqual([])
    await expectOptIn('OPTED_OUT', { news: false, offers: false, [EVIL]: false })
    await until('the fact is stored', async () => (await unsubscribes()) === 1)
    await end()
    expect((await calls.proofsOf(customer)).filter(({ by }) => by.startsWith('link:'))).toHaveLength(1)
    expect(await unsubscribes()).toBe(1)
  })

  it('ends everything when the last category is turned off', async () => {
    await set('OPTED_IN', { news: true, offers: false })
    await save(await read(), [])
    await expectOptIn('OPTED_OUT', { news: false, offers: false, [EVIL]: false })
  })

  it('opts in again who turns a category on', async () => {
    await set('OPTED_OUT', { news: true, offers: true })
    expect(on(await read())).toEqual([])
    expect(on(await save(await read(), ['offers']))).toEqual(['offers'])
    await expectOptIn('OPTED_IN', { news: false, offers: true, [EVIL]: false })
  })

  it('leaves a category alone that it did not show', async () => {
    await set('OPTED_IN', { news: true, offers: true })
    await setCategories(['news'])
    const page = await read()
    await setCategories(CATEGORIES)
    await save(page, [])
    await expectOptIn('OPTED_IN', { news: false, offers: true })
  })

  it.each(['', 'on=x', 'List-Unsubscribe=One-Click'])(
    'changes nothing for a form without a button: %j',
    async (body) => {
      await set('OPTED_IN', { news: true })
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      expect((await fetch(pageUrl(), { method: 'POST', body, headers })).status).toBe(200)
      await expectOptIn('OPTED_IN', { news: true })
    },
  )

  it('has only the button that ends everything if the workspace has no categories', async () => {
    await setCategories([])
    const page = await read()
    expect([switchesOf(page).length, page.match(/<button/g)?.length]).toEqual([0, 1])
    await end()
    await expectOptIn('OPTED_OUT', {})
  })

  it.each([
    ['ar', 'rtl', 'تفضيلات البريد الإلكتروني'],
    ['pt-BR', 'ltr', 'Preferências de e-mail'],
    ['xx', 'ltr', 'Email preferences'],
  ])('speaks the language of the locale %s', async (locale, direction, title) => {
    await trackingOf(server).apply({ type: 'customer', customer_id: customer, attributes: { locale } })
    const page = await read()
    expect(page).toContain(`dir="${direction}"`)
    expect(page).toContain(`<h1>${title}</h1>`)
  })

  it.each([
    ['de-AT', ['Neuigkeiten', EVIL, EVIL]],
    ['pt-PT', ['Novidades', 'offers', EVIL]],
    ['xx', ['news', 'offers', EVIL]],
  ])('calls a category by its label in the language of the locale %s, else by its name', async (locale, expected) => {
    const workspaceId = server.workspace.id
    const label = (name: string, labels: CategoryLabels) =>
      server.database.write((store) => labelCategory(store, { name, by: changedByTest(workspaceId) }, labels))
    await label('news', { de: 'Neuigkeiten', fr: 'Actualités', 'pt-BR': 'Novidades' })
    await label('offers', { de: EVIL })
    await trackingOf(server).apply({ type: 'customer', customer_id: customer, attributes: { locale } })
    await set('OPTED_IN', { news: true, offers: false })
    const page = await read()
    const labels = switchesOf(page).map(({ category }) => category)
    expect(labels).toEqual(expected)
    expect(page).not.toContain('<b>')
    // What a person decides belongs to the name.
    const saved = await save(page, labels.slice(0, 1))
    expect(switchesOf(saved).map(({ category }) => category)).toEqual(expected)
    await expectOptIn('OPTED_IN', { news: true, offers: false, [EVIL]: false })
    await label('news', {})
    await label('offers', {})
  })

  it('of a test, or of an erased person, shows nothing and changes nothing', async () => {
    await set('OPTED_IN', { news: true })
    expect(on(await (await fetch(pageUrl(0))).text())).toEqual([])
    const body = new URLSearchParams({ end: 'all' })
    expect((await fetch(pageUrl(0), { method: 'POST', body })).status).toBe(200)
    await expectOptIn('OPTED_IN', { news: true })
    await server.call('DELETE', `/v1/customer/${server.workspace.id}?customer_id=${customer}`)
    expect((await fetch(pageUrl(), { method: 'POST', body })).status).toBe(200)
    expect(on(await read())).toEqual([])
    expect((await calls.read({ customer_id: customer })).status).toBe(404)
  })
})

const LABEL =
  /<label><span dir="auto">(?<category>.*?)<\/span><input type="checkbox"[^>]* value="(?<value>[^"]+)"(?<on> checked)?>/g

function switchesOf(page: string): Switch[] {
  return [...page.matchAll(LABEL)].map(({ groups = {} }) => {
    return {
      category: unescape(groups['category'] ?? ''),
      value: groups['value'] ?? '',
      isOn: groups['on'] !== undefined,
    }
  })
}

function hiddenFields(page: string): [string, string][] {
  const fields = page.matchAll(/<input type="hidden" name="(?<name>[^"]+)" value="(?<value>[^"]+)">/g)
  return [...fields].map(({ groups = {} }) => [groups['name'] ?? '', groups['value'] ?? ''])
}

function unescape(text: string): string {
  const entities = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' } as const
  return text.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity as keyof typeof entities])
}
