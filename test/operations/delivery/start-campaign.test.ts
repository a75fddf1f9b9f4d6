// What the start of a campaign checks and pins, through real HTTP, on every store.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { WorkspaceSettings } from '../../../src/core/workspace.ts'
import type { ErrorBody } from '../../../src/http/answers/error-answer.ts'
import { CAMPAIGNS_PATH } from '../../support/calls/campaign-calls.ts'
import { couponCallsOf } from '../../support/calls/coupon-calls.ts'
import { TemplateCaller } from '../../support/calls/template-calls.ts'
import { deliveryCallsOf, EVERYBODY, type DeliveryCalls } from '../../support/delivery/delivery-calls.ts'
import { expectRefusal, startServer, type Answer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const NOON = Date.parse('2026-05-10T12:00:00Z')
const COUPON = '<p>{{Coupons.CouponListName["summer"]}}</p>'
const TEMPLATE = 'delivery.variations[0].external_template_id'

describeEachStore('Start campaign (start_campaign) and Check campaign (check_campaign)', (kind) => {
  let server: TestServer
  let calls: DeliveryCalls
  let templates: TemplateCaller

  beforeAll(async () => {
    server = await startServer(kind, { ATTACHMENT_HOSTS: 'localhost' }, { withPipeline: false, withDelivery: false })
    calls = deliveryCallsOf(server)
    templates = new TemplateCaller(server, server.workspace)
  })
  beforeEach(() => server.setClock(NOON))
  afterAll(() => server.stop())

  const start = async (fields = {}, workspace = server.workspace) => {
    return calls.put(await calls.makeDelivered(fields, workspace), 'start', workspace)
  }
  const variationOf = (external_template_id: string, fields = {}) => ({
    name: 'A',
    share: 100,
    external_template_id,
    ...fields,
  })
  const withContent = async (email_content: string) => {
    return { variations: [variationOf(await calls.addTemplate({}, { email_content }))] }
  }

  const refused: [what: string, fields: () => object | Promise<object>, field: string][] = [
    ['an unknown sender', () => ({ sender_id: 'unknown' }), 'delivery.sender_id'],
    ['an unknown segment', () => ({ audience: { include: ['unknown'] } }), 'delivery.audience.include[0]'],
    [
      'an unknown segment inside a condition',
      () => ({ audience: { include: [{ all: [{ not: { segment: 'unknown' } }] }] } }),
      'delivery.audience.include[0].all[0].not.segment',
    ],
    [
      'an unknown campaign in a condition',
      () => ({ audience: { include: [EVERYBODY], exclude: [{ not: { campaign: 'unknown', did: 'sent' } }] } }),
      'delivery.audience.exclude[0].not.campaign',
    ],
    [
      'parts that have too many conditions together',
      () => ({ audience: { include: Array.from({ length: 6 }, () => ({ any: Array(50).fill(EVERYBODY) })) } }),
      'delivery.audience',
    ],
    ['an unknown category', () => ({ category: 'unknown' }), 'delivery.category'],
    ['a start in the past', () => ({ start_at: '2026-05-10T11:59:59Z' }), 'delivery.start_at'],
    ['an unknown template', () => ({ variations: [variationOf('unknown')] }), TEMPLATE],
    [
      'an unknown version',
      async () => ({ variations: [variationOf(await calls.addTemplate(), { version: 2 })] }),
      'delivery.variations[0].version',
    ],
    [
      'an archived template',
      async () => {
        const id = await calls.addTemplate()
        await templates.archive(id)
        return { variations: [variationOf(id)] }
      },
      TEMPLATE,
    ],
    ['an unknown coupon list', () => withContent(COUPON), TEMPLATE],
    [
      'an unsubscribe link in a transactional campaign',
      async () => ({ consent: 'transactional', ...(await withContent('<a href="{{ unsubscribe_url }}">x</a>')) }),
      TEMPLATE,
    ],
    [
      'a group with a locale that statistics cannot count',
      async () => {
        const parent = await calls.addTemplate()
        await calls.addTemplate({ group_id: parent, locale: 'all_pt' })
        return { variations: [variationOf(parent)] }
      },
      TEMPLATE,
    ],
    [
      'no base of links',
      async () => ({ sender_id: (await calls.addSender({ trackingUrl: null })).id }),
      'delivery.sender_id',
    ],
    [
      'a password that the key does not open',
      async () => ({ sender_id: (await calls.addSender({ sealedPassword: 'v1.AAAA' })).id }),
      'delivery.sender_id',
    ],
  ]
  it.each(refused)('refuses %s', async (_what, fields, field) => {
    expectRefusal(await start(await fields()), 400, 'invalid_request', [field])
  })

  const unfit: [what: string, settings: Partial<WorkspaceSettings>][] = [
    ['tokenized', { emailProtection: 'tokenized' }],
    ['encrypted without a key', { emailProtection: 'encrypted' }],
  ]
  it.each(unfit)('refuses a workspace whose emails are %s', async (_what, settings) => {
    const workspace = await server.makeWorkspace(settings)
    expectRefusal(await start({}, workspace), 400, 'invalid_request', ['delivery'])
  })

  const check = (id: string) => calls.call('POST', `${CAMPAIGNS_PATH}/${id}/check`)
  const NO_FAULTS = { status: 200, body: { faults: [] } }

  it('a check names the faults of a start, and changes nothing', async () => {
    const id = await calls.makeDelivered({ sender_id: 'unknown', category: 'unknown' })
    const refusal = (await calls.put(id, 'start')).body as ErrorBody
    expect(await check(id)).toMatchObject({ status: 200, body: { faults: refusal.error.details } })
    expect(refusal.error.details?.map(({ field }) => field)).toContain('delivery.category')
    expect(await calls.stateOf(id)).toBe('draft')
  })

  it('a check of a draft that can be started, or was, finds nothing', async () => {
    const id = await calls.makeDelivered()
    expect(await check(id)).toMatchObject(NO_FAULTS)
    expect(await calls.stateOf(id)).toBe('draft')
    await calls.put(id, 'start')
    expect(await check(id)).toMatchObject(NO_FAULTS)
  })

  it('a check shows the warnings of a start', async () => {
    const { id: sender_id } = await calls.addSender({ trackingUrl: 'http://links.shop.example' })
    const { body } = await check(await calls.makeDelivered({ sender_id }))
    expect(body).toMatchObject({ faults: [], warnings: [{ field: 'delivery.sender_id' }] })
  })

  it('a campaign that Tidings does not send has no check', async () => {
    expectRefusal(await check(await calls.make()), 409, 'conflict')
  })

  it('refuses an archived campaign', async () => {
    const id = await calls.makeDelivered()
    await calls.archive(id)
    expectRefusal(await calls.put(id, 'start'), 400, 'invalid_request', ['campaign_id'])
  })

  it('names all faults at once and changes nothing', async () => {
    const id = await calls.makeDelivered({
      sender_id: 'unknown',
      audience: { include: ['unknown'] },
      variations: [variationOf('unknown')],
      category: 'unknown',
      start_at: '2020-01-01T00:00',
    })
    const fields = ['sender_id', 'audience.include[0]', 'category', 'start_at', 'variations[0].external_template_id']
    const answer = await calls.put(id, 'start')
    expectRefusal(
      answer,
      400,
      'invalid_request',
      fields.map((field) => `delivery.${field}`),
    )
    const problems = (answer.body as ErrorBody).error.details?.map(({ problem }) => problem).join()
    expect(problems).toMatch(
      /is not the id of a sender.*has no address for the links in messages: set its tracking_url/,
    )
    expect(await calls.stateOf(id)).toBe('draft')
  })

  const problemsOf = (answer: Answer<unknown>) => {
    expectRefusal(answer, 400, 'invalid_request', [TEMPLATE])
    return (answer.body as ErrorBody).error.details?.map(({ problem }) => problem)
  }

  it('names an error in Liquid with its line and column', async () => {
    const [problem] = problemsOf(await start(await withContent('<p>\n  {{ first_name | shout }}</p>'))) ?? []
    expect(problem).toMatch(/^names template ".+", version 1: email_content, line 2, column 3: /)
  })

  it('names attachments that are private, missing or too large', async () => {
    const files = createServer(({ url }, answer) => {
      if (url === '/large') answer.end(Buffer.alloc(10 * 1024 * 1024 + 1))
      else answer.writeHead(404).end()
    })
    await new Promise<void>((resolve) => files.listen(0, resolve))
    const { port } = files.address() as AddressInfo
    const attach = (name: string, host: string) => ({ name, url: `http://${host}:${port}/${name}` })
    const attachments = [attach('private', '127.0.0.1'), attach('missing', 'localhost'), attach('large', 'localhost')]
    const id = await calls.addTemplate({}, { attachments })
    expect(problemsOf(await start({ variations: [variationOf(id)] }))).toEqual([
      expect.stringContaining('attachment "private": cannot be fetched: 127.0.0.1 is not of the public internet'),
      expect.stringContaining('attachment "missing": cannot be fetched: the server answered 404'),
      expect.stringContaining('attachment "large": is too large'),
    ])
    files.close()
  })

  it('names the status of a coupon list that is not ACTIVE', async () => {
    const coupons = couponCallsOf(server)
    const list = await coupons.make({ label: 'summer' })
    expect((await start(await withContent(COUPON))).status).toBe(204)
    await coupons.call('PUT', `/v1/coupon-list/${list}/archive`)
    const answer = await start(await withContent(COUPON))
    expectRefusal(answer, 400, 'invalid_request', [TEMPLATE])
    expect((answer.body as ErrorBody).error.details?.[0]?.problem).toContain('ARCHIVED')
  })

  it('takes an active category, and a start in the future', async () => {
    const workspace = await server.makeWorkspace({ categories: ['News'] })
    expect((await start({ category: 'News', start_at: '2026-05-10T12:00:01Z' }, workspace)).status).toBe(204)
  })

  it('pins the newest version, or the one that was named', async () => {
    const [newest, named] = [await calls.addTemplate(), await calls.addTemplate()]
    await templates.change(newest)
    await templates.change(named)
    const variations = [variationOf(newest, { share: 50 }), variationOf(named, { name: 'B', share: 50, version: 1 })]
    const id = await calls.makeDelivered({ variations })
    expect((await calls.fetch(id)).delivery?.variations.map(({ version }) => version)).toEqual([undefined, 1])
    await calls.put(id, 'start')
    await templates.change(newest)
    expect((await calls.fetch(id)).delivery?.variations.map(({ version }) => version)).toEqual([2, 1])
    expect((await calls.storedOf(id)).pinned).toEqual([
      { name: 'A', share: 50, template: { externalTemplateId: newest, version: 2, locale: null }, members: [] },
      { name: 'B', share: 50, template: { externalTemplateId: named, version: 1, locale: null }, members: [] },
    ])
  })

  it('pins the members of a group with a locale, of two with one locale that of the variation', async () => {
    const parent = await calls.addTemplate({ locale: 'en' })
    const member = (meta: object) => calls.addTemplate({ group_id: parent, ...meta })
    const [first, second, german] = [
      await member({ locale: 'pt' }),
      await member({ locale: 'pt', variation: 'B' }),
      await member({ locale: 'de' }),
    ]
    await member({})
    await templates.archive(await member({ locale: 'fr' }))
    const variations = [variationOf(parent, { share: 50 }), variationOf(parent, { name: 'B', share: 50 })]
    const id = await calls.makeDelivered({ variations })
    await calls.put(id, 'start')
    const locales = (await calls.storedOf(id)).pinned?.map(({ template, members }) => [
      template.locale,
      Object.fromEntries(members.map(({ locale, externalTemplateId }) => [locale, externalTemplateId])),
    ])
    const firstPortuguese = [first, second].toSorted()[0]
    expect(locales).toEqual([
      ['en', { pt: firstPortuguese, de: german }],
      ['en', { pt: second, de: german }],
    ])
  })

  it('shows links without https as a warning, but not on loopback', async () => {
    const bases = ['http://links.shop.example', 'https://links.shop.example', 'http://127.0.0.1:8080', 'http://[::1]']
    const warned: unknown[] = []
    for (const trackingUrl of bases) {
      const id = await calls.makeDelivered({ sender_id: (await calls.addSender({ trackingUrl })).id })
      expect((await calls.put(id, 'start')).status).toBe(204)
      warned.push(((await calls.fetch(id)) as { readonly warnings?: object[] }).warnings?.length ?? 0)
    }
    expect(warned).toEqual([1, 0, 0, 0])
    const { body } = await server.call<string>('GET', '/metrics')
    expect(body).toMatch(/operation="start_campaign",kind="insecure_links"\} 1/)
  })
})
