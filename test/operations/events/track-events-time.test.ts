// How Track Events determines the time of an event, through real HTTP on every store ("Time values", "The event's instant", "Future
// events").
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ErrorBody } from '../../../src/http/answers/error-answer.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { trackingOf, type Tracking } from '../../support/calls/tracking.ts'

const RECEIVED = '2026-07-01T12:00:00.000Z'
/** Two hours east of UTC in July. */
const TIMEZONE = 'Europe/Berlin'

interface Times {
  readonly user_time?: unknown
  readonly current_time?: unknown
  readonly user_timezone_offset?: unknown
}

describeEachStore('The time of an event (track_events)', (kind) => {
  let server: TestServer
  let tracking: Tracking
  let users = 0

  beforeAll(async () => {
    server = await startServer(kind)
    tracking = trackingOf(server, await server.makeWorkspace({ timezone: TIMEZONE }))
    server.setClock(Date.parse(RECEIVED))
  })
  afterAll(() => server.stop())

  const send = (customer_id: string, times: readonly Times[], to = tracking) => {
    return to.events({ type: 'event', customer_id, actions: times.map((fields) => ({ action: 'A', ...fields })) })
  }

  async function eventOf(fields: Times) {
    const customer_id = `user-${++users}`
    await tracking.fateOf(await send(customer_id, [fields]))
    return (await tracking.listEvents({ customer_id })).body.data[0]
  }

  const instants: [rule: string, fields: Times, time: string][] = [
    ['is the time of receipt if no time is sent', {}, RECEIVED],
    ['is the time of receipt if only an offset is sent', { user_timezone_offset: 3600 }, RECEIVED],
    ['is read from user_time with a zone', { user_time: '2026-07-01T10:00:00+05:30' }, '2026-07-01T04:30:00.000Z'],
    [
      'is read from user_time with a zone without a colon',
      { user_time: '2026-07-01T10:00:00+0530' },
      '2026-07-01T04:30:00.000Z',
    ],
    [
      'is read from user_time in UTC with a fraction',
      { user_time: '2026-07-01T10:00:00.25Z' },
      '2026-07-01T10:00:00.250Z',
    ],
    ['is read from user_time in epoch seconds', { user_time: 1_782_900_000 }, '2026-07-01T10:00:00.000Z'],
    ['is read from user_time in fractional epoch seconds', { user_time: 1_782_900_000.5 }, '2026-07-01T10:00:00.500Z'],
    ['is read from user_time in epoch milliseconds', { user_time: 1_782_900_000_250 }, '2026-07-01T10:00:00.250Z'],
    ['is read from user_time in epoch seconds as a string', { user_time: '1782900000' }, '2026-07-01T10:00:00.000Z'],
    [
      'is read from user_time in epoch milliseconds as a string',
      { user_time: '1782900000250' },
      '2026-07-01T10:00:00.250Z',
    ],
    [
      'is read as epoch milliseconds from 100,000,000,000 on',
      { user_time: 100_000_000_000 },
      '1973-03-03T09:46:40.000Z',
    ],
    ['may be the first instant of 1970', { user_time: '1970-01-01T00:00:00Z' }, '1970-01-01T00:00:00.000Z'],
    [
      'is user_time with a zone, even if other times are sent',
      { user_time: '2026-07-01T10:00:00Z', current_time: '2026-07-01T11:00:00Z', user_timezone_offset: 7200 },
      '2026-07-01T10:00:00.000Z',
    ],
    [
      'is user_time without a zone by the offset',
      { user_time: '2026-07-01T10:00:00', current_time: '2026-07-01T11:00:00Z', user_timezone_offset: 19_800 },
      '2026-07-01T04:30:00.000Z',
    ],
    [
      'is user_time without a zone by the offset as a string',
      { user_time: '2026-07-01T01:00:00', user_timezone_offset: '-28800' },
      '2026-07-01T09:00:00.000Z',
    ],
    [
      'is current_time if user_time has neither zone nor offset',
      { user_time: '2026-07-01T10:00:00', current_time: '2026-07-01T11:00:00Z' },
      '2026-07-01T11:00:00.000Z',
    ],
    [
      'is user_time in the time zone of the workspace if it is sent alone without a zone',
      { user_time: '2026-07-01T10:00' },
      '2026-07-01T08:00:00.000Z',
    ],
    [
      'is the start of a date in the time zone of the workspace',
      { user_time: '2026-07-01' },
      '2026-06-30T22:00:00.000Z',
    ],
    [
      'is moved on by the gap for a skipped local time',
      { user_time: '2026-03-29T02:30:00' },
      '2026-03-29T01:30:00.000Z',
    ],
    [
      'is the first of a local time that occurred twice',
      { user_time: '2025-10-26T02:30:00' },
      '2025-10-26T00:30:00.000Z',
    ],
    [
      'is read from current_time with a zone',
      { current_time: '2026-07-01T10:00:00-02:00' },
      '2026-07-01T12:00:00.000Z',
    ],
    ['is current_time in UTC if it has no zone', { current_time: '2026-07-01T10:00:00' }, '2026-07-01T10:00:00.000Z'],
    [
      'is current_time in UTC if it has no zone, even with an offset',
      { current_time: '2026-07-01T10:00:00', user_timezone_offset: 7200 },
      '2026-07-01T10:00:00.000Z',
    ],
  ]
  it.each(instants)('%s', async (_rule, fields, time) => {
    const event = await eventOf(fields)
    // A shared log stamps the receipt by its own clock.
    const isReceipt = kind !== 'sqlite' && fields.user_time === undefined && fields.current_time === undefined
    expect(event?.time).toBe(isReceipt ? event?.received_at : time)
  })

  const refusals: [rule: string, fields: Times, names: (keyof Times)[]][] = [
    ['a user_time that is not a time', { user_time: 'yesterday' }, ['user_time']],
    ['a current_time that is not a time', { current_time: '01.07.2026' }, ['current_time']],
    [
      'an invalid user_time and current_time',
      { user_time: '', current_time: '2026-02-30' },
      ['user_time', 'current_time'],
    ],
    ['a user_time before 1970', { user_time: '1969-12-31T23:59:59Z' }, ['user_time']],
    ['a negative user_time', { user_time: -1 }, ['user_time']],
    [
      'a user_time before 1970 by its offset',
      { user_time: '1970-01-01T00:59:59', user_timezone_offset: 3600 },
      ['user_time'],
    ],
    ['a user_time before 1970 by the time zone of the workspace', { user_time: '1970-01-01' }, ['user_time']],
    ['a user_time of another type', { user_time: true }, ['user_time']],
    ['a user_time that is null', { user_time: null }, ['user_time']],
    ['a current_time that is null', { current_time: null }, ['current_time']],
    ['an offset that is null', { user_timezone_offset: null }, ['user_timezone_offset']],
    ['an offset of more than 15 hours', { user_timezone_offset: 54_001 }, ['user_timezone_offset']],
    ['an offset of less than -15 hours', { user_timezone_offset: '-54001' }, ['user_timezone_offset']],
    ['a fractional offset', { user_timezone_offset: 0.5 }, ['user_timezone_offset']],
    ['an offset that is not a number', { user_timezone_offset: '+05:30' }, ['user_timezone_offset']],
  ]
  it.each(refusals)('cannot come from %s', async (_rule, fields, names) => {
    const answer = await send('refused', [{}, fields])
    expectRefusal(
      answer,
      400,
      'invalid_request',
      names.map((name) => `actions[1].${name}`),
    )
  })

  it('may have an offset of up to 15 hours in both directions', async () => {
    const at = async (user_timezone_offset: number) => {
      return (await eventOf({ user_time: '2026-06-01T12:00:00', user_timezone_offset }))?.time
    }
    expect(await at(54_000)).toBe('2026-05-31T21:00:00.000Z')
    expect(await at(-54_000)).toBe('2026-06-02T03:00:00.000Z')
  })

  const future: [rule: string, fields: Times, name: keyof Times | undefined][] = [
    ['five minutes after receipt, which is allowed', { user_time: '2026-07-01T12:05:00Z' }, undefined],
    ['a millisecond more', { user_time: '2026-07-01T12:05:00.001Z' }, 'user_time'],
    ['a day more', { user_time: '2026-07-02T12:00:00Z' }, 'user_time'],
    ['in epoch seconds', { user_time: 1_782_907_501 }, 'user_time'],
    ['by current_time', { current_time: '2026-07-01T12:05:01' }, 'current_time'],
    ['by the offset', { user_time: '2026-07-01T12:05:01', user_timezone_offset: 0 }, 'user_time'],
    ['by the time zone of the workspace', { user_time: '2026-07-01T14:05:01' }, 'user_time'],
    ['by the local time but not by the instant, which is allowed', { user_time: '2026-07-01T14:05:00' }, undefined],
    ['by current_time if that decides', { user_time: '2020-01-01', current_time: '2026-07-02' }, 'current_time'],
    [
      'by current_time although user_time decides, which is allowed',
      { user_time: 0, current_time: '2030-01-01' },
      undefined,
    ],
  ]
  it.each(future)('is refused if it is in the future: %s', async (_rule, fields, name) => {
    const answer = await send('future', [{}, fields])
    const faults = (answer.body as unknown as { error?: { details: { field: string }[] } }).error?.details ?? []
    expect(faults.map(({ field }) => field)).toEqual(name === undefined ? [] : [`actions[1].${name}`])
    expect(answer.status).toBe(name === undefined ? 200 : 400)
  })

  const problems: [rule: string, fields: Times, problem: string][] = [
    [
      'a future time as it was read, and the current time',
      { user_time: '2026-07-01T16:00:00' },
      'must not be in the future: 2026-07-01T14:00:00.000Z is after the current time, 2026-07-01T12:00:00.000Z',
    ],
    [
      'an example of a valid time',
      { user_time: 'soon' },
      'must be a time from 1970 on: ISO 8601, such as 2026-05-04T10:00:00Z, or epoch seconds or milliseconds as a number or string',
    ],
  ]
  it.each(problems)('is refused with %s', async (_rule, fields, problem) => {
    const { body } = await send('told', [fields])
    expect((body as unknown as ErrorBody).error.details).toEqual([{ field: 'actions[0].user_time', problem }])
  })

  it('may be in the future by the clock skew of the workspace', async () => {
    const strict = trackingOf(server, await server.makeWorkspace({ clockSkewSeconds: 0 }))
    expect((await send('c1', [{ user_time: RECEIVED }], strict)).status).toBe(200)
    const late = await send('c1', [{ user_time: '2026-07-01T12:00:00.001Z' }], strict)
    expectRefusal(late, 400, 'invalid_request', ['actions[0].user_time'])
  })
})
