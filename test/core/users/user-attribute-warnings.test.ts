// Checks which attributes of users are taken for a misspelling.
import { describe, expect, it } from 'vitest'
import { userAttributeWarnings } from '../../../src/core/users/user-attributes.ts'

describe('Warnings about attributes of a user', () => {
  const spellings: [sent: string, meant: string | undefined][] = [
    ['Email', 'email'],
    ['E-mail', 'email'],
    ['eMail', 'email'],
    ['e_mail', 'email'],
    [' email', 'email'],
    ['email_id', 'email'],
    ['EmailAddress', 'email'],
    ['Mobile', 'mobile'],
    ['mobile_number', 'mobile'],
    ['Locale', 'locale'],
    ['timeZone', 'timezone'],
    ['Time Zone', 'timezone'],
    ['email_verified', undefined],
    ['emails', undefined],
    ['mobile_app', undefined],
    ['plan', undefined],
  ]
  it.each(spellings)('take %s for %s', (sent, meant) => {
    const problem = `is stored as an ordinary attribute, not as the user's ${meant}; did you mean ${meant}?`
    expect(userAttributeWarnings({ [sent]: 'x' })).toEqual(
      meant === undefined ? [] : [{ kind: 'misspelt_attribute', field: `attributes.${sent}`, problem }],
    )
  })

  it('say nothing of another spelling beside the right one', () => {
    expect(userAttributeWarnings({ Email: 'x', email: 'a@example.com' })).toEqual([])
    expect(userAttributeWarnings({ Email: 'x', email: null })).toEqual([])
  })
})
