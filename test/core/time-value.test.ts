// Time values as clients send them ("Time values", "The event's instant").
import { describe, expect, it } from 'vitest'
import { toJsonNumber } from '../../src/core/json/exact-number.ts'
import { decidingField, eventInstant, parseOffsetSeconds, parseTimeValue, toIso } from '../../src/core/time-value.ts'

const instant = (iso: string) => ({ kind: 'instant', ms: Date.parse(iso) })
const local = (iso: string) => ({ kind: 'local', ms: Date.parse(`${iso}Z`) })

describe('a time value', () => {
  const read: [value: unknown, expected: object][] = [
    // ISO 8601 with a zone is an instant.
    ['2026-05-04T10:00:00Z', instant('2026-05-04T10:00:00Z')],
    ['2026-05-04T10:00:00.5Z', instant('2026-05-04T10:00:00.500Z')],
    ['2026-05-04T10:00:00.123456789Z', instant('2026-05-04T10:00:00.123Z')],
    ['2026-05-04T10:00:00,25Z', instant('2026-05-04T10:00:00.250Z')],
    ['2026-05-04T10:00Z', instant('2026-05-04T10:00:00Z')],
    ['2026-05-04T10:00:00+05:30', instant('2026-05-04T04:30:00Z')],
    ['2026-05-04T10:00:00+0530', instant('2026-05-04T04:30:00Z')],
    ['2026-05-04T10:00:00-08:00', instant('2026-05-04T18:00:00Z')],
    ['2026-05-04T10:00-0000', instant('2026-05-04T10:00:00Z')],
    ['2026-05-04T23:59:59+15:00', instant('2026-05-04T08:59:59Z')],
    ['2024-02-29T00:00:00Z', instant('2024-02-29T00:00:00Z')],
    ['2024-12-31T23:59:59Z', instant('2024-12-31T23:59:59Z')],
    ['2026-02-28T00:00:00.000Z', instant('2026-02-28T00:00:00Z')],
    ['1970-01-01T00:00:00Z', instant('1970-01-01T00:00:00Z')],
    ['9999-12-31T23:59:59.999Z', instant('9999-12-31T23:59:59.999Z')],
    // What databases and languages print.
    ['2026-05-04 10:00:00Z', instant('2026-05-04T10:00:00Z')],
    ['2026-05-04 10:00:00.123456+02', instant('2026-05-04T08:00:00.123Z')],
    ['2026-05-04 10:00:00 +0530', instant('2026-05-04T04:30:00Z')],
    ['2026-05-04 10:00:00 UTC', instant('2026-05-04T10:00:00Z')],
    ['2026-05-04T10:00:00+02', instant('2026-05-04T08:00:00Z')],
    ['2026-05-04T10:00:00-11', instant('2026-05-04T21:00:00Z')],
    ['2026-05-04t10:00:00z', instant('2026-05-04T10:00:00Z')],
    ['2026-05-04t10:00:00.25+02:00', instant('2026-05-04T08:00:00.250Z')],
    // 24:00 and a leap second.
    ['2026-12-31T24:00:00Z', instant('2027-01-01T00:00:00Z')],
    ['2026-02-28T24:00Z', instant('2026-03-01T00:00:00Z')],
    ['2016-12-31T23:59:60Z', instant('2017-01-01T00:00:00Z')],
    ['2016-12-31T23:59:60.5Z', instant('2017-01-01T00:00:00.500Z')],
    ['2017-01-01T05:29:60+05:30', instant('2017-01-01T00:00:00Z')],
    // Without a zone it is a local time.
    ['2026-05-04 10:00:00', local('2026-05-04T10:00:00')],
    ['2026-05-04 10:00', local('2026-05-04T10:00:00')],
    ['2026-05-04 24:00', local('2026-05-05T00:00:00')],
    ['2026-05-04T10:00:00', local('2026-05-04T10:00:00')],
    ['2026-05-04T10:00', local('2026-05-04T10:00:00')],
    ['2026-05-04T10:00:00.75', local('2026-05-04T10:00:00.750')],
    ['2026-05-04', local('2026-05-04T00:00:00')],
    ['1970-01-01', local('1970-01-01T00:00:00')],
    // Seconds since the epoch, whole or fractional, and milliseconds from 100,000,000,000 on.
    [0, { kind: 'instant', ms: 0 }],
    [1_777_888_800, { kind: 'instant', ms: 1_777_888_800_000 }],
    [1_777_888_800.25, { kind: 'instant', ms: 1_777_888_800_250 }],
    [99_999_999_999, { kind: 'instant', ms: 99_999_999_999_000 }],
    [100_000_000_000, { kind: 'instant', ms: 100_000_000_000 }],
    [1_777_888_800_123, { kind: 'instant', ms: 1_777_888_800_123 }],
    // Digits after milliseconds are cut off, as in ISO 8601. 1777888800.251 × 1000 is 1777888800250.9999.
    [1_777_888_800_123.6, { kind: 'instant', ms: 1_777_888_800_123 }],
    [1_777_888_800.251, { kind: 'instant', ms: 1_777_888_800_251 }],
    [1_777_888_800.2519, { kind: 'instant', ms: 1_777_888_800_251 }],
    [0.0000001, { kind: 'instant', ms: 0 }],
    ['1777888800.2519999999999', { kind: 'instant', ms: 1_777_888_800_251 }],
    [toJsonNumber('1777888800.251234567'), { kind: 'instant', ms: 1_777_888_800_251 }],
    // The same numbers as strings.
    ['0', { kind: 'instant', ms: 0 }],
    ['1777888800', { kind: 'instant', ms: 1_777_888_800_000 }],
    ['1777888800.25', { kind: 'instant', ms: 1_777_888_800_250 }],
    ['100000000000', { kind: 'instant', ms: 100_000_000_000 }],
    ['001777888800', { kind: 'instant', ms: 1_777_888_800_000 }],
  ]
  it.each(read)('is read from %j', (value, expected) => {
    expect(parseTimeValue(value)).toEqual(expected)
  })

  const refused: Readonly<Record<string, readonly unknown[]>> = {
    'no time at all': ['', ' ', 'now', 'tomorrow', null, undefined, true, {}, [], [1], new Date(0), 5n],
    'a number beyond all times': [toJsonNumber('1610521604143693812'), toJsonNumber('1e400'), toJsonNumber('-1e400')],
    'in another notation': ['Mon, 04 May 2026 10:00:00 GMT', '04.05.2026', '2026/05/04', '20260504T10', '2026-W19-1'],
    'not quite ISO 8601': [
      '2026-5-4',
      '2026-05',
      '2026-124',
      '2026-05-04  10:00',
      '2026-05-04_10:00',
      '2026-05-04T',
      '2026-05-04 ',
    ],
    'of more or fewer digits': ['+2026-05-04', '-2026-05-04', '12026-05-04', '2026-05-04T10', '2026-05-04T1:00'],
    'surrounded by other text': [' 2026-05-04', '2026-05-04\n', '1777888800 ', ' 1777888800'],
    'not in the calendar': ['2026-02-29', '2100-02-29', '2026-04-31', '2026-13-01', '2026-00-10', '2026-05-00'],
    'not in the calendar, with a time': ['2026-02-29T00:00:00Z', '2026-04-31T00:00:00.000Z', '2026-13-01T00:00:00Z'],
    'not on the clock': [
      '2026-05-04T24:00:01',
      '2026-05-04T24:01',
      '2026-05-04T25:00',
      '2026-05-04T10:60',
      '2026-05-04T10:00:60Z',
      '2026-05-04T23:59:61Z',
      '2026-05-04T24:59:60Z',
    ],
    'in other marks or digits': [
      '2026-05-04 10.00.00Z',
      '2026-05-04T10.00.00Z',
      '2026-05-04T1a:00:00.000Z',
      '2026-05-04T10:00:0:Z',
      '2026-05-04T10:00:00,0a0Z',
    ],
    'invalid in its fraction': ['2026-05-04T10:00:00.Z', '2026-05-04T10:00:00.1234567890Z', '2026-05-04T10:00.5Z'],
    'invalid in its zone': [
      '2026-05-04T10:00:00+5',
      '2026-05-04T10:00:00+05:',
      '2026-05-04T10:00:00+053',
      '2026-05-04T10:00:00+05:60',
      '2026-05-04T10:00:00 Z',
      '2026-05-04T10:00:00UTC',
      '2026-05-04 10:00:00  Z',
      '2026-05-04 10:00:00 +2',
      '2026-05-04T10:00CET',
    ],
    'in a zone too far from UTC': ['2026-05-04T10:00:00+15:01', '2026-05-04T10:00:00-16:00'],
    'a date with zone': ['2026-05-04Z', '2026-05-04+02:00'],
    'before 1970': ['1969-12-31T23:59:59Z', '1970-01-01T00:59:59+01:00', '1969-12-31', '0070-01-01', -1, -0.001, '-1'],
    'past the year 9999': ['9999-12-31T23:59:59-01:00', 253_402_300_800_000, 1e300, Infinity],
    'not a plain number': ['1e9', '0x10', '1_777', '.5', '5.', '+5', 'Infinity', 'NaN', '١٢', Number.NaN],
  }
  const cases = Object.entries(refused).flatMap(([what, values]) => values.map((value) => [what, value] as const))
  it.each(cases)('that is %s is refused: %o', (_what, value) => {
    expect(parseTimeValue(value)).toBeUndefined()
  })

  it('is written in ISO 8601, in UTC, with milliseconds', () => {
    expect([0, 1_777_888_800_123, 253_402_300_799_999].map(toIso)).toEqual([
      '1970-01-01T00:00:00.000Z',
      '2026-05-04T10:00:00.123Z',
      '9999-12-31T23:59:59.999Z',
    ])
  })
})

describe('an offset in seconds', () => {
  const read: [unknown, number][] = [
    [0, 0],
    [19_800, 19_800],
    [-54_000, -54_000],
    [54_000, 54_000],
    ['19800', 19_800],
    ['-28800', -28_800],
    ['+3600', 3_600],
    ['3600.0', 3_600],
    [toJsonNumber('3600.00000000000000001'), 3_600],
  ]
  it.each(read)('is read from %j', (value, seconds) => {
    expect(parseOffsetSeconds(value)).toBe(seconds)
  })

  const refused: unknown[] = [
    54_001,
    toJsonNumber('1610521604143693812'),
    toJsonNumber('1e400'),
    -54_001,
    0.5,
    '0.5',
    '',
    ' 0',
    '+05:30',
    'Z',
    '1e3',
    null,
    undefined,
    true,
    [],
    {},
  ]
  it.each(refused.map((value) => [value]))('is not read from %o', (value) => {
    expect(parseOffsetSeconds(value)).toBeUndefined()
  })
})

describe("the event's instant", () => {
  const at = (text: string | undefined) => (text === undefined ? undefined : parseTimeValue(text))
  const RECEIVED = '2026-07-01T12:00:00.000Z'

  /** In a workspace in Europe/Berlin, two hours east of UTC in July. */
  const cases: [
    user: string | undefined,
    current: string | undefined,
    offset: number | undefined,
    decides: string,
    expected: string,
  ][] = [
    // user_time is an instant: nothing else counts.
    ['2026-07-01T10:00:00Z', undefined, undefined, 'user_time', '2026-07-01T10:00:00.000Z'],
    ['2026-07-01T10:00:00+03:00', '2026-07-01T11:00:00Z', -3600, 'user_time', '2026-07-01T07:00:00.000Z'],
    // user_time has no zone: the offset, else current_time, else the workspace's zone.
    ['2026-07-01T10:00:00', '2026-07-01T11:00:00Z', 19_800, 'user_time', '2026-07-01T04:30:00.000Z'],
    ['2026-07-01T10:00:00', undefined, -3600, 'user_time', '2026-07-01T11:00:00.000Z'],
    ['2026-07-01T10:00:00', undefined, 0, 'user_time', '2026-07-01T10:00:00.000Z'],
    ['2026-07-01T10:00:00', '2026-07-01T11:00:00Z', undefined, 'current_time', '2026-07-01T11:00:00.000Z'],
    ['2026-07-01T10:00:00', '2026-07-01T11:00:00', undefined, 'current_time', '2026-07-01T11:00:00.000Z'],
    ['2026-07-01T10:00:00', undefined, undefined, 'user_time', '2026-07-01T08:00:00.000Z'],
    ['2026-07-01', undefined, undefined, 'user_time', '2026-06-30T22:00:00.000Z'],
    // No user_time: current_time, in UTC if it has no zone; else the time of receipt.
    [undefined, '2026-07-01T11:00:00+02:00', undefined, 'current_time', '2026-07-01T09:00:00.000Z'],
    [undefined, '2026-07-01T11:00:00', undefined, 'current_time', '2026-07-01T11:00:00.000Z'],
    [undefined, '2026-07-01T11:00:00', 7200, 'current_time', '2026-07-01T11:00:00.000Z'],
    [undefined, undefined, undefined, 'user_time', RECEIVED],
    [undefined, undefined, 7200, 'user_time', RECEIVED],
  ]
  it.each(cases)(
    'with user_time %s, current_time %s and offset %s is decided by %s: %s',
    (user, current, offset, decides, expected) => {
      const times = { userTime: at(user), currentTime: at(current), offsetSeconds: offset }
      expect(toIso(eventInstant(times, 'Europe/Berlin', Date.parse(RECEIVED)))).toBe(expected)
      expect(decidingField(times)).toBe(decides)
    },
  )
})
