// Report an audience through real HTTP, on every store: which members are accepted, and which are refused.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { GROUPS } from '../../../src/core/campaigns/facts.ts'
import type { StoredCampaign } from '../../../src/store/campaigns/campaigns.ts'
import { AUDIENCE, reportCallsOf, reportOf, type ReportCalls } from '../../support/calls/report-calls.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const NOW = Date.parse('2026-05-04T10:00:00Z')
/** Refused in Berlin, where it is an hour before 1970. */
const FIRST_CLOCK = '1970-01-01T00:00:00'

describeEachStore('Report an audience (report_audience)', (kind) => {
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

  const send = (body: unknown) => calls.send(AUDIENCE, campaign.id, body)

  const refusals: [rule: string, fields: object, refused: string[]][] = [
    ['an unknown group', { group: 'control' }, ['group']],
    ['a group in capitals', { group: 'TARGET' }, ['group']],
    ['a group that is null', { group: null }, ['group']],
    ['an evaluated_at before 1970', { evaluated_at: -1 }, ['evaluated_at']],
    ['an evaluated_at that is not a time', { evaluated_at: 'now' }, ['evaluated_at']],
    ['an evaluated_at that is null', { evaluated_at: null }, ['evaluated_at']],
    ['an evaluated_at that is true', { evaluated_at: true }, ['evaluated_at']],
    ['an evaluated_at past the clock skew', { evaluated_at: NOW + 300_001 }, ['evaluated_at']],
    ['an empty locale', { locale: '' }, ['locale']],
    ['a locale of 65 characters', { locale: 'x'.repeat(65) }, ['locale']],
    ['a locale that begins with all_', { locale: 'all_locales' }, ['locale']],
    ['a locale that begins with a sign', { locale: '-de' }, ['locale']],
    ['a locale that is null', { locale: null }, ['locale']],
    ['an empty variation', { variation: '' }, ['variation']],
    ['a variation of 65 characters', { variation: 'x'.repeat(65) }, ['variation']],
    ['a variation that ends with _control_group', { variation: 'global_control_group' }, ['variation']],
    ['a variation with a control character', { variation: 'A\tB' }, ['variation']],
    ['__proto__ as a variation', { variation: '__proto__' }, ['variation']],
    ['half a surrogate pair in a variation', { variation: 'A\ud800' }, ['variation']],
    ['an empty reason', { removed: '' }, ['removed']],
    ['a reason of 65 characters', { removed: 'x'.repeat(65) }, ['removed']],
    ['a reason with capitals', { removed: 'Opt_out' }, ['removed']],
    ['a reason that is true', { removed: true }, ['removed']],
  ]
  it.each(refusals)('refuses %s, naming the member', async (_rule, fields, refused) => {
    const answer = await send(reportOf(AUDIENCE, {}, fields))
    const paths = refused.map((field) => `members[1].${field}`)
    expectRefusal(answer, 400, 'invalid_request', paths)
  })

  it('refuses a member without the required fields', async () => {
    const required = ['customer_id', 'evaluated_at', 'platform'].map((field) => `members[0].${field}`)
    expectRefusal(await send({ members: [{}] }), 400, 'invalid_request', required)
  })

  it('names every fault at once, including those beyond the schema', async () => {
    const members = [
      { customer_id: '', group: 'x', locale: 'all_', platform: 1, evaluated_at: NOW * 2, sdk: 1 },
      { customer_id: 'c1', platform: 'EMAIL', evaluated_at: 'x', variation: '', removed: '!' },
      5,
      { customer_id: 'c1', platform: 'EMAIL', evaluated_at: NOW },
    ]
    expectRefusal(await send({ members, x: 1 }), 400, 'invalid_request', [
      ...['customer_id', 'group', 'locale', 'platform', 'evaluated_at', 'sdk'].map((field) => `members[0].${field}`),
      ...['evaluated_at', 'variation', 'removed'].map((field) => `members[1].${field}`),
      'members[2]',
      'x',
    ])
  })

  const taken: [rule: string, fields: object][] = [
    ...GROUPS.map((group): [string, object] => [`the group ${group}`, { group }]),
    ['a locale and a variation', { locale: 'pt-BR', variation: 'Blue 2' }],
    ['64 characters beyond the basic plane', { locale: '𝒜'.repeat(64), variation: '𝒜'.repeat(64) }],
    ['names that every JavaScript object has', { locale: 'constructor', variation: 'toString', removed: '__proto__' }],
    ['a reason of 64 characters', { removed: 'x'.repeat(64) }],
    ['an evaluated_at at the end of the clock skew', { evaluated_at: NOW + 300_000 }],
    ['an evaluated_at long ago', { evaluated_at: 0 }],
    ['an evaluated_at without a zone', { evaluated_at: FIRST_CLOCK }],
  ]
  it.each(taken)('accepts %s', async (_rule, fields) => {
    const sent = reportOf(AUDIENCE, fields, {})
    const entry = await calls.entryOf(await send(sent))
    expect(JSON.parse(Buffer.from(entry.body).toString())).toEqual(sent)
  })

  it('reads times without a zone in the time zone of the workspace, and applies its clock skew', async () => {
    const as = await server.makeWorkspace({ timezone: 'Europe/Berlin', clockSkewSeconds: 0 })
    const { id } = await calls.makeCampaign(as)
    const times = ['2026-05-04T12:00:00', '2026-05-04T12:00:01', FIRST_CLOCK, NOW, NOW + 1]
    const members = times.map((evaluated_at) => ({ ...AUDIENCE.item, evaluated_at }))
    const answer = await calls.send(AUDIENCE, id, { members }, { as })
    const late = [1, 2, 4].map((index) => `members[${index}].evaluated_at`)
    expectRefusal(answer, 400, 'invalid_request', late)
  })
})
