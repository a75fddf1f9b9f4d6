// Reports of audiences and message events without store or HTTP: what is refused beyond the schema, and which facts a report
// holds.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BOUNCE_REASONS, GROUPS, MESSAGE_KINDS, type MessageKind } from '../../src/core/campaigns/facts.ts'
import {
  memberFaults,
  membershipsOf,
  messageEventsOf,
  messageFaults,
  type Member,
  type MessageReport,
} from '../../src/core/campaigns/report.ts'

const NOW = Date.parse('2026-05-04T10:00:00Z')
const SETTINGS = { timezone: 'Europe/Berlin', clockSkewSeconds: 300 }
const CONTEXT = { campaign: 7, timezone: SETTINGS.timezone }

const member = (fields: Partial<Member> = {}): Member => ({
  customer_id: 'c1',
  platform: 'EMAIL',
  evaluated_at: '2026-05-04T09:00:00Z',
  ...fields,
})
const event = (fields: Partial<MessageReport> = {}): MessageReport => ({
  customer_id: 'c1',
  platform: 'EMAIL',
  kind: 'sent',
  time: '2026-05-04T09:00:00Z',
  ...fields,
})

const fieldsOf = (faults: readonly { readonly field: string }[]) => faults.map(({ field }) => field)
const memberFieldsOf = (fields: Partial<Member>) => fieldsOf(memberFaults([member(fields)], SETTINGS, NOW))
const eventFieldsOf = (fields: Partial<MessageReport>) => fieldsOf(messageFaults([event(fields)], SETTINGS, NOW))

/** A time as sent, and its instant; undefined if the time is refused. */
const TIMES: readonly (readonly [rule: string, sent: unknown, instant: string | undefined])[] = [
  ['an instant in UTC', '2026-05-04T09:00:00Z', '2026-05-04T09:00:00.000Z'],
  ['an instant with an offset', '2026-05-04T09:00:00.5+05:30', '2026-05-04T03:30:00.500Z'],
  ['a local time, in the time zone of the workspace', '2026-05-04T09:00', '2026-05-04T07:00:00.000Z'],
  ['a date alone, in the time zone of the workspace', '2026-05-04', '2026-05-03T22:00:00.000Z'],
  ['a local time that was skipped there', '2026-03-29T02:30:00', '2026-03-29T01:30:00.000Z'],
  ['a local time that occurred twice there', '2025-10-26T02:30:00', '2025-10-26T00:30:00.000Z'],
  ['seconds since the epoch', 1_777_888_800, '2026-05-04T10:00:00.000Z'],
  ['fractions of seconds', '1777888799.25', '2026-05-04T09:59:59.250Z'],
  ['milliseconds since the epoch', 1_777_888_800_001, '2026-05-04T10:00:00.001Z'],
  ['the first valid instant', 0, '1970-01-01T00:00:00.000Z'],
  ['the first valid local time', '1970-01-01T01:00', '1970-01-01T00:00:00.000Z'],
  ['the last instant within the clock skew', NOW + 300_000, '2026-05-04T10:05:00.000Z'],
  ['the first instant past the clock skew', NOW + 300_001, undefined],
  ['a local time past the clock skew only in its time zone', '2026-05-04T12:05:01', undefined],
  ['an instant before 1970', -1, undefined],
  ['a local time before 1970 only in its time zone', '1970-01-01T00:59', undefined],
  ['a day that its month does not have', '2026-02-30', undefined],
  ['a text that is not a time', 'yesterday', undefined],
  ['an empty text', '', undefined],
  ['null', null, undefined],
  ['a list', ['2026-05-04'], undefined],
]

describe('the time of a report', () => {
  it.each(TIMES)('is read or refused like user_time: %s', (_rule, sent, instant) => {
    const refused = instant === undefined
    expect(memberFieldsOf({ evaluated_at: sent })).toEqual(refused ? ['members[0].evaluated_at'] : [])
    expect(eventFieldsOf({ time: sent })).toEqual(refused ? ['events[0].time'] : [])
    if (refused) return
    const [membership] = membershipsOf([member({ evaluated_at: sent })], CONTEXT)
    const [message] = messageEventsOf([event({ time: sent })], CONTEXT)
    expect(new Date(membership?.evaluatedAt ?? NaN).toISOString()).toBe(instant)
    expect(new Date(message?.time ?? NaN).toISOString()).toBe(instant)
  })

  it('is refused with the reason: in the future, or not a time', () => {
    const late = '2026-05-04T17:30:00+02:00'
    const faults = memberFaults([member({ evaluated_at: late }), member({ evaluated_at: 'x' })], SETTINGS, NOW)
    expect(faults.map(({ problem }) => problem)).toEqual([
      'must not be in the future: 2026-05-04T15:30:00.000Z is after the current time, 2026-05-04T10:00:00.000Z',
      expect.stringContaining('must be a time from 1970 on: ISO 8601, such as 2026-05-04T10:00:00Z') as string,
    ])
  })

  it('may be in the future by the clock skew of the workspace', () => {
    const late = [event({ time: NOW + 60_000 })]
    expect(messageFaults(late, { ...SETTINGS, clockSkewSeconds: 60 }, NOW)).toEqual([])
    expect(fieldsOf(messageFaults(late, { ...SETTINGS, clockSkewSeconds: 59 }, NOW))).toEqual(['events[0].time'])
  })

  it('throws if it was never validated', () => {
    expect(() => membershipsOf([member({ evaluated_at: 'yesterday' })], CONTEXT)).toThrow(
      'the report contains an invalid time',
    )
    expect(() => messageEventsOf([event({ time: null })], CONTEXT)).toThrow('the report contains an invalid time')
  })
})

describe('the name of a locale or variation', () => {
  const names: [rule: string, name: string, isAccepted: boolean][] = [
    ['a letter', 'A', true],
    ['a digit', '1', true],
    ['a locale', 'pt-BR', true],
    ['letters of any script', 'ελληνικά', true],
    ['digits of any script', '٣', true],
    ['letters beyond the basic plane', '𝒜😀', true],
    ['spaces and signs after the first character', 'Blue, 50 % (new)', true],
    ['a property of every JavaScript object', 'constructor', true],
    ['a name that begins with all', 'allday', true],
    ['capitals', 'ALL_DAY', true],
    ['control_group without an underscore before it', 'control_group', true],
    ['_control_group in the middle', 'a_control_group_b', true],
    ['a name that begins with all_', 'all_locales', false],
    ['all_ alone', 'all_', false],
    ['a name that ends with _control_group', 'campaign_control_group', false],
    ['any name that ends with _control_group', 'a_control_group', false],
    ['all_ before _control_group', 'all_control_group', false],
    ['__proto__', '__proto__', false],
    ['a space first', ' A', false],
    ['a sign first', '-A', false],
    ['an emoji first', '😀', false],
    ['a combining mark first', '\u0301a', false],
    ['a line break', 'A\nB', false],
    ['a line break at the end', 'A\n', false],
    ['a delete character', 'A\u007f', false],
    ['a control character of Latin-1', 'A\u0085', false],
  ]
  it.each(names)('%s: %j is accepted: %s', (_rule, name, isAccepted) => {
    expect(memberFieldsOf({ locale: name })).toEqual(isAccepted ? [] : ['members[0].locale'])
    expect(memberFieldsOf({ variation: name })).toEqual(isAccepted ? [] : ['members[0].variation'])
  })
})

describe('a reason', () => {
  const reasons: [rule: string, reason: string, isAccepted: boolean][] = [
    ['letters and underscores', 'user_removed_due_to_opt_out', true],
    ['digits', '550', true],
    ['only underscores', '__proto__', true],
    ['capitals', 'Opt_out', false],
    ['spaces', 'opt out', false],
    ['other signs', 'opt-out', false],
    ['other letters', 'abgemeldet_ü', false],
    ['a line break at the end', 'opt_out\n', false],
  ]
  it.each(reasons)('%s: %j is accepted: %s', (_rule, reason, isAccepted) => {
    expect(memberFieldsOf({ removed: reason })).toEqual(isAccepted ? [] : ['members[0].removed'])
    for (const kind of MESSAGE_KINDS.filter((one) => one !== 'bounce'))
      expect(eventFieldsOf({ kind, reason })).toEqual(isAccepted ? [] : ['events[0].reason'])
  })

  it.each(BOUNCE_REASONS)('of a bounce may be %s', (reason) => {
    expect(eventFieldsOf({ kind: 'bounce', reason })).toEqual([])
  })

  it.each([{ reason: 'unknown' }, { reason: 'Hard_bounce' }, {}])('of a bounce must not be that of %o', (fields) => {
    expect(messageFaults([event({ kind: 'bounce', ...fields })], SETTINGS, NOW)).toEqual([
      { field: 'events[0].reason', problem: 'must be hard_bounce, soft_bounce or blocked if the kind is bounce' },
    ])
  })

  it('of a bounce is no second fault where the schema refused it', () => {
    expect(messageFaults([{ kind: 'bounce', reason: undefined }], SETTINGS, NOW)).toEqual([])
  })
})

describe('the faults of a report', () => {
  it('are all named at once, with the index of their item', () => {
    const wrong = member({ evaluated_at: 'x', locale: '-', variation: 'all_x', removed: 'A' })
    expect(fieldsOf(memberFaults([wrong, member(), { ...wrong, removed: 'a' }], SETTINGS, NOW))).toEqual([
      'members[0].evaluated_at',
      'members[0].variation',
      'members[0].locale',
      'members[0].removed',
      'members[2].evaluated_at',
      'members[2].variation',
      'members[2].locale',
    ])
    const events = [event(), event({ time: -1, reason: '!' }), event({ reason: '' })]
    expect(fieldsOf(messageFaults(events, SETTINGS, NOW))).toEqual([
      'events[1].time',
      'events[1].reason',
      'events[2].reason',
    ])
  })

  it('leave out what the schema has already refused', () => {
    const refused = { evaluated_at: undefined, locale: undefined, variation: undefined, removed: undefined }
    expect(memberFaults([undefined, refused], SETTINGS, NOW)).toEqual([])
    expect(messageFaults([undefined, { time: undefined, reason: undefined }], SETTINGS, NOW)).toEqual([])
  })
})

describe('the memberships of an audience', () => {
  it('have defaults for fields that were not sent', () => {
    expect(membershipsOf([member()], CONTEXT)).toEqual([
      {
        campaign: 7,
        customerId: 'c1',
        platform: 'EMAIL',
        evaluatedAt: Date.parse('2026-05-04T09:00:00Z'),
        group: 'target',
        variation: null,
        locale: null,
        removed: null,
      },
    ])
  })

  it.each(GROUPS)('hold every field that was sent, in the group %s', (group) => {
    const sent = member({ customer_id: 'c2', group, variation: 'A', locale: 'de', platform: 'tv', removed: 'gone' })
    expect(membershipsOf([sent], CONTEXT)).toEqual([
      {
        campaign: 7,
        customerId: 'c2',
        platform: 'TV',
        evaluatedAt: Date.parse('2026-05-04T09:00:00Z'),
        group,
        variation: 'A',
        locale: 'de',
        removed: 'gone',
      },
    ])
  })

  const platforms: [sent: string, stored: string][] = [
    ['email', 'EMAIL'],
    ['iOs', 'IOS'],
    ['ANDROID', 'ANDROID'],
    ['Fridge', 'Fridge'],
    ['unknown', 'unknown'],
    [' web', ' web'],
  ]
  it.each(platforms)('and message events of the platform %j are stored as %j', (sent, stored) => {
    expect(membershipsOf([member({ platform: sent })], CONTEXT)).toMatchObject([{ platform: stored }])
    expect(messageEventsOf([event({ platform: sent })], CONTEXT)).toMatchObject([{ platform: stored }])
  })
})

describe('the message events of a report', () => {
  it('have the customer id as device if none was sent', () => {
    expect(messageEventsOf([event()], CONTEXT)).toEqual([
      {
        campaign: 7,
        customerId: 'c1',
        platform: 'EMAIL',
        device: 'c1',
        kind: 'sent',
        time: Date.parse('2026-05-04T09:00:00Z'),
        messageId: null,
        reason: null,
      },
    ])
  })

  it.each(MESSAGE_KINDS)('hold every field that was sent, for the kind %s', (kind) => {
    const sent = event({ platform: 'IOS', kind, device_id: 'd1', message_id: 'm1', reason: 'gone' })
    expect(messageEventsOf([sent], CONTEXT)).toEqual([
      {
        campaign: 7,
        customerId: 'c1',
        platform: 'IOS',
        device: 'd1',
        kind,
        time: Date.parse('2026-05-04T09:00:00Z'),
        messageId: 'm1',
        reason: 'gone',
      },
    ])
  })
})

describe('the facts of a report', () => {
  const anyTime = fc.oneof(
    fc.integer({ min: 0, max: NOW }),
    fc.constantFrom('2026-05-04', '2026-03-29T02:30', '2025-10-26T02:30:00.5', '1777888799.5', '2026-05-04T09:00Z'),
  )
  const anyText = fc.string({ minLength: 1, maxLength: 3 })
  const anyMember: fc.Arbitrary<Member> = fc.record(
    {
      customer_id: anyText,
      platform: fc.constantFrom('EMAIL', 'web', 'Fridge'),
      evaluated_at: anyTime,
      group: fc.constantFrom(...GROUPS),
      variation: fc.constantFrom('A', 'B'),
      locale: fc.constantFrom('de', 'en'),
      removed: fc.constantFrom('gone', 'opt_out'),
    },
    { requiredKeys: ['customer_id', 'platform', 'evaluated_at'] },
  )
  const anyEvent: fc.Arbitrary<MessageReport> = fc.record(
    {
      customer_id: anyText,
      platform: fc.constantFrom('EMAIL', 'web', 'Fridge'),
      time: anyTime,
      kind: fc.constantFrom<MessageKind[]>(...MESSAGE_KINDS),
      device_id: anyText,
      message_id: anyText,
      reason: fc.constantFrom('gone', 'opt_out'),
    },
    { requiredKeys: ['customer_id', 'platform', 'time', 'kind'] },
  )

  /** Expects that `take` returns the same facts, reordered, for reordered items with reordered members. */
  function expectOrderless<Item extends object, Fact>(item: fc.Arbitrary<Item>, take: (items: Item[]) => Fact[]): void {
    const items = fc.array(item, { maxLength: 20 })
    const shuffled = items.chain((all) => {
      const order = fc.shuffledSubarray([...all.keys()], { minLength: all.length })
      return fc.tuple(fc.constant(all), order)
    })
    fc.assert(
      fc.property(shuffled, ([all, order]) => {
        const facts = take(all)
        const others = take(order.map((index) => withReversedMembers(all[index] as Item)))
        expect(others).toEqual(order.map((index) => facts[index]))
        // No state of an earlier report remains in a later one.
        expect(take(structuredClone(all))).toEqual(facts)
      }),
    )
  }

  it('do not depend on the order of its items or their members', () => {
    expectOrderless(anyMember, (members) => membershipsOf(members, CONTEXT))
    expectOrderless(anyEvent, (events) => messageEventsOf(events, CONTEXT))
  })
})

function withReversedMembers<Item extends object>(item: Item): Item {
  return Object.fromEntries(Object.entries(item).toReversed()) as Item
}
