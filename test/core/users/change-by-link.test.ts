// Checks what a decision on a page behind a link changes ("Links, opens, unsubscribing").
import { describe, expect, it } from 'vitest'
import { changeByLink } from '../../../src/core/users/change-by-link.ts'
import { NOTHING_SET, toOptIn, type Preference, type PreferenceRequest } from '../../../src/core/users/preference.ts'

const ACTIVE = new Set(['news', 'offers'])
const NOW = 100

type Status = NonNullable<Preference['status']>[0]

function preference(status: Status | null, categories: Record<string, boolean> = {}, at = 10): Preference {
  const decided = Object.entries(categories).map(([name, isIn]) => [name, [isIn, at] as const])
  return { status: status && [status, at], categories: Object.fromEntries(decided), updatedAt: at }
}

const change = (before: Preference, request: PreferenceRequest) => {
  return changeByLink(before, request, { activeCategories: ACTIVE, receivedAt: NOW })
}

describe('A decision behind a link', () => {
  const off = { categories: { news: false } }
  const all: PreferenceRequest = { status: 'OPTED_OUT', categories: { news: false, offers: false } }
  it.each<[string, Preference, PreferenceRequest, Status, Record<string, boolean>, boolean]>([
    [
      'ends a category',
      preference('OPTED_IN', { news: true, offers: true }),
      off,
      'OPTED_IN',
      { news: false, offers: true },
      true,
    ],
    [
      'ends the last category, and with it everything',
      preference('OPTED_IN', { news: true }),
      off,
      'OPTED_OUT',
      { news: false },
      true,
    ],
    [
      'refuses a category before it was asked for',
      preference('OPTED_IN', { offers: true }),
      off,
      'OPTED_IN',
      { news: false, offers: true },
      false,
    ],
    ['refuses for a person without preferences', NOTHING_SET, off, 'OPTED_OUT', { news: false }, true],
    [
      'ends everything',
      preference('DOUBLE_OPTED_IN', { news: true }),
      all,
      'OPTED_OUT',
      { news: false, offers: false },
      true,
    ],
    [
      'ends a category that the workspace no longer has',
      preference('OPTED_IN', { news: true, gone: true }),
      { categories: { gone: false } },
      'OPTED_IN',
      { news: true, gone: false },
      true,
    ],
    [
      'turns a category on',
      preference('OPTED_IN', { news: false, offers: true }),
      { categories: { news: true } },
      'OPTED_IN',
      { news: true, offers: true },
      false,
    ],
    [
      'keeps a double opt-in',
      preference('DOUBLE_OPTED_IN', { news: false, offers: true }),
      { categories: { news: true } },
      'DOUBLE_OPTED_IN',
      { news: true, offers: true },
      false,
    ],
    [
      'opts in again with a category',
      preference('OPTED_OUT', { news: false }),
      { categories: { news: true, offers: false } },
      'OPTED_IN',
      { news: true, offers: false },
      false,
    ],
    [
      'opts in again with a category that was on before',
      preference('OPTED_OUT', { news: true }),
      { categories: { news: true } },
      'OPTED_IN',
      { news: true },
      false,
    ],
    [
      'turns one on and one off',
      preference('OPTED_IN', { news: true, offers: false }),
      { categories: { news: false, offers: true } },
      'OPTED_IN',
      { news: false, offers: true },
      true,
    ],
  ])('%s', (_what, before, request, status, categories, isEnding) => {
    const changed = change(before, request)
    expect(changed && toOptIn(changed.preference)).toEqual({ status, categories })
    expect(changed?.isEnding).toBe(isEnding)
    expect(changed?.preference.updatedAt).toBe(NOW)
  })

  it.each<[string, Preference, PreferenceRequest]>([
    ['repeats the last', preference('OPTED_OUT', { news: false }), off],
    ['ends everything again', preference('OPTED_OUT', { news: false, offers: false }), all],
    ['turns on a category that the workspace does not have', preference('OPTED_IN'), { categories: { gone: true } }],
    ['is older than what the person decided since', preference('OPTED_IN', { news: true }, NOW + 1), off],
    ['names nothing', preference('OPTED_IN'), { categories: {} }],
  ])('changes nothing if it %s', (_what, before, request) => {
    expect(change(before, request)).toBeUndefined()
  })

  it('keeps a later status', () => {
    const before = { ...preference('OPTED_IN', { news: true }), status: ['OPTED_IN', NOW + 1] as const }
    const changed = change(before, all)
    expect(changed && toOptIn(changed.preference)).toEqual({
      status: 'OPTED_IN',
      categories: { news: false, offers: false },
    })
  })

  it('keeps what was decided about tracking', () => {
    const changed = change({ ...preference('OPTED_IN', { news: true }), tracking: [false, 5] }, off)
    expect(changed?.preference.tracking).toEqual([false, 5])
  })
})
