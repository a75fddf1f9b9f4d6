// The limits on different names (dimensions and reasons) in the reports of a campaign, on every store, before reports are applied.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { DIMENSION_REASONS_MAX, DIMENSIONS_MAX, REASONS_MAX } from '../../../src/core/campaigns/campaign-names.ts'
import type { ErrorBody } from '../../../src/http/answers/error-answer.ts'
import { listCampaignNames } from '../../../src/store/campaigns/campaign-names.ts'
import type { StoredCampaign } from '../../../src/store/campaigns/campaigns.ts'
import {
  AUDIENCE,
  MESSAGE_EVENTS,
  reportCallsOf,
  reportOf,
  type ReportCalls,
  type ReportKind,
} from '../../support/calls/report-calls.ts'
import { expectRefusal, startServer, type Answer, type TestServer } from '../../support/server.ts'
import { describeEachStore, describeOnPostgres } from '../../support/stores.ts'

const DIMENSIONS_FULL = DIMENSIONS_MAX.toLocaleString('en')

/** Members with `count` different dimensions, each with its own locale. */
const dimensionsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ locale: `l${first + index}` }))
const removalsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ removed: `r${first + index}` }))
const failuresFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ kind: 'failed', reason: `r${first + index}` }))

const messageOf = (answer: Answer<unknown>) => (answer.body as ErrorBody).error?.message
const problemsOf = (answer: Answer<unknown>) => (answer.body as ErrorBody).error?.details.map(({ problem }) => problem)

describeEachStore('The names in campaign reports (report_audience, report_message_events)', (kind) => {
  let server: TestServer
  let calls: ReportCalls
  let campaign: StoredCampaign

  beforeAll(async () => {
    server = await startServer(kind, {}, { withPipeline: false })
    calls = reportCallsOf(server)
  })
  afterAll(async () => {
    await calls.close()
    await server.stop()
  })
  beforeEach(async () => void (campaign = await calls.makeCampaign()))

  const send = (report: ReportKind, ...items: readonly object[]) =>
    calls.send(report, campaign.id, reportOf(report, ...items))
  const statusOf = async (report: ReportKind, ...items: readonly object[]) => (await send(report, ...items)).status
  const countNames = async () => {
    const { dimensions, reason } = await listCampaignNames(server.database, campaign.number)
    return [dimensions.size, reason.size]
  }

  it(`are up to ${DIMENSIONS_FULL} dimensions, and one more is refused`, async () => {
    expect(await statusOf(AUDIENCE, ...dimensionsFrom(0, DIMENSIONS_MAX))).toBe(200)
    const entries = await calls.countEntries()
    const refused = await send(AUDIENCE, { locale: 'l0' }, { locale: 'l1', variation: 'A' })
    expectRefusal(refused, 409, 'conflict', ['members[1]'])
    expect(messageOf(refused)).toBe(
      'The campaign would have more than 1,000 combinations of platform, locale and variation: it has 1,000, and the report adds 1. ' +
        'Reuse existing names.',
    )
    expect([await calls.countEntries(), await countNames()]).toEqual([entries, [DIMENSIONS_MAX, 0]])
  })

  it('are accepted if the campaign already has them, even at the limit', async () => {
    await send(AUDIENCE, ...dimensionsFrom(0, DIMENSIONS_MAX))
    await send(MESSAGE_EVENTS, ...failuresFrom(0, 25))
    expect(await statusOf(AUDIENCE, ...dimensionsFrom(0, DIMENSIONS_MAX).toReversed())).toBe(200)
    expect(await statusOf(AUDIENCE, { locale: 'l7', removed: 'r7' })).toBe(200)
    expect(await statusOf(MESSAGE_EVENTS, { kind: 'failed', reason: 'r24' })).toBe(200)
  })

  it('count dimensions by platform, locale and variation together, including missing ones', async () => {
    const [locale, variation] = ['x', 'y']
    await send(AUDIENCE, {}, { locale }, { variation }, { locale, variation }, { locale: variation, variation: locale })
    expect(await countNames()).toEqual([5, 0])
    await send(AUDIENCE, { locale, platform: 'WEB' }, { locale, platform: 'web' }, { locale, group: 'global_control' })
    expect(await countNames()).toEqual([6, 0])
    // Both count as UNKNOWN.
    await send(AUDIENCE, { locale, platform: 'FRIDGE' }, { locale, platform: 'MIRROR' })
    expect(await countNames()).toEqual([7, 0])
  })

  it(`are up to ${REASONS_MAX} reasons of removals and failures together, and one more is refused`, async () => {
    expect(await statusOf(AUDIENCE, ...removalsFrom(0, 60))).toBe(200)
    expect(await statusOf(MESSAGE_EVENTS, ...failuresFrom(50, 50))).toBe(200)
    const failure = await send(MESSAGE_EVENTS, ...failuresFrom(98, 4))
    expectRefusal(failure, 409, 'conflict', ['events[2].reason', 'events[3].reason'])
    expect([messageOf(failure), problemsOf(failure)]).toEqual([
      'The campaign would have more than 100 reasons for removals and failures: it has 100, and the report adds 2. Reuse existing names.',
      ['adds a reason to the campaign', 'adds a reason to the campaign'],
    ])
    const removal = await send(AUDIENCE, {}, { removed: 'another' })
    expectRefusal(removal, 409, 'conflict', ['members[1].removed'])
    expect(await countNames()).toEqual([1, REASONS_MAX])
  })

  it('are up to 25,000 dimensions times reasons if dimensions come first', async () => {
    expect(DIMENSION_REASONS_MAX).toBe(25_000)
    expect(await statusOf(AUDIENCE, ...dimensionsFrom(0, 500))).toBe(200)
    expect(await statusOf(MESSAGE_EVENTS, ...failuresFrom(0, 50))).toBe(200)
    const failure = await send(MESSAGE_EVENTS, { kind: 'failed', reason: 'r0' }, { kind: 'failed', reason: 'new' })
    expectRefusal(failure, 409, 'conflict', ['events[1].reason'])
    expect(messageOf(failure)).toBe(
      'The campaign would have 500 combinations of platform, locale and variation and 51 reasons for removals and failures; ' +
        'their product may be at most 25,000. Reuse existing names.',
    )
    const members = await send(AUDIENCE, { locale: 'l0' }, { locale: 'new', removed: 'another' })
    expectRefusal(members, 409, 'conflict', ['members[1]', 'members[1].removed'])
    expect(await countNames()).toEqual([500, 50])
    expect(await statusOf(AUDIENCE, { locale: 'l499', removed: 'r49' })).toBe(200)
  })

  it('are up to 25,000 dimensions times reasons if reasons come first, and with platforms alone', async () => {
    expect(await statusOf(MESSAGE_EVENTS, ...failuresFrom(0, REASONS_MAX))).toBe(200)
    expectRefusal(
      await send(AUDIENCE, ...dimensionsFrom(0, 251)),
      409,
      'conflict',
      dimensionsFrom(0, 251).map((_, index) => `members[${index}]`),
    )
    expect(await statusOf(AUDIENCE, ...dimensionsFrom(0, 250))).toBe(200)
    expect(await countNames()).toEqual([250, REASONS_MAX])
  })

  it('do not count reasons that statistics ignore, nor the reason of failures without one', async () => {
    await send(MESSAGE_EVENTS, ...failuresFrom(0, REASONS_MAX))
    const without = [{ kind: 'failed' }, { kind: 'failed', reason: 'unknown' }, { kind: 'sent', reason: 'late' }]
    expect(await statusOf(MESSAGE_EVENTS, ...without)).toBe(200)
    expect(await statusOf(AUDIENCE, { removed: 'unknown' })).toBe(200)
    expect(await countNames()).toEqual([1, REASONS_MAX])
  })

  it('are refused for all kinds at once, each new name at its first item', async () => {
    await send(AUDIENCE, ...dimensionsFrom(0, 999))
    await send(AUDIENCE, ...removalsFrom(0, 25))
    const reasons = Array.from({ length: 74 }, (_, index) => ({ removed: `s${index + 3}` }))
    const news = [{ locale: 'n1' }, { locale: 'n1', removed: 's1' }, { locale: 'n2', removed: 's2' }, ...reasons]
    const refused = await send(AUDIENCE, { locale: 'l1', removed: 'r1' }, ...news, ...news)
    const reasonFields = Array.from({ length: 76 }, (_, index) => `members[${index + 2}].removed`)
    expectRefusal(refused, 409, 'conflict', ['members[1]', 'members[3]', ...reasonFields])
    expect(messageOf(refused)).toBe(
      'The campaign would have more than 1,000 combinations of platform, locale and variation: it has 1,000, and the report adds 2; ' +
        'and more than 100 reasons for removals and failures: it has 25, and the report adds 76. Reuse existing names.',
    )
    expect(await countNames()).toEqual([1_000, 25])
  })

  it('have at most a thousand faults reported', async () => {
    const refused = await send(AUDIENCE, ...dimensionsFrom(0, 1_500))
    expect([refused.status, problemsOf(refused)?.length]).toEqual([409, 1_000])
    expect(messageOf(refused)).toContain('it has 0, and the report adds 1,500')
  })

  it('do not exceed the limit when many reports arrive at once', async () => {
    const reports = Array.from({ length: 8 }, (_, index) => dimensionsFrom(index * 200, 200))
    const statuses = await Promise.all(reports.map((members) => statusOf(AUDIENCE, ...members)))
    expect(statuses.filter((status) => status === 200)).toHaveLength(5)
    expect(statuses.filter((status) => status === 409)).toHaveLength(3)
    expect(await countNames()).toEqual([DIMENSIONS_MAX, 0])
  })

  it('are limited per campaign', async () => {
    await send(AUDIENCE, ...dimensionsFrom(0, DIMENSIONS_MAX))
    const other = await calls.makeCampaign()
    expect((await calls.send(AUDIENCE, other.id, reportOf(AUDIENCE, { locale: 'new' }))).status).toBe(200)
  })
})

describeOnPostgres('The names of a campaign in several processes', () => {
  it('do not exceed the limit, and each process accepts names that another claimed', async () => {
    const one = await startServer('postgres', {}, { withPipeline: false })
    const other = await startServer('postgres', {}, { withPipeline: false, beside: one })
    const [calls, others] = [reportCallsOf(one), reportCallsOf(other)]
    const campaign = await calls.makeCampaign()
    const sends = Array.from({ length: 8 }, (_, index) => {
      const report = reportOf(AUDIENCE, ...dimensionsFrom(index * 200, 200))
      return async (by: ReportCalls) => (await by.send(AUDIENCE, campaign.id, report)).status
    })
    const statuses = await Promise.all(sends.map((send, index) => send(index % 2 === 0 ? calls : others)))
    expect(statuses.filter((status) => status === 200)).toHaveLength(5)
    for (const by of [calls, others]) {
      const again: number[] = []
      for (const send of sends) again.push(await send(by))
      expect(again).toEqual(statuses)
    }
    await Promise.all([calls.close(), others.close()])
    await other.stop()
    await one.stop()
  })
})
