// Unsubscribing by the links of messages over real HTTP, on every store: the page, one click (RFC 8058), and what becomes of both.
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { labelCategory } from '../../../src/actions/workspaces/change-categories.ts'
import type { CategoryLabels } from '../../../src/core/workspaces/category-labels.ts'
import { changedByTest } from '../../support/audit/changed-by.ts'
import { listFactsOf, listHitsOf, storeRun, type SentRun } from '../../support/calls/link-calls.ts'
import { NO_LIMITS, preferenceCalls, type PreferenceCalls } from '../../support/calls/preference-calls.ts'
import { reportCallsOf, type ReportCalls } from '../../support/calls/report-calls.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import { startServer, until, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const ONE_CLICK = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' })

const APPLIED_MS_MAX = 20_000

describeEachStore('Unsubscribing by a link', (kind) => {
  let server: TestServer
  let calls: PreferenceCalls
  let reports: ReportCalls
  let customer: string
  let made = 0

  beforeAll(async () => {
    server = await startServer(kind)
    calls = preferenceCalls(server)
    reports = reportCallsOf(server)
    const limits = { ...NO_LIMITS, update_preferences_per_minute: 1_000_000 }
    await server.changeSettings(server.workspace, { categories: ['news', 'offers'], limits })
  })
  afterAll(() => server.stop())
  beforeEach(async () => {
    customer = `customer-${++made}`
    await calls.makeUsers([customer], `${customer}@example.com`)
    await calls.set({ customer_id: customer, opt_in_status: 'OPTED_IN', categories: { news: true, offers: true } })
  })

  const sendTo = async (category: string | null, customers: readonly string[] = [customer]): Promise<SentRun> => {
    const campaign = (await reports.makeCampaign()).number
    return storeRun(server.database, { workspaceId: server.workspace.id, campaign, category, customers })
  }

  const pathOf = (run: SentRun, message = 1) => `/u/${run.tokenOf('unsubscribe', message)}`
  const post = (run: SentRun, body: RequestInit['body'] = ONE_CLICK, headers: Record<string, string> = {}) =>
    fetch(server.url + pathOf(run), { method: 'POST', body, headers })
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

  /** The facts that somebody unsubscribed from a campaign. */
  const facts = async ({ campaign }: SentRun) => {
    return (await listFactsOf(server.database, campaign)).filter(({ kind: of }) => of === 'unsubscribe')
  }

  it('changes nothing when a page is only read, a hundred times', async () => {
    const run = await sendTo('news')
    const before = [await optIn(), await calls.proofsOf(customer)]
    for (let round = 0; round < 100; round++) {
      const method = round % 2 === 0 ? 'GET' : 'HEAD'
      expect((await fetch(server.url + pathOf(run), { method })).status).toBe(200)
    }
    expect([await optIn(), await calls.proofsOf(customer)]).toEqual(before)
    expect(await listHitsOf(server.database, run.number)).toEqual([])
    expect(await facts(run)).toEqual([])
  })

  it('names the category by its label in the language of the person, and ends the category itself', async () => {
    const workspaceId = server.workspace.id
    const label = (labels: CategoryLabels) =>
      server.database.write((store) => labelCategory(store, { name: 'news', by: changedByTest(workspaceId) }, labels))
    await label({ de: 'Neuigkeiten', fr: 'Actualités' })
    await trackingOf(server).apply({ type: 'customer', customer_id: customer, attributes: { locale: 'de' } })
    const run = await sendTo('news')
    expect(await (await fetch(server.url + pathOf(run))).text()).toContain('Neuigkeiten')
    expect(await (await post(run)).text()).toContain('Neuigkeiten')
    await expectOptIn('OPTED_IN', { news: false, offers: true })
    await label({})
  })

  it('shows a page with one button, which names the category and not the address', async () => {
    const answer = await fetch(server.url + pathOf(await sendTo('news')))
    const page = await answer.text()
    expect(page.match(/<button/g)).toHaveLength(1)
    expect(page).toContain('news')
    expect(page).not.toContain('example.com')
    expect(page).not.toContain(customer)
    expect(page).not.toMatch(/<script|javascript:|https?:/i)
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/)
    expect(answer.headers.get('set-cookie')).toBeNull()
  })

  it('ends the category of the campaign, at once, with a proof that names the message', async () => {
    const run = await sendTo('news')
    const answer = await post(run)
    expect(answer.status).toBe(200)
    await expectOptIn('OPTED_IN', { news: false, offers: true })
    const [proof] = await calls.proofsOf(customer)
    expect(proof).toMatchObject({ by: `link:${run.number}-1`, ip: '127.0.0.1' })
    expect(proof?.before.categories).toEqual({ news: true, offers: true })
    expect(proof?.after.categories).toEqual({ news: false, offers: true })
  })

  it('ends everything if the campaign has no category', async () => {
    expect((await post(await sendTo(null))).status).toBe(200)
    await expectOptIn('OPTED_OUT', { news: true, offers: true })
  })

  it('ends everything with the last category, as Update Preferences does', async () => {
    await calls.set({ customer_id: customer, categories: { offers: false } })
    expect((await post(await sendTo('news'))).status).toBe(200)
    await expectOptIn('OPTED_OUT', { news: false, offers: false })
  })

  const multipart = new FormData()
  multipart.set('List-Unsubscribe', 'One-Click')
  it.each<[string, RequestInit['body'], Record<string, string>]>([
    ['urlencoded', 'List-Unsubscribe=One-Click', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['multipart', multipart, {}],
    ['text without a known type', 'List-Unsubscribe=One-Click', { 'content-type': 'text/plain' }],
    ['nothing', null, {}],
    ['something else', '{}', { 'content-type': 'application/json' }],
  ])('takes a body of %s', async (_what, body, headers) => {
    const run = await sendTo('news')
    expect((await post(run, body, headers)).status).toBe(200)
    await expectOptIn('OPTED_IN', { news: false, offers: true })
  })

  it('repeats are 200, and neither a second proof nor a second fact', async () => {
    const run = await sendTo('news')
    for (let round = 0; round < 3; round++) expect((await post(run)).status).toBe(200)
    await Promise.all(Array.from({ length: 5 }, () => post(run)))
    const stored = await until('the fact is stored', async () =>
      (await facts(run)).length > 0 ? facts(run) : undefined,
    )
    expect(stored).toHaveLength(1)
    const proofs = await calls.proofsOf(customer)
    expect(proofs.filter(({ by }) => by.startsWith('link:'))).toHaveLength(1)
    expect(stored[0]?.messageId).toBe(`${run.number}-1`)
  })

  it('is no address-wide opt-out: others with the address keep what they chose', async () => {
    await calls.makeUsers(['shares'], `${customer}@example.com`)
    await calls.set({ customer_id: 'shares', opt_in_status: 'OPTED_IN' })
    await post(await sendTo(null))
    expect((await calls.readOne('shares')).opt_in_status).toBe('OPTED_IN')
    await calls.makeUsers([`later-${customer}`], `${customer}@example.com`)
    expect((await calls.readOne(`later-${customer}`)).opt_in_status).toBe('OPT_IN_PENDING')
  })

  it('lets the person come back, and end it again', async () => {
    const run = await sendTo('news')
    await post(run)
    await expectOptIn('OPTED_IN', { news: false, offers: true })
    await calls.set({ customer_id: customer, categories: { news: true } })
    await post(run)
    await expectOptIn('OPTED_IN', { news: false, offers: true })
  })

  it('follows a merge of users', async () => {
    await server.changeSettings(server.workspace, {
      categories: ['news', 'offers'],
      identityResolution: ['crm'],
      limits: NO_LIMITS,
    })
    const younger = `younger-${customer}`
    await calls.makeUsers([younger])
    const run = await sendTo('news', [younger])
    const crm = { user_identifiers: { crm: customer } }
    const bodies = [customer, younger].map((customer_id) => ({ type: 'customer', customer_id, ...crm, attributes: {} }))
    await trackingOf(server).apply(...bodies)
    expect((await post(run)).status).toBe(200)
    await expectOptIn('OPTED_IN', { news: false, offers: true })
  })

  it('does nothing for an erased person, who stays erased', async () => {
    const run = await sendTo('news')
    const erased = await server.call('DELETE', `/v1/customer/${server.workspace.id}?customer_id=${customer}`)
    expect(erased.status).toBe(200)
    expect((await post(run)).status).toBe(200)
    expect((await fetch(server.url + pathOf(run))).status).toBe(200)
    expect((await calls.read({ customer_id: customer })).status).toBe(404)
  })

  it('does nothing for tests, which belong to nobody', async () => {
    const run = await sendTo('news')
    const answer = await fetch(server.url + pathOf(run, 0), { method: 'POST', body: ONE_CLICK })
    expect(answer.status).toBe(200)
    await expectOptIn('OPTED_IN', { news: true, offers: true })
  })

  it('refuses a body that is too large', async () => {
    const run = await sendTo('news')
    expect((await post(run, 'a'.repeat(65 * 1024), { 'content-type': 'text/plain' })).status).toBe(413)
    await expectOptIn('OPTED_IN', { news: true, offers: true })
  })

  it('speaks the language of the person', async () => {
    const body = { type: 'customer', customer_id: customer, attributes: { locale: 'de-AT' } }
    await trackingOf(server).apply(body)
    const run = await sendTo('news')
    const page = await (await fetch(server.url + pathOf(run))).text()
    expect(page).toContain('<html lang="de" dir="ltr">')
    expect(page).toContain('Abbestellen')
    expect(await (await post(run)).text()).toContain('Sie haben sich abgemeldet')
  })
})
