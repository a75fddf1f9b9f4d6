// Calendar arithmetic in IANA time zones: offsets, days, and clock times that occur twice or not at all.
import { describe, expect, it, vi } from 'vitest'
import {
  DAY_MS,
  fromCalendarDate,
  isTimeZone,
  isUnambiguousZone,
  localDay,
  localToInstant,
  toCalendarDate,
  zoneOffsetMs,
} from '../../src/core/time-zone.ts'

const HOUR = 3_600

describe('an IANA time zone', () => {
  const cases: [zone: string, isValid: boolean][] = [
    ['UTC', true],
    ['Europe/Berlin', true],
    ['Asia/Kolkata', true],
    ['America/Argentina/Buenos_Aires', true],
    ['Etc/GMT+12', true],
    ['Europe/Atlantis', false],
    ['Berlin', false],
    ['+02:00', false],
    ['-0800', false],
    ['', false],
    [' UTC', false],
    ['UTC\u0000', false],
    ['constructor', false],
  ]
  it.each(cases)('%j is valid: %s', (zone, isValid) => {
    expect([isTimeZone(zone), isUnambiguousZone(zone)]).toEqual([isValid, isValid])
  })

  it.each(['BST', 'IST', 'CST', 'pst', 'SystemV/PST8'])('is not %s, though the runtime knows it', (zone) => {
    expect([isTimeZone(zone), isUnambiguousZone(zone)]).toEqual([true, false])
  })

  it.each(['CET', 'EST', 'MST7MDT', 'PRC', 'US/Pacific', 'GMT', 'Etc/GMT+5'])('may be named %s', (zone) => {
    expect(isUnambiguousZone(zone)).toBe(true)
  })
})

describe("a zone's offset", () => {
  /** Seconds east of UTC, a millisecond before a change and at it. */
  const changes: [zone: string, at: string, before: number, after: number][] = [
    ['Europe/Berlin', '2026-03-29T01:00:00Z', HOUR, 2 * HOUR],
    ['Europe/Berlin', '2026-10-25T01:00:00Z', 2 * HOUR, HOUR],
    ['America/New_York', '2026-03-08T07:00:00Z', -5 * HOUR, -4 * HOUR],
    ['America/Sao_Paulo', '2018-11-04T03:00:00Z', -3 * HOUR, -2 * HOUR],
    ['Australia/Lord_Howe', '2026-10-03T15:30:00Z', 10.5 * HOUR, 11 * HOUR],
    ['Asia/Kathmandu', '1985-12-31T18:30:00Z', 5.5 * HOUR, 5.75 * HOUR],
    ['Pacific/Apia', '2011-12-30T10:00:00Z', -10 * HOUR, 14 * HOUR],
    // Not at a quarter of an hour.
    ['America/St_Johns', '2006-04-02T03:31:00Z', -3.5 * HOUR, -2.5 * HOUR],
    ['America/St_Johns', '2006-10-29T02:31:00Z', -2.5 * HOUR, -3.5 * HOUR],
    ['Africa/Monrovia', '1972-01-07T00:44:30Z', -2_670, 0],
  ]
  it.each(changes)('in %s changes at %s from %i to %i seconds', (zone, at, before, after) => {
    const instant = Date.parse(at)
    const around = [instant - 900_000, instant - 1, instant, instant + 900_000]
    expect(around.map((near) => zoneOffsetMs(zone, near) / 1000)).toEqual([before, before, after, after])
    // Again, from the cache and in another order.
    expect(around.toReversed().map((near) => zoneOffsetMs(zone, near) / 1000)).toEqual([after, after, before, before])
  })

  it('in UTC is always 0', () => {
    expect([0, 1_777_888_800_123].map((instant) => zoneOffsetMs('UTC', instant))).toEqual([0, 0])
  })
})

/** Zones with peculiarities: half hours, days skipped, summer in winter, winter in Ramadan, seconds. */
const ODD_ZONES = `
  Europe/Berlin Europe/London Europe/Dublin Europe/Lisbon Europe/Moscow Europe/Volgograd America/New_York
  America/St_Johns America/Sao_Paulo America/Boa_Vista America/Caracas America/Nuuk America/Havana
  America/Argentina/Tucuman America/Santiago Africa/Casablanca Africa/Monrovia Africa/Cairo Asia/Kathmandu
  Asia/Kolkata Asia/Pyongyang Asia/Gaza Asia/Tehran Australia/Lord_Howe Australia/Adelaide Pacific/Apia
  Pacific/Chatham Pacific/Kiritimati Antarctica/Troll Antarctica/Casey Antarctica/Macquarie Etc/GMT+12
`
  .trim()
  .split(/\s+/)
const YEAR_10_000 = Date.UTC(10_000, 0, 1)

/** Reads the offset of a zone from the parts of a clock time by Intl. */
function readClock(zone: string): (instant: number) => number {
  const numeric = 'numeric' as const
  const time = { hour: numeric, minute: numeric, second: numeric, hourCycle: 'h23' } as const
  const date = { year: numeric, month: numeric, day: numeric, calendar: 'iso8601' } as const
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, ...date, ...time })
  return (instant) => {
    const second = Math.floor(instant / 1000) * 1000
    const parts = format.formatToParts(second).map(({ type, value }) => [type, Number(value)] as const)
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second: seconds = 0 } = Object.fromEntries(parts)
    return Date.UTC(year, month - 1, day, hour, minute, seconds) - second
  }
}

describe('the cached offsets of a zone', () => {
  it.each(ODD_ZONES)('equal those of Intl for %s, at any time that can be written', (zone) => {
    const offsetAt = readClock(zone)
    const instants: number[] = []
    for (let index = 0; index < 300; index++) {
      // Irrational steps, which coincide with no period of days, weeks or years.
      instants.push(Math.floor((index * 0.618_033_988_75 * YEAR_10_000) % YEAR_10_000))
      instants.push(Math.floor((index * 0.618_033_988_75 * Date.UTC(2128, 0, 1)) % Date.UTC(2128, 0, 1)))
    }
    for (let day = -2; day < 366 * 2; day++) instants.push(Date.UTC(2000, 0, 1) + day * DAY_MS)
    const wrong = instants.filter((instant) => zoneOffsetMs(zone, instant) !== offsetAt(instant))
    expect(wrong.map((instant) => new Date(instant).toISOString())).toEqual([])
  })

  it.each(ODD_ZONES)('change with the clock of %s to the second', (zone) => {
    const offsetAt = readClock(zone)
    const wrong: string[] = []
    for (let day = 0; day < 365 * 60; day++) {
      let [before, after] = [day * DAY_MS, (day + 1) * DAY_MS]
      const offset = zoneOffsetMs(zone, before)
      if (zoneOffsetMs(zone, after) === offset) continue
      while (after - before > 1) {
        const middle = Math.floor((before + after) / 2)
        if (zoneOffsetMs(zone, middle) === offset) before = middle
        else after = middle
      }
      const around = [before - 999, before, after, after + 999]
      if (around.some((at) => zoneOffsetMs(zone, at) !== offsetAt(at))) wrong.push(new Date(after).toISOString())
    }
    expect(wrong).toEqual([])
  })

  it('give new times in cached years without asking Intl again', () => {
    const asked = vi.spyOn(Intl.DateTimeFormat.prototype, 'formatToParts')
    const short = Intl.DateTimeFormat.prototype as { readonly format: unknown }
    const askedShort = vi.spyOn(short, 'format', 'get')
    const countCalls = () => asked.mock.calls.length + askedShort.mock.calls.length
    try {
      const everyDay = Array.from({ length: 57 * 365 }, (_, day) => day * DAY_MS)
      for (const day of everyDay) localToInstant('Europe/Vienna', day)
      const first = countCalls()
      // 55 spans of 129 steps, and two changes a year found by bisection.
      expect(first).toBeLessThan(10_000)
      for (const day of everyDay) localToInstant('Europe/Vienna', day + 1_000_000)
      expect(countCalls() - first).toBe(0)
    } finally {
      asked.mockRestore()
      askedShort.mockRestore()
    }
  })
})

describe('a clock time in a zone', () => {
  const cases: [what: string, zone: string, shown: string, instant: string][] = [
    ['in winter', 'Europe/Berlin', '2026-01-15T12:00:00', '2026-01-15T11:00:00Z'],
    ['in summer', 'Europe/Berlin', '2026-07-15T12:00:00', '2026-07-15T10:00:00Z'],
    ['the last before a gap', 'Europe/Berlin', '2026-03-29T01:59:59.999', '2026-03-29T00:59:59.999Z'],
    ['skipped, moved on by the length of the gap', 'Europe/Berlin', '2026-03-29T02:30:00', '2026-03-29T01:30:00Z'],
    ['the first that is skipped', 'Europe/Berlin', '2026-03-29T02:00:00', '2026-03-29T01:00:00Z'],
    ['the first after a gap', 'Europe/Berlin', '2026-03-29T03:00:00', '2026-03-29T01:00:00Z'],
    ['the last before an overlap', 'Europe/Berlin', '2026-10-25T01:59:59', '2026-10-24T23:59:59Z'],
    ['that occurs twice, the first', 'Europe/Berlin', '2026-10-25T02:30:00', '2026-10-25T00:30:00Z'],
    ['the first after an overlap', 'Europe/Berlin', '2026-10-25T03:00:00', '2026-10-25T02:00:00Z'],
    ['skipped west of Greenwich', 'America/New_York', '2026-03-08T02:30:00', '2026-03-08T07:30:00Z'],
    ['that occurs twice west of Greenwich', 'America/New_York', '2026-11-01T01:30:00', '2026-11-01T05:30:00Z'],
    ['a midnight that is skipped', 'America/Sao_Paulo', '2018-11-04T00:00:00', '2018-11-04T03:00:00Z'],
    ['a midnight that occurs twice', 'America/Havana', '2026-11-01T00:30:00', '2026-11-01T04:30:00Z'],
    ['skipped by half an hour', 'Australia/Lord_Howe', '2026-10-04T02:15:00', '2026-10-03T15:45:00Z'],
    ['that occurs twice by half an hour', 'Australia/Lord_Howe', '2026-04-05T01:45:00', '2026-04-04T14:45:00Z'],
    ['on a skipped day', 'Pacific/Apia', '2011-12-30T12:00:00', '2011-12-30T22:00:00Z'],
    ['on the day after a skipped one', 'Pacific/Apia', '2011-12-31T00:00:00', '2011-12-30T10:00:00Z'],
    ['on the day before a skipped one', 'Pacific/Apia', '2011-12-29T23:59:59', '2011-12-30T09:59:59Z'],
    ['skipped a minute past midnight', 'America/St_Johns', '2006-04-02T00:30:00', '2006-04-02T04:00:00Z'],
    ['without daylight saving', 'Asia/Kolkata', '2026-05-04T00:00:00', '2026-05-03T18:30:00Z'],
    ['in UTC', 'UTC', '2026-05-04T00:00:00', '2026-05-04T00:00:00Z'],
  ]
  it.each(cases)('%s: in %s %s is %s', (_what, zone, shown, instant) => {
    expect(new Date(localToInstant(zone, Date.parse(`${shown}Z`)))).toEqual(new Date(instant))
  })

  it('converts to an instant and back unchanged, throughout a year with clock changes', () => {
    const wrong: string[] = []
    const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'Pacific/Chatham']
    const [start, end] = [Date.parse('2026-01-01T00:00:00Z'), Date.parse('2027-01-01T00:00:00Z')]
    for (const zone of zones) {
      for (let instant = start; instant < end; instant += 29 * 60_000) {
        const shown = instant + zoneOffsetMs(zone, instant)
        const back = localToInstant(zone, shown)
        // The second of two equal clock times gives the first, at most an hour earlier.
        const isSame = back + zoneOffsetMs(zone, back) === shown
        const isFirst = back <= instant && instant - back <= HOUR * 1000
        if (!isSame || !isFirst) wrong.push(`${zone} ${new Date(instant).toISOString()}`)
      }
    }
    expect(wrong).toEqual([])
  })
})

describe('a day', () => {
  const days: [zone: string, instant: string, day: string][] = [
    ['UTC', '2026-05-04T23:59:59.999Z', '2026-05-04'],
    ['Europe/Berlin', '2026-05-04T21:59:59.999Z', '2026-05-04'],
    ['Europe/Berlin', '2026-05-04T22:00:00Z', '2026-05-05'],
    ['America/Los_Angeles', '2026-05-04T06:59:59Z', '2026-05-03'],
    ['Asia/Kolkata', '2026-05-04T18:30:00Z', '2026-05-05'],
    ['Pacific/Apia', '2011-12-30T09:59:59Z', '2011-12-29'],
    ['Pacific/Apia', '2011-12-30T10:00:00Z', '2011-12-31'],
  ]
  it.each(days)('in %s at %s is %s', (zone, instant, day) => {
    expect(toCalendarDate(localDay(zone, Date.parse(instant)))).toBe(day)
  })

  const dates: [date: string, day: number][] = [
    ['1970-01-01', 0],
    ['1970-01-02', 1],
    ['1969-12-31', -1],
    ['2024-02-29', 19_782],
  ]
  it.each(dates)('of the date %s has the number %i', (date, day) => {
    expect(fromCalendarDate(date)).toBe(day)
    expect(toCalendarDate(day)).toBe(date)
  })

  const others = ['2026-02-29', '2026-04-31', '2026-13-01', '2026-1-1', '2026-01-01T00:00', ' 2026-01-01', '']
  it.each(others)('is not read from %j', (text) => {
    expect(fromCalendarDate(text)).toBeUndefined()
  })
})
