// Characters in ids, names, addresses and codes ("Characters"): people cannot see these, so they may not make two ids different.
import { describe, expect, it } from 'vitest'
import { hiddenProblem, textProblem, unstorableProblem } from '../../src/core/bounded-text.ts'
import { isEmail } from '../../src/core/users/email-address.ts'

const HIDDEN: [what: string, character: string, name: string][] = [
  ['NUL', '\u0000', 'U+0000'],
  ['a line feed', '\n', 'U+000A'],
  ['an escape', '\u001b', 'U+001B'],
  ['a control character of the second block', '\u0085', 'U+0085'],
  ['a zero-width space', '\u200b', 'U+200B'],
  ['a zero-width joiner', '\u200d', 'U+200D'],
  ['a byte order mark', '\ufeff', 'U+FEFF'],
  ['a soft hyphen', '\u00ad', 'U+00AD'],
  ['a mark that turns the direction of text', '\u202e', 'U+202E'],
  ['a private-use character', '\ue000', 'U+E000'],
  ['an unassigned character', '\u0378', 'U+0378'],
  ['a tag character', '\u{e0041}', 'U+E0041'],
  ['an unpaired surrogate', '\ud83d', 'U+D83D'],
]

describe('an id or name', () => {
  it.each(HIDDEN)('must not have %s', (_what, character, name) => {
    for (const text of [`${character}jane`, `ja${character}ne`, `jane${character}`]) {
      expect(hiddenProblem(text)).toContain(`such as ${name}`)
      expect(textProblem(text, 256)).toBe(hiddenProblem(text))
    }
    expect(isEmail(`ja${character}ne@example.com`)).toBe(false)
    expect(isEmail(`jane@ex${character}ample.com`)).toBe(false)
  })

  it.each(['jane doe', 'жанна', '李', 'नमस्ते', 'e\u0301', '👍', '🇩🇪', 'a\u00a0b', '~!"§$%&/()=?'])(
    'may be %j',
    (text) => {
      expect(hiddenProblem(text)).toBeUndefined()
    },
  )
})

it('content may have every character that databases store', () => {
  expect(['a\nb', '👨\u200d👩\u200d👧', '\u001b', '\ue000'].map(unstorableProblem)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ])
  expect(['\u0000', '\ud83d'].map((text) => unstorableProblem(text) !== undefined)).toEqual([true, true])
})
