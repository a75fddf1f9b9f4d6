// A server with something in everything that a store keeps, filled through HTTP, and the questions whose answers show it.
import { makeAccessLink } from '../../src/actions/accounts/access-links.ts'
import { signInAs, type SignedInPerson } from './accounts/sign-in-as.ts'
import { expect } from 'vitest'
import { campaignCallsOf } from './calls/campaign-calls.ts'
import { couponCallsOf, couponsPath, LISTS_PATH } from './calls/coupon-calls.ts'
import { importCallsOf } from './calls/import-calls.ts'
import { NO_LIMITS, preferenceCalls, PREFERENCES_PATH } from './calls/preference-calls.ts'
import { AUDIENCE, MESSAGE_EVENTS, reportCallsOf, reportOf } from './calls/report-calls.ts'
import { fillMailing } from './delivery/filled-mailing.ts'
import type { CallOptions, TestServer, TestWorkspace } from './server.ts'
import { SEARCH, TemplateCaller } from './calls/template-calls.ts'
import { trackingOf } from './calls/tracking.ts'

/** One operation that only reads. */
interface Question {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly options: CallOptions
}

export interface FilledServer {
  readonly questions: readonly Question[]
  /** Encrypts emails. */
  readonly vault: TestWorkspace
  /** A request with an Idempotency-Key that was accepted, to be repeated. */
  readonly keyed: {
    readonly body: object
    readonly headers: Readonly<Record<string, string>>
    readonly requestId: string
  }
  /** The same, which created something in the tables. */
  readonly keyedCreation: { readonly path: string; readonly options: CallOptions; readonly answer: unknown }
}

const STATISTICS = '/core-services/v1/campaign-stats'

/** The settings of its first workspace. */
export const SETTINGS = { identityResolution: ['crm', 'old'], categories: ['Offers', 'News'], limits: NO_LIMITS }

/** The server must have a PII_KEY and `MAILING_ENVIRONMENT`. */
/** Somebody who is signed in, an invitation, a label of a category, and a key whose use was noted. */
async function fillAccounts(server: TestServer): Promise<SignedInPerson> {
  const { database, workspace } = server
  const owner = await signInAs(server, 'owner')
  const category = `/v1/workspaces/${workspace.id}/categories/News`
  const labelled = await server.call('PATCH', category, { person: owner, body: { labels: { de: 'Neues' } } })
  expect(labelled.status).toBe(200)
  const now = Date.now()
  const link = {
    kind: 'invitation',
    email: 'grace@example.com',
    role: 'analyst',
    workspaceId: workspace.id,
    now,
  } as const
  await database.write((store) => makeAccessLink(store, link))
  return owner
}

export async function fillServer(server: TestServer): Promise<FilledServer> {
  const { workspace } = server
  await server.changeSettings(workspace, SETTINGS)
  const vault = await server.makeWorkspace({ emailProtection: 'encrypted', limits: NO_LIMITS }, 'vault')
  await preferenceCalls(server, vault).makeUsers(['secret'], 'Secret@Example.com')
  await fillUsers(server)
  const { import_id: importId } = await importCallsOf(server, workspace).apply('customer_id,plan\nimported,free\n')
  const templates = new TemplateCaller(server, workspace)
  await fillPreferences(server)
  const campaign = await fillCampaign(server)
  await eraseOne(server)
  const { list, keyedCreation } = await fillCoupons(server)
  const template = await templates.add()
  await templates.change(template, { template_name: 'Changed' })
  await templates.archive(await templates.add())
  const person = await fillAccounts(server)
  const mailing = await fillMailing(server)
  // Is processed after everything else.
  const keyed = await sendKeyed(server)
  const event = `/v1/event/${workspace.id}`
  const customer = `/v1/customer/${workspace.id}`
  const history = `${PREFERENCES_PATH}/history`
  const questions = [
    ...['customer_id=anna', 'email=anna@example.com', 'identifier_name=crm&identifier_value=7', 'customer_id=bea'].map(
      (query) => get(`${customer}?${query}`),
    ),
    get(`${customer}/erasures?customer_id=gone`),
    ...['anna', 'ben', 'bea'].map((id) => get(`${event}?customer_id=${id}`)),
    get(`${event}/requests/${keyed.requestId}`),
    get(`${customer}/import/${importId}`),
    ...['anna', 'ben', 'bea'].map((id) => get(`${PREFERENCES_PATH}?customer_id=${id}`)),
    ...['anna', 'bea'].map((id) => get(`${history}?customer_id=${id}`)),
    post(SEARCH, { page: 1, entries: 15, is_count_required: true }),
    post(SEARCH, { page: 1, entries: 15, include_archived: true }),
    get(LISTS_PATH, 'reports'),
    get(`${LISTS_PATH}/${list}`, 'reports'),
    get(couponsPath(list), 'reports'),
    ...mailing.map((path) => get(path, 'reports')),
    get('/core-services/v1/campaigns', 'reports'),
    get('/core-services/v1/campaigns?archived=all', 'reports'),
    get(`/core-services/v1/campaigns/${campaign}`, 'reports'),
    ...['categories', 'audit'].map((list) => ({
      ...get(`/v1/workspaces/${workspace.id}/${list}`),
      options: { person },
    })),
    ...['VIEW_THROUGH', 'CLICK_THROUGH', 'TOTAL_CONVERSIONS'].flatMap((type) =>
      ['TOTAL', 'UNIQUE'].map((metric) => askStatistics(type, metric)),
    ),
    { ...get(`/v1/customer/${vault.id}?email=secret@example.com`), options: { as: vault } },
  ]
  return { questions, vault, keyed, keyedCreation }
}

/** The answers to all questions, without what tells the time of the answer. */
export async function answersOf(server: TestServer, questions: readonly Question[]): Promise<unknown[]> {
  const answers: unknown[] = []
  for (const { method, path, options } of questions) {
    const { status, body } = await server.call<Record<string, unknown>>(method, path, options)
    expect({ path, status }).toEqual({ path, status: 200 })
    answers.push({ path, body: { ...body, processed_until: undefined } })
  }
  return answers
}

async function fillUsers(server: TestServer): Promise<void> {
  const tracking = trackingOf(server)
  const actions = [{ action: 'Visited', attributes: { page: '/ünï', times: [1, 2.5] }, platform: 'WEB' }]
  await tracking.apply(
    { type: 'event', user_identifiers: { crm: '7' }, actions },
    {
      type: 'customer',
      customer_id: 'anna',
      user_identifiers: { crm: '7' },
      attributes: { email: 'Anna@Example.com' },
    },
    { type: 'event', customer_id: 'anna', actions: [...actions, { action: 'Left', event_id: 'own-id' }] },
    { type: 'customer', customer_id: 'ben', user_identifiers: { crm: '8' }, attributes: { plan: 'premium' } },
    { type: 'customer', customer_id: 'bea', attributes: { plan: null, email: 'bea@example.com' } },
    { type: 'event', customer_id: 'bea', actions },
  )
}

/** The preferences of ben and bea before they are found to be one. */
async function fillPreferences(server: TestServer): Promise<void> {
  const preferences = preferenceCalls(server)
  await preferences.set({ customer_id: 'anna', opt_in_status: 'OPTED_IN', categories: { Offers: true, News: false } })
  await preferences.set({ email_id: 'anna@example.com', opt_in_status: 'OPTED_OUT' })
  await preferences.set({ customer_id: 'bea', opt_in_status: 'OPTED_IN', categories: { News: true } })
  await trackingOf(server).apply({
    type: 'event',
    customer_id: 'bea',
    user_identifiers: { crm: '8' },
    actions: [{ action: 'Logged in' }],
  })
}

async function fillCampaign(server: TestServer): Promise<string> {
  const goals = [{ name: 'purchase', event: 'Bought', window_hours: 24 }]
  const campaigns = campaignCallsOf(server)
  await campaigns.archive(await campaigns.make())
  const campaign = await campaigns.make({ conversion_goals: goals })
  const reports = reportCallsOf(server)
  const members = [
    { customer_id: 'anna', locale: 'de' },
    { customer_id: 'ben' },
    { customer_id: 'new' },
    { customer_id: 'gone' },
  ]
  await reports.send(AUDIENCE, campaign, reportOf(AUDIENCE, ...members))
  const messages = ['sent', 'delivered', 'impression', 'click'].flatMap((kind, minute) =>
    ['anna', 'ben', 'gone'].map((customer_id) => ({
      customer_id,
      kind,
      time: `2026-05-04T10:0${minute}:00Z`,
      message_id: 'm1',
    })),
  )
  await reports.send(MESSAGE_EVENTS, campaign, reportOf(MESSAGE_EVENTS, ...messages))
  await reports.close()
  const bought = { action: 'Bought', attributes: { amount: 3 }, user_time: '2026-05-04T12:00:00Z' }
  await trackingOf(server).apply({ type: 'event', customer_id: 'anna', actions: [bought] })
  return campaign
}

/** The statistics keep what was sent to this person. */
async function eraseOne(server: TestServer): Promise<void> {
  await preferenceCalls(server).set({ customer_id: 'gone', opt_in_status: 'OPTED_OUT' })
  const answer = await server.call('DELETE', `/v1/customer/${server.workspace.id}?customer_id=gone`)
  expect(answer.status).toBe(200)
}

async function fillCoupons(server: TestServer): Promise<{ list: string } & Pick<FilledServer, 'keyedCreation'>> {
  const coupons = couponCallsOf(server)
  await coupons.call('PUT', `${LISTS_PATH}/${await coupons.make()}/archive`)
  const list = await coupons.make()
  const path = couponsPath(list)
  const headers = { 'idempotency-key': 'coupons-1' }
  const options = { tile: 'reports', body: { coupons: ['A', 'b', 'ä'] }, headers } as const
  const { body: answer } = await coupons.call('POST', path, options)
  return { list, keyedCreation: { path, options, answer } }
}

async function sendKeyed(server: TestServer): Promise<FilledServer['keyed']> {
  const tracking = trackingOf(server)
  const body = { type: 'event', customer_id: 'anna', actions: [{ action: 'Paid' }] }
  const headers = { 'idempotency-key': 'payment-1' }
  const answer = await tracking.events(body, headers)
  await tracking.fateOf(answer)
  return { body, headers, requestId: answer.body.request_id }
}

function get(path: string, tile: 'data' | 'reports' = 'data'): Question {
  return { method: 'GET', path, options: { tile } }
}

function post(path: string, body: object, tile: 'data' | 'reports' = 'data'): Question {
  return { method: 'POST', path, options: { tile, body } }
}

function askStatistics(attribution_type: string, metric_type: string): Question {
  const dates = { start_date: '2026-05-01', end_date: '2026-05-31' }
  return post(STATISTICS, { request_id: 'question', attribution_type, metric_type, ...dates }, 'reports')
}
