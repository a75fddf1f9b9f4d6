// The rule of email preferences, without store or HTTP: what a request makes of them, and what merging two makes.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  changePreference,
  mergePreferences,
  NOTHING_SET,
  nothingSetFor,
  OPT_IN_STATUSES,
  recordChange,
  toOptIn,
  toOptInStatus,
  type OptIn,
  type OptInStatus,
  type Preference,
  type PreferenceRequest,
} from '../../src/core/users/preference.ts'

const ACTIVE = new Set(['news', 'offers', 'events'])

/** Preferences where everything was decided at one time. */
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
      'that leaves at least one false and none true opts out',
      decided('OPTED_IN', { news: true }, 1),
      { categories: { news: false } },
      { status: 'OPTED_OUT', categories: { news: false } },
    ],
    [
      'that leaves none true opts out, whatever else it sent',
      NOTHING_SET,
      { status: 'OPTED_IN', categories: { news: false } },
      { status: 'OPTED_OUT', categories: { news: false } },
    ],
    [
      'that leaves one true keeps the status it sent',
      decided(null, { offers: true }, 1),
      { status: 'OPTED_IN', categories: { news: false } },
      { status: 'OPTED_IN', categories: { offers: true, news: false } },
    ],
    [
      'counts a category that was never set as neither',
      NOTHING_SET,
      { categories: { news: true } },
      { status: 'OPT_IN_PENDING', categories: { news: true } },
    ],
    [
      'with empty categories opts out where all that is left is false',
      decided('OPTED_IN', { news: false }, 1),
      { categories: {} },
      { status: 'OPTED_OUT', categories: { news: false } },
    ],
    [
      'with empty categories changes nothing where none was ever set',
      decided('OPTED_IN', {}, 1),
      { categories: {} },
      { status: 'OPTED_IN', categories: {} },
    ],
    [
      'without categories opts in although all of them are false',
      decided('OPTED_OUT', { news: false }, 1),
      { status: 'OPTED_IN' },
      { status: 'OPTED_IN', categories: { news: false } },
    ],
    [
      'opts out also where a category is true that the workspace no longer has',
      decided('OPTED_IN', { old: true }, 1),
      { categories: { news: false } },
      { status: 'OPTED_OUT', categories: { old: true, news: false } },
    ],
  ]
  it.each(cases)('%s', (_rule, before, request, after) => {
    expect(toOptIn(changePreference(before, request, { activeCategories: ACTIVE, now: 2 }))).toEqual(after)
  })

  it('dates what it decides, and only that', () => {
    const before = { ...decided('OPTED_IN', { news: true, offers: true }, 1) }
    expect(changePreference(before, { categories: { news: false } }, { activeCategories: ACTIVE, now: 2 })).toEqual({
      status: ['OPTED_IN', 1],
      categories: { news: [false, 2], offers: [true, 1] },
      updatedAt: 2,
    })
  })

  it('is never dated before what it follows', () => {
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
  it.each(words)('reads %j as %s', (text, status) => {
    expect(toOptInStatus(text)).toBe(status)
  })
})

describe('what is shown', () => {
  it('is OPT_IN_PENDING and no categories where nothing is set', () => {
    expect(toOptIn(NOTHING_SET)).toEqual({ status: 'OPT_IN_PENDING', categories: {} })
  })

  it('leaves out categories that the workspace no longer has', () => {
    const preference = decided('OPTED_IN', { old: true, news: false }, 1)
    expect(toOptIn(preference, ACTIVE).categories).toEqual({ news: false })
  })
})

describe('a proof', () => {
  it('holds when, by whom, from where, before and after, and counts the changes of its user', () => {
    const known = { ...nothingSetFor(7), lastChange: 4 }
    const after = changePreference(NOTHING_SET, { categories: { news: true } }, { activeCategories: ACTIVE, now: 3 })
    const { current, change } = recordChange(known, after, { by: 'key:data', ip: '192.0.2.1' })
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

describe('two users found to be one', () => {
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
    ['have what one of them had alone', NOTHING_SET, decided('OPTED_IN', {}, 2), decided('OPTED_IN', {}, 2)],
    [
      'have what allows less of two decisions made together',
      decided('DOUBLE_OPTED_IN', { news: true }, 2),
      decided('OPTED_OUT', { news: false }, 2),
      decided('OPTED_OUT', { news: false }, 2),
    ],
    ['have nothing where neither had', NOTHING_SET, NOTHING_SET, NOTHING_SET],
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

  it('have the same preferences in whatever order it is found out, and however often', () => {
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
