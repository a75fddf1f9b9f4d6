// The rules of email preferences, without store or HTTP: what a request changes, and how the preferences of two users merge.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  changeByImport,
  changePreference,
  mergePreferences,
  NOTHING_SET,
  nothingSetFor,
  OPT_IN_STATUSES,
  recordPreferenceChange,
  toOptIn,
  toOptInStatus,
  type OptIn,
  type OptInStatus,
  type Preference,
  type PreferenceRequest,
} from '../../src/core/users/preference.ts'

const ACTIVE = new Set(['news', 'offers', 'events'])

/** Preferences in which everything was decided at the same time. */
function decided(status: OptInStatus | null, categories: OptIn['categories'], at: number): Preference {
  const entries = Object.entries(categories).map(([name, isIn]) => [name, [isIn, at] as const])
  return { status: status && [status, at], categories: Object.fromEntries(entries), updatedAt: at }
}

describe('a request', () => {
  const cases: [rule: string, before: Preference, request: PreferenceRequest, after: OptIn][] = [
    [
      'sets the status and leaves the categories',
      decided('OPTED_OUT', { news: true }, 1),
      { status: 'DOUBLE_OPTED_IN' },
      { status: 'DOUBLE_OPTED_IN', categories: { news: true } },
    ],
    [
      'sets the named categories; others stay',
      decided('OPTED_IN', { news: true, offers: false }, 1),
      { categories: { offers: true, events: false } },
      { status: 'OPTED_IN', categories: { news: true, offers: true, events: false } },
    ],
    [
      'opts out if it leaves at least one category false and none true',
      decided('OPTED_IN', { news: true }, 1),
      { categories: { news: false } },
      { status: 'OPTED_OUT', categories: { news: false } },
    ],
    [
      'opts out if it leaves no category true, even if it sent another status',
      NOTHING_SET,
      { status: 'OPTED_IN', categories: { news: false } },
      { status: 'OPTED_OUT', categories: { news: false } },
    ],
    [
      'keeps the status it sent if it leaves one category true',
      decided(null, { offers: true }, 1),
      { status: 'OPTED_IN', categories: { news: false } },
      { status: 'OPTED_IN', categories: { offers: true, news: false } },
    ],
    [
      'counts a category that was never set as neither true nor false',
      NOTHING_SET,
      { categories: { news: true } },
      { status: 'OPT_IN_PENDING', categories: { news: true } },
    ],
    [
      'with empty categories opts out if all stored ones are false',
      decided('OPTED_IN', { news: false }, 1),
      { categories: {} },
      { status: 'OPTED_OUT', categories: { news: false } },
    ],
    [
      'with empty categories changes nothing if none was ever set',
      decided('OPTED_IN', {}, 1),
      { categories: {} },
      { status: 'OPTED_IN', categories: {} },
    ],
    [
      'without categories opts in even if all stored ones are false',
      decided('OPTED_OUT', { news: false }, 1),
      { status: 'OPTED_IN' },
      { status: 'OPTED_IN', categories: { news: false } },
    ],
    [
      'opts out even if a category is true that the workspace no longer has',
      decided('OPTED_IN', { old: true }, 1),
      { categories: { news: false } },
      { status: 'OPTED_OUT', categories: { old: true, news: false } },
    ],
  ]
  it.each(cases)('%s', (_rule, before, request, after) => {
    expect(toOptIn(changePreference(before, request, { activeCategories: ACTIVE, now: 2 }))).toEqual(after)
  })

  it('dates only what it decides', () => {
    const before = { ...decided('OPTED_IN', { news: true, offers: true }, 1) }
    expect(changePreference(before, { categories: { news: false } }, { activeCategories: ACTIVE, now: 2 })).toEqual({
      status: ['OPTED_IN', 1],
      categories: { news: [false, 2], offers: [true, 1] },
      updatedAt: 2,
    })
  })

  it('is never dated before the change it follows', () => {
    const before = decided('OPTED_IN', {}, 9)
    expect(changePreference(before, { status: 'OPTED_OUT' }, { activeCategories: ACTIVE, now: 2 })).toEqual(
      decided('OPTED_OUT', {}, 9),
    )
  })
})

describe('statuses', () => {
  const words: [text: string, status: OptInStatus | undefined][] = [
    ['OPTED_IN', 'OPTED_IN'],
    ['opted_out', 'OPTED_OUT'],
    ['Double_Opted_In', 'DOUBLE_OPTED_IN'],
    ['opt_in_pending', 'OPT_IN_PENDING'],
    ['OPTED IN', undefined],
    ['opted_ın', undefined],
    [' OPTED_IN', undefined],
    ['', undefined],
  ]
  it.each(words)('are read in any ASCII case: %j is %s', (text, status) => {
    expect(toOptInStatus(text)).toBe(status)
  })
})

describe('the preferences shown', () => {
  it('are OPT_IN_PENDING and no categories if nothing is set', () => {
    expect(toOptIn(NOTHING_SET)).toEqual({ status: 'OPT_IN_PENDING', categories: {} })
  })

  it('leave out categories that the workspace no longer has', () => {
    const preference = decided('OPTED_IN', { old: true, news: false }, 1)
    expect(toOptIn(preference, ACTIVE).categories).toEqual({ news: false })
  })
})

describe('a proof', () => {
  it('holds time, key, address, the preferences before and after, and the number of the change', () => {
    const last = { ...nothingSetFor(7), lastChange: 4 }
    const after = changePreference(NOTHING_SET, { categories: { news: true } }, { activeCategories: ACTIVE, now: 3 })
    const { current, change } = recordPreferenceChange(last, after, { by: 'key:data', ip: '192.0.2.1' })
    expect(current).toEqual({ userId: 7, preference: after, lastChange: 5 })
    expect(change).toEqual({
      userId: 7,
      number: 5,
      at: 3,
      by: 'key:data',
      ip: '192.0.2.1',
      before: { status: 'OPT_IN_PENDING', categories: {} },
      after: { status: 'OPT_IN_PENDING', categories: { news: true } },
    })
  })
})

describe('merged users', () => {
  const cases: [rule: string, left: Preference, right: Preference, merged: Preference][] = [
    [
      'have the newest decision on each category',
      { status: null, categories: { news: [true, 1], offers: [true, 5] }, updatedAt: 5 },
      { status: null, categories: { news: [false, 3], offers: [false, 4], events: [true, 2] }, updatedAt: 4 },
      { status: null, categories: { news: [false, 3], offers: [true, 5], events: [true, 2] }, updatedAt: 5 },
    ],
    [
      'have the newest decision on the status, although the other was updated later',
      { status: ['OPTED_IN', 1], categories: { news: [true, 9] }, updatedAt: 9 },
      decided('OPTED_OUT', {}, 2),
      { status: ['OPTED_OUT', 2], categories: { news: [true, 9] }, updatedAt: 9 },
    ],
    ['have what only one of them had', NOTHING_SET, decided('OPTED_IN', {}, 2), decided('OPTED_IN', {}, 2)],
    [
      'have the stricter of two decisions made at the same time',
      decided('DOUBLE_OPTED_IN', { news: true }, 2),
      decided('OPTED_OUT', { news: false }, 2),
      decided('OPTED_OUT', { news: false }, 2),
    ],
    ['have nothing if neither had anything', NOTHING_SET, NOTHING_SET, NOTHING_SET],
  ]
  it.each(cases)('%s', (_rule, left, right, merged) => {
    expect(mergePreferences(left, right)).toEqual(merged)
    expect(mergePreferences(right, left)).toEqual(merged)
  })

  const time = fc.integer({ min: 1, max: 4 })
  const preference = fc.record({
    status: fc.option(fc.tuple(fc.constantFrom(...OPT_IN_STATUSES), time)),
    categories: fc.dictionary(fc.constantFrom(...ACTIVE), fc.tuple(fc.boolean(), time), { noNullPrototype: true }),
    updatedAt: fc.option(time),
  })

  it('have the same preferences in any order of merges, however often they are repeated', () => {
    fc.assert(
      fc.property(preference, preference, preference, (first, second, third) => {
        const merged = mergePreferences(mergePreferences(first, second), third)
        expect(mergePreferences(first, mergePreferences(second, third))).toEqual(merged)
        expect(mergePreferences(mergePreferences(third, first), second)).toEqual(merged)
        expect(mergePreferences(merged, third)).toEqual(merged)
      }),
    )
  })
})

describe('an import received at 5', () => {
  const RECEIVED_AT = 5
  /** `after` is undefined where nothing changes. */
  const cases: [
    rule: string,
    before: Preference,
    request: PreferenceRequest,
    after: OptIn | undefined,
    isKept: boolean,
  ][] = [
    [
      'sets what was not decided',
      NOTHING_SET,
      { status: 'OPTED_IN', categories: { news: true } },
      { status: 'OPTED_IN', categories: { news: true } },
      false,
    ],
    [
      'replaces earlier decisions',
      decided('OPT_IN_PENDING', { news: true, offers: true }, 5),
      { status: 'DOUBLE_OPTED_IN', categories: { news: false } },
      { status: 'DOUBLE_OPTED_IN', categories: { news: false, offers: true } },
      false,
    ],
    ['opts out', decided('OPTED_IN', {}, 1), { status: 'OPTED_OUT' }, { status: 'OPTED_OUT', categories: {} }, false],
    [
      'opts out if it leaves no category true',
      decided('OPTED_IN', { news: true }, 1),
      { categories: { news: false } },
      { status: 'OPTED_OUT', categories: { news: false } },
      false,
    ],
    ['keeps an opt-out of all emails', decided('OPTED_OUT', {}, 1), { status: 'OPTED_IN' }, undefined, true],
    [
      'keeps an opt-out against a pending status',
      decided('OPTED_OUT', {}, 1),
      { status: 'OPT_IN_PENDING' },
      undefined,
      true,
    ],
    ['adds no category to an opt-out', decided('OPTED_OUT', {}, 1), { categories: { news: true } }, undefined, true],
    [
      'keeps an opt-out of a category, and sets the rest',
      decided('OPTED_IN', { news: false, offers: true }, 1),
      { status: 'DOUBLE_OPTED_IN', categories: { news: true, events: true } },
      { status: 'DOUBLE_OPTED_IN', categories: { news: false, offers: true, events: true } },
      true,
    ],
    ['keeps a later status', decided('OPTED_IN', {}, 6), { status: 'OPTED_OUT' }, undefined, false],
    [
      'keeps a later category',
      decided(null, { news: true, offers: true }, 6),
      { categories: { news: false } },
      undefined,
      false,
    ],
    [
      'keeps a later status even if it leaves no category true',
      { ...decided(null, { news: true }, 1), status: ['OPTED_IN', 6], updatedAt: 6 },
      { categories: { news: false } },
      { status: 'OPTED_IN', categories: { news: false } },
      false,
    ],
    [
      'ignores what is decided like that',
      decided('OPTED_IN', { news: true }, 1),
      { status: 'OPTED_IN', categories: { news: true } },
      undefined,
      false,
    ],
    [
      'ignores categories that the workspace no longer has',
      NOTHING_SET,
      { categories: { old: true } },
      undefined,
      false,
    ],
  ]
  it.each(cases)('%s', (_rule, before, request, after, isKept) => {
    const changed = changeByImport(before, request, { activeCategories: ACTIVE, receivedAt: RECEIVED_AT })
    expect({ after: changed.preference && toOptIn(changed.preference), isKept: changed.isKept }).toEqual({
      after,
      isKept,
    })
    const updatedAt = after && Math.max(RECEIVED_AT, before.updatedAt ?? 0)
    expect(changed.preference?.updatedAt).toBe(updatedAt)
  })
})
