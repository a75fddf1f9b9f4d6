// Both reports of campaigns, through real HTTP on every store: credentials, campaigns, sizes, repeats, and the entries in the log.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EVENTS_PER_ENTRY_MAX } from '../../../src/core/event.ts'
import { countEvents } from '../../../src/log/count-events.ts'
import { LIMIT_DEFAULTS } from '../../../src/core/workspace.ts'
import type { StoredCampaign } from '../../../src/store/campaigns/campaigns.ts'
import { REPORT_KINDS, reportCallsOf, reportOf, type ReportCalls } from '../../support/calls/report-calls.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const NOW = Date.parse('2026-05-04T10:00:00Z')
const BODY_BYTES_MAX = 1024 * 1024

describeEachStore('A campaign report (report_audience, report_message_events)', (kind) => {
  let server: TestServer
  let calls: ReportCalls
  let campaign: StoredCampaign

  beforeAll(async () => {
    server = await startServer(kind, {}, { withPipeline: false })
    server.setClock(NOW)
    calls = reportCallsOf(server)
    campaign = await calls.makeCampaign()
  })
  afterAll(async () => {
    await calls.close()
    await server.stop()
  })

  describe.each(REPORT_KINDS)('($path)', (report) => {
    const { path, list, item } = report
    const one = reportOf(report, {})
    const send = (body: unknown = one, headers = {}) => calls.send(report, campaign.id, body, { headers })

    it('is answered like Track Events', async () => {
      const answer = await send()
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual({
        status: 'success',
        message: expect.stringContaining('accepted and will be processed soon') as string,
        request_id: answer.headers.get('x-request-id'),
      })
    })

    it('is stored in the log as it was sent, with the number of its campaign', async () => {
      const text = `${JSON.stringify(reportOf(report, {}, { customer_id: 'ü😀' }), null, 1)}\n`
      const entry = await calls.entryOf(await send(text))
      // A shared log stamps it by its own clock.
      const receivedAt = kind === 'sqlite' ? NOW : entry.receivedAt
      expect(entry).toMatchObject({ kind: report.kind, workspaceId: 'main', receivedAt })
      expect(entry.context).toEqual({ campaign: campaign.number })
      expect(Buffer.from(entry.body).toString()).toBe(text)
      expect(countEvents(entry)).toBe(2)
    })

    it('can be found by its request id, with the number of its items', async () => {
      const { body } = await send(reportOf(report, {}, {}, {}))
      const found = await server.call('GET', `/v1/event/main/requests/${body.request_id}`)
      expect(found.body).toEqual({
        request_id: body.request_id,
        status: 'accepted',
        events: 3,
        duplicates: 0,
        not_counted: 0,
      })
    })

    it('identifies users only by customer_id, even with identity resolution on', async () => {
      const as = await server.makeWorkspace({ identityResolution: ['crm'] })
      const { id } = await calls.makeCampaign(as)
      expect((await calls.send(report, id, one, { as })).status).toBe(200)
      const others = reportOf(report, { user_identifiers: { crm: 'x' } })
      const answer = await calls.send(report, id, others, { as })
      expectRefusal(answer, 400, 'invalid_request', [`${list}[0].user_identifiers`])
    })

    it.each(['unknown', '__proto__', 'constructor', '%F0%9F%98%80'])(
      'of the unknown campaign %s is 404',
      async (id) => {
        expectRefusal(await calls.send(report, id, one), 404, 'not_found')
      },
    )

    it('of a campaign of another workspace is 404', async () => {
      const theirs = await calls.makeCampaign(await server.makeWorkspace())
      const before = await calls.countEntries()
      expectRefusal(await calls.send(report, theirs.id, one), 404, 'not_found')
      expect(await calls.countEntries()).toBe(before)
    })

    it.each(['%00', 'x'.repeat(257)])('refuses %s as a campaign id', async (id) => {
      expectRefusal(await calls.send(report, id, one), 400, 'invalid_request', ['path.campaign_id'])
    })

    it('requires the key of the tile reports', async () => {
      expectRefusal(await calls.send(report, campaign.id, one, { tile: 'data' }), 403, 'forbidden')
    })

    it('requires SVC-APPKEY of the same workspace', async () => {
      const field = 'header.SVC-APPKEY'
      expectRefusal(await send(one, { 'svc-appkey': undefined }), 400, 'invalid_request', [field])
      expectRefusal(await send(one, { 'svc-appkey': 'other' }), 403, 'forbidden', [field])
    })

    it('takes one unit of the limit for any number of items', async () => {
      const as = await server.makeWorkspace({ limits: { ...LIMIT_DEFAULTS, management_per_minute: 2 } })
      const { id } = await calls.makeCampaign(as)
      const statuses: [number, string | null][] = []
      for (let sent = 0; sent < 3; sent++) {
        const { status, headers } = await calls.send(report, id, reportOf(report, {}, {}, {}), { as })
        statuses.push([status, headers.get('x-ratelimit-remaining')])
      }
      expect(statuses).toEqual([
        [200, '1'],
        [200, '0'],
        [429, '0'],
      ])
    })

    const refusals: [rule: string, body: unknown, fields: string[]][] = [
      ['no list', {}, [list]],
      ['an empty list', { [list]: [] }, [list]],
      ['an object in place of the list', { [list]: item }, [list]],
      ['a list as body', [item], ['body']],
      [
        'items that are not objects',
        { [list]: [null, 1, item, 'x', []] },
        [0, 1, 3, 4].map((index) => `${list}[${index}]`),
      ],
      ['unknown members', { ...one, campaign: 1 }, ['campaign']],
      ['unknown members of items', reportOf(report, {}, { sdk: 1, svc_x: 2 }), [`${list}[1].sdk`, `${list}[1].svc_x`]],
      ['names that every JavaScript object has', reportOf(report, { constructor: 1 }), [`${list}[0].constructor`]],
      ['__proto__ as a name', JSON.stringify(one).replace('"platform"', '"__proto__"'), [`${list}[0].__proto__`]],
      ['a repeated member', JSON.stringify(one).replace('"platform"', '"customer_id"'), [`${list}[0].customer_id`]],
      ['an empty customer_id', reportOf(report, { customer_id: '' }), [`${list}[0].customer_id`]],
      [
        'a customer_id of 257 characters',
        reportOf(report, { customer_id: 'x'.repeat(257) }),
        [`${list}[0].customer_id`],
      ],
      ['a customer_id that is a number', reportOf(report, { customer_id: 1 }), [`${list}[0].customer_id`]],
      ['a customer_id with NUL', reportOf(report, { customer_id: 'a\u0000' }), [`${list}[0].customer_id`]],
      ['a customer_id with half a pair', reportOf(report, { customer_id: '\ud800' }), [`${list}[0].customer_id`]],
      ['an empty platform', reportOf(report, { platform: '' }), [`${list}[0].platform`]],
      ['a platform of 257 characters', reportOf(report, { platform: 'x'.repeat(257) }), [`${list}[0].platform`]],
      ['a platform that is null', reportOf(report, { platform: null }), [`${list}[0].platform`]],
    ]
    it.each(refusals)('refuses %s, and stores nothing', async (_rule, body, fields) => {
      const before = await calls.countEntries()
      expectRefusal(await send(body), 400, 'invalid_request', fields)
      expect(await calls.countEntries()).toBe(before)
    })

    it('refuses fields in its query', async () => {
      const address = `/core-services/v1/campaigns/${campaign.id}/${path}?dry_run=true`
      const answer = await server.call('POST', address, { tile: 'reports', body: one })
      expectRefusal(answer, 400, 'invalid_request', ['query.dry_run'])
    })

    const taken: [rule: string, fields: object][] = [
      ['a customer_id of 256 characters beyond the basic plane', { customer_id: '😀'.repeat(256) }],
      ['a customer_id that is a property of every JavaScript object', { customer_id: '__proto__' }],
      ['a platform of 256 characters', { platform: 'x'.repeat(256) }],
      ['an unknown platform', { platform: 'constructor' }],
    ]
    it.each(taken)('accepts %s', async (_rule, fields) => {
      const entry = await calls.entryOf(await send(reportOf(report, fields)))
      expect(JSON.parse(Buffer.from(entry.body).toString())).toEqual(reportOf(report, fields))
    })

    it('answers a repeat with the same Idempotency-Key like the first, and stores it once', async () => {
      const headers = { 'idempotency-key': `${path} 1` }
      const first = await send(one, headers)
      const before = await calls.countEntries()
      const repeat = await send(one, headers)
      expect(repeat.body).toEqual(first.body)
      expect(repeat.headers.get('x-request-id')).toBe(first.body.request_id)
      expect(await calls.countEntries()).toBe(before)
    })

    it('is refused with the Idempotency-Key of another body, campaign or operation', async () => {
      const headers = { 'idempotency-key': `${path} 2` }
      expect((await send(one, headers)).status).toBe(200)
      const { id } = await calls.makeCampaign()
      const event = { type: 'event', customer_id: 'c1', actions: [{ action: 'A' }] }
      const others = [
        await send(reportOf(report, { customer_id: 'c2' }), headers),
        await send(`${JSON.stringify(one)} `, headers),
        await calls.send(report, id, one, { headers }),
        await server.call('POST', '/v1/event/main', { body: event, headers }),
      ]
      for (const answer of others) expectRefusal(answer, 409, 'conflict', ['header.Idempotency-Key'])
    })

    it('that was refused does not use up its Idempotency-Key', async () => {
      const headers = { 'idempotency-key': `${path} 3` }
      expectRefusal(await calls.send(report, 'unknown', one, { headers }), 404, 'not_found')
      expectRefusal(await send({ [list]: [] }, headers), 400, 'invalid_request', [list])
      expect((await send(one, headers)).status).toBe(200)
    })

    it(`accepts ${EVENTS_PER_ENTRY_MAX} items and refuses one more`, async () => {
      const small = Object.fromEntries(Object.entries(item).map(([name, value]) => [name, SHORT[name] ?? value]))
      const items = Array.from({ length: EVENTS_PER_ENTRY_MAX }, () => small)
      const entry = await calls.entryOf(await send({ [list]: items }))
      expect(countEvents(entry)).toBe(EVENTS_PER_ENTRY_MAX)
      const answer = await send({ [list]: [...items, small] })
      expectRefusal(answer, 400, 'invalid_request', [list])
      expect(JSON.stringify(answer.body)).toContain(`at most ${EVENTS_PER_ENTRY_MAX} items`)
    })

    it('accepts a body of 1 MiB and refuses one byte more', async () => {
      const text = JSON.stringify(one)
      const entry = await calls.entryOf(await send(text.padEnd(BODY_BYTES_MAX)))
      expect(entry.body.byteLength).toBe(BODY_BYTES_MAX)
      expectRefusal(await send(text.padEnd(BODY_BYTES_MAX + 1)), 413, 'payload_too_large')
    })
  })
})

/** Values so short that the maximum number of items fits into 1 MiB. */
const SHORT: Readonly<Record<string, unknown>> = { customer_id: 'c', platform: 'p', evaluated_at: 1, time: 1 }
