// Checks what users inherit from an opted-out address.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  changeOptOut,
  inheritOptOut,
  NO_OPT_OUT,
  refusesAnything,
  type AddressOptOut,
} from '../../../src/core/users/address-opt-out.ts'
import {
  changePreference,
  NOTHING_SET,
  toOptIn,
  type Preference,
  type PreferenceRequest,
} from '../../../src/core/users/preference.ts'

const ACTIVE = new Set(['news', 'offers'])

/** Requests at the instants 1, 2, 3, … after `from`. */
const optOutAfter = (requests: readonly PreferenceRequest[], from = 0): AddressOptOut => {
  return requests.reduce((optOut, request, index) => changeOptOut(optOut, request, from + index + 1), NO_OPT_OUT)
}
const preferenceAfter = (requests: readonly PreferenceRequest[], from = 0, first: Preference = NOTHING_SET) => {
  return requests.reduce(
    (before: Preference, request, index) =>
      changePreference(before, request, { activeCategories: ACTIVE, now: from + index + 1 }),
    first,
  )
}

describe('The opt-out of an address', () => {
  const examples: [what: string, requests: PreferenceRequest[], status: string, categories: object][] = [
    ['an opt-out', [{ status: 'OPTED_OUT' }], 'OPTED_OUT', {}],
    ['a refused category, which leaves none', [{ categories: { news: false } }], 'OPTED_OUT', { news: false }],
    ['nothing after an opt-in', [{ status: 'OPTED_OUT' }, { status: 'OPTED_IN' }], 'OPT_IN_PENDING', {}],
    [
      'nothing after an opt-in to the refused category',
      [{ categories: { news: false } }, { categories: { news: true } }],
      'OPT_IN_PENDING',
      {},
    ],
    [
      'only the refused category after an opt-in to the rest',
      [{ categories: { news: false } }, { status: 'OPTED_IN' }],
      'OPT_IN_PENDING',
      { news: false },
    ],
    [
      'an opt-out by leaving no category, whatever status was sent with it',
      [{ status: 'OPTED_IN', categories: { news: false } }],
      'OPTED_OUT',
      { news: false },
    ],
    ['nothing of an opt-in', [{ status: 'OPTED_IN', categories: { news: true } }], 'OPT_IN_PENDING', {}],
  ]
  it.each(examples)('gives a new user %s', (_what, requests, status, categories) => {
    const optOut = optOutAfter(requests)
    expect(toOptIn(inheritOptOut(NOTHING_SET, optOut, ACTIVE))).toEqual({ status, categories })
    expect(refusesAnything(optOut)).toBe(status === 'OPTED_OUT' || Object.keys(categories).length > 0)
  })

  it('does not change what a user decided later', () => {
    const later = preferenceAfter([{ status: 'OPTED_IN', categories: { news: true, offers: true } }], 10)
    expect(
      inheritOptOut(later, optOutAfter([{ status: 'OPTED_OUT', categories: { news: false } }]), ACTIVE),
    ).toMatchObject({
      categories: { news: [true, 11], offers: [true, 11] },
    })
    expect(toOptIn(inheritOptOut(later, optOutAfter([{ status: 'OPTED_OUT' }]), ACTIVE)).status).toBe('OPTED_IN')
  })

  it('keeps a user in the categories that the address did not refuse', () => {
    const own = preferenceAfter([{ status: 'OPTED_IN', categories: { offers: true } }])
    const optOut = optOutAfter([{ categories: { news: false } }], 10)
    const expected = { status: 'OPTED_IN', categories: { news: false, offers: true } }
    expect(toOptIn(inheritOptOut(own, optOut, ACTIVE))).toEqual(expected)
  })

  it('changes a user who gets the address later like one who had it before', () => {
    const category = fc.constantFrom('news', 'offers')
    const own = fc.record(
      {
        status: fc.constantFrom('OPTED_IN', 'OPTED_OUT', 'OPT_IN_PENDING'),
        categories: fc.dictionary(category, fc.boolean()),
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<PreferenceRequest>
    const refusal = fc.record(
      { status: fc.constant('OPTED_OUT'), categories: fc.dictionary(category, fc.constant(false)) },
      { requiredKeys: [] },
    ) as fc.Arbitrary<PreferenceRequest>
    fc.assert(
      fc.property(fc.array(own, { maxLength: 3 }), fc.array(refusal, { maxLength: 4 }), (before, refusals) => {
        const user = preferenceAfter(before)
        const inherited = inheritOptOut(user, optOutAfter(refusals, 10), ACTIVE)
        expect(toOptIn(inherited)).toEqual(toOptIn(preferenceAfter(refusals, 10, user)))
        expect(inheritOptOut(inherited, optOutAfter(refusals, 10), ACTIVE)).toEqual(inherited)
      }),
    )
  })
})
