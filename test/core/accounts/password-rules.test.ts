// Which passwords people may choose (`docs/api/people.md`).
import { describe, expect, it } from 'vitest'
import { normalizePassword, passwordProblem } from '../../../src/core/accounts/password-rules.ts'

const SHORT = 'must have at least 12 characters'
const LONG = 'must have at most 256 characters'
const GUESSED = 'is too easy to guess: choose another one'
const PERSONAL = 'must not be your address or name'
const ADA = ['ada.lovelace@example.com', 'Ada Lovelace']

const cases: [password: string, why: string, problem: string | undefined][] = [
  ['a sentence that only Ada knows', 'a sentence', undefined],
  ['tr0ub4dor&3xyz', 'letters, digits and signs', undefined],
  ['Пусть всегда будет солнце', 'another alphabet', undefined],
  ['пусть будетadmin', 'another alphabet before a common word', undefined],
  ['twelve chars', 'exactly 12 characters', undefined],
  ['eleven char', '11 characters', SHORT],
  ['🦊🐻🐼🐨🐯🦁🐮🐷🐸🐵🐔🐧', '12 characters of two units each', undefined],
  ['🦊🐻🐼🐨🐯🦁🐮🐷🐸🐵🐔', '11 characters of two units each', SHORT],
  ['e\u0301a\u0301o\u0301i\u0301u\u0301y\u0301', '6 letters, with accents of their own', SHORT],
  [`${'abcdefghij klmno '.repeat(15)}x`, '256 characters', undefined],
  [`${'abcdefghij klmno '.repeat(15)}xy`, '257 characters', LONG],
  ['password1234', 'a common word with digits', GUESSED],
  ['!!PassWord2026!!', 'a common word in capitals, between signs', GUESSED],
  ['p@ssw0rd2026', 'a common word with digits for letters', GUESSED],
  ['ｐａｓｓｗｏｒｄ１２３４', 'a common word in letters of another width', GUESSED],
  ['1q2w3e4r5t6y', 'a way over the keyboard that begins with a digit', GUESSED],
  ['trustno1!!!!', 'a common word that ends with a digit', GUESSED],
  ['correct horse battery staple', 'common words with spaces', GUESSED],
  ['I love you forever!', 'a common sentence', GUESSED],
  ['aaaaaaaaaaaa', 'one character', GUESSED],
  ['abababcdcdcd', 'four different characters', GUESSED],
  ['abababcdcdce', 'five different characters', undefined],
  ['xK9#xK9#xK9#', 'a short piece, repeated', GUESSED],
  ['sunflower77sunflower77', 'a piece of 11 characters, repeated', GUESSED],
  ['sunflower 77sunflower 77', 'a piece of 12 characters, repeated', undefined],
  ['123456789012', 'digits in order', GUESSED],
  ['210987654321', 'digits in order, backwards', GUESSED],
  ['abcdefghijkl', 'the alphabet', GUESSED],
  ['asdfghjklzxcvb', 'a row of the keyboard', GUESSED],
  ['ada.lovelace@example.com', 'the address', PERSONAL],
  ['ADA.LOVELACE@example.com1', 'the address with a digit', PERSONAL],
  ['ada.lovelace1815', 'the address before the @', PERSONAL],
  ['Ada Lovelace!', 'the name', PERSONAL],
  ['adalovelace1815', 'the name without spaces', PERSONAL],
  ['Ada Lovelace wrote this', 'a sentence with the name', undefined],
]

describe('A password', () => {
  it.each(cases)('%s (%s): %s', (password, _why, problem) => {
    expect(passwordProblem(password, ADA)).toBe(problem)
  })

  it('is the same in letters of another width, and with accents of their own', () => {
    expect(normalizePassword('ｃafe\u0301')).toBe(normalizePassword('caf\u00e9'))
    expect(normalizePassword('Café')).not.toBe(normalizePassword('café'))
  })
})
