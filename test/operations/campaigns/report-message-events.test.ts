// Report message events through real HTTP, on every store: which events are accepted, and which are refused.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { MESSAGE_KINDS } from '../../../src/core/campaigns/facts.ts'
import type { StoredCampaign } from '../../../src/store/campaigns/campaigns.ts'
import { MESSAGE_EVENTS, reportCallsOf, reportOf, type ReportCalls } from '../../support/calls/report-calls.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const NOW = Date.parse('2026-05-04T10:00:00Z')

describeEachStore('Report message events (report_message_events)', (kind) => {
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

  const send = (body: unknown) => calls.send(MESSAGE_EVENTS, campaign.id, body)

  const refusals: [rule: string, fields: object, refused: string[]][] = [
    ['an unknown kind', { kind: 'opened' }, ['kind']],
    ['a kind in capitals', { kind: 'SENT' }, ['kind']],
    ['a kind that is a number', { kind: 1 }, ['kind']],
    ['a time before 1970', { time: '1969-12-31T23:59:59Z' }, ['time']],
    ['an empty time', { time: '' }, ['time']],
    ['a time that is null', { time: null }, ['time']],
    ['a time that is a list', { time: [NOW] }, ['time']],
    ['a time past the clock skew', { time: NOW + 300_001 }, ['time']],
    ['an empty device_id', { device_id: '' }, ['device_id']],
    ['a device_id of 257 characters', { device_id: 'x'.repeat(257) }, ['device_id']],
    ['a device_id with NUL', { device_id: 'd\u0000' }, ['device_id']],
    ['a device_id that is null', { device_id: null }, ['device_id']],
    ['an empty message_id', { message_id: '' }, ['message_id']],
    ['a message_id of 257 characters', { message_id: 'x'.repeat(257) }, ['message_id']],
    ['a message_id that is a number', { message_id: 1 }, ['message_id']],
    ['half a surrogate pair in a message_id', { message_id: '\udc00' }, ['message_id']],
    ['an empty reason', { reason: '' }, ['reason']],
    ['a reason of 65 characters', { kind: 'failed', reason: 'x'.repeat(65) }, ['reason']],
    ['a reason with a sign', { kind: 'failed', reason: 'opt-out' }, ['reason']],
    ['a bounce without a reason', { kind: 'bounce' }, ['reason']],
    ['a bounce with another reason', { kind: 'bounce', reason: 'gone' }, ['reason']],
    ['a bounce with an empty reason', { kind: 'bounce', reason: '' }, ['reason']],
    ['an invalid reason, even for a kind without reasons', { kind: 'click', reason: 'No' }, ['reason']],
  ]
  it.each(refusals)('refuses %s, naming the event', async (_rule, fields, refused) => {
    const answer = await send(reportOf(MESSAGE_EVENTS, {}, fields))
    const paths = refused.map((field) => `events[1].${field}`)
    expectRefusal(answer, 400, 'invalid_request', paths)
  })

  it('refuses an event without the required fields', async () => {
    const required = ['customer_id', 'platform', 'kind', 'time'].map((field) => `events[0].${field}`)
    expectRefusal(await send({ events: [{}] }), 400, 'invalid_request', required)
  })

  it('names every fault at once, including those beyond the schema', async () => {
    const events = [
      { customer_id: '', platform: '', device_id: '', kind: '', time: NOW * 2, message_id: '', reason: '-', sdk: 1 },
      { customer_id: 'c1', platform: 'EMAIL', kind: 'sent', time: 'x', reason: '' },
      [],
      { customer_id: 'c1', platform: 'EMAIL', kind: 'sent', time: NOW },
    ]
    expectRefusal(await send({ events, x: 1 }), 400, 'invalid_request', [
      ...Object.keys(events[0] as object).map((field) => `events[0].${field}`),
      'events[1].time',
      'events[1].reason',
      'events[2]',
      'x',
    ])
  })

  const taken: [rule: string, fields: object][] = [
    ...MESSAGE_KINDS.map((of): [string, object] => [
      `the kind ${of} with a reason`,
      { kind: of, reason: of === 'bounce' ? 'soft_bounce' : 'gone' },
    ]),
    ['ids of 256 characters', { device_id: '😀'.repeat(256), message_id: '😀'.repeat(256) }],
    ['ids that are properties of every JavaScript object', { device_id: '__proto__', message_id: 'constructor' }],
    ['a reason of 64 characters', { kind: 'failed', reason: 'x'.repeat(64) }],
    ['a reason that is a property of every JavaScript object', { kind: 'failed', reason: '__proto__' }],
    ['a time at the end of the clock skew', { time: NOW + 300_000 }],
    ['a time without a zone', { time: '2026-05-04T10:00' }],
    ['a time in seconds as a string', { time: '1777888800' }],
  ]
  it.each(taken)('accepts %s', async (_rule, fields) => {
    const sent = reportOf(MESSAGE_EVENTS, fields, {})
    const entry = await calls.entryOf(await send(sent))
    expect(JSON.parse(Buffer.from(entry.body).toString())).toEqual(sent)
  })

  it('reads times without a zone in the time zone of the workspace, and applies its clock skew', async () => {
    const as = await server.makeWorkspace({ timezone: 'America/New_York', clockSkewSeconds: 60 })
    const { id } = await calls.makeCampaign(as)
    const times = ['2026-05-04T06:01:00', '2026-05-04T06:01:01', '2026-05-04T06:01:01Z', NOW + 60_001]
    const events = times.map((time) => ({ ...MESSAGE_EVENTS.item, time }))
    const answer = await calls.send(MESSAGE_EVENTS, id, { events }, { as })
    expectRefusal(answer, 400, 'invalid_request', ['events[1].time', 'events[3].time'])
  })
})
