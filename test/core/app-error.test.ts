// How refusals name fields: long paths are shortened, and the number of faults is limited.
import { describe, expect, it } from 'vitest'
import { AppError, DETAILS_MAX, invalidRequest } from '../../src/core/app-error.ts'
import { trackUser } from '../../src/operations/users/track-user.ts'
import { updatePreferences } from '../../src/operations/preferences/update-preferences.ts'
import { DEFAULT_SETTINGS } from '../../src/core/workspace.ts'

const LONG = 'x'.repeat(100_000)
const ENDS = `${'x'.repeat(256)}…${'x'.repeat(256)}`

describe('A field with a long path', () => {
  it('is shortened to its two ends, in details and in the message', () => {
    const { message, details } = invalidRequest([{ field: LONG, problem: 'is long' }])
    expect(details).toEqual([{ field: ENDS, problem: 'is long' }])
    expect(message).toBe(`The request is invalid: ${ENDS} is long.`)
  })

  it('is shortened in every refusal', () => {
    const { details } = new AppError('conflict', 'no', [{ field: LONG, problem: 'is taken' }])
    expect(details).toEqual([{ field: ENDS, problem: 'is taken' }])
  })

  it('is named in full up to 512 characters', () => {
    const field = 'x'.repeat(512)
    expect(invalidRequest([{ field, problem: 'is long' }]).details).toEqual([{ field, problem: 'is long' }])
  })

  const workspace = { ...DEFAULT_SETTINGS, id: 'main', name: 'main', createdAt: 1 }
  const blamed: [what: string, faults: () => Parameters<typeof invalidRequest>[0], field: string][] = [
    [
      'an attribute',
      () => trackUser.faults?.({ workspace, body: { customer_id: 'c', attributes: { [LONG]: 1 } } } as never) ?? [],
      `attributes.${'x'.repeat(245)}…${'x'.repeat(256)}`,
    ],
    [
      'a category',
      () => {
        const user_preferences = { customer_id: 'c', categories: { [LONG]: true } }
        return updatePreferences.faults?.({ workspace, body: { user_preferences } } as never) ?? []
      },
      `user_preferences.categories.${'x'.repeat(228)}…${'x'.repeat(256)}`,
    ],
  ]
  it.each(blamed)('is shortened if it is %s that an operation refuses', (_what, faults, field) => {
    expect(invalidRequest(faults()).details.map((detail) => detail.field)).toEqual([field])
  })
})

describe('Faults in names that clients choose', () => {
  const workspace = { ...DEFAULT_SETTINGS, id: 'main', name: 'main', createdAt: 1, identityResolution: ['a', 'b'] }
  const names = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`svc_${index}`, true]))
  const bodies: [what: string, faults: () => readonly unknown[]][] = [
    [
      'attributes',
      () => trackUser.faults?.({ workspace, body: { customer_id: 'c', attributes: names } } as never) ?? [],
    ],
    [
      'identifiers',
      () => trackUser.faults?.({ workspace, body: { customer_id: 'c', user_identifiers: names } } as never) ?? [],
    ],
    [
      'categories',
      () => {
        const user_preferences = { customer_id: 'c', categories: names }
        return updatePreferences.faults?.({ workspace, body: { user_preferences } } as never) ?? []
      },
    ],
  ]
  it.each(bodies)('are collected only up to the number that a refusal lists: %s', (_what, faults) => {
    const { length } = faults()
    expect(length).toBeGreaterThanOrEqual(DETAILS_MAX)
    expect(length).toBeLessThan(DETAILS_MAX + 10)
  })
})
