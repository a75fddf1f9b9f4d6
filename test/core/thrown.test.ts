// The message and code of a caught value, which need not be an error.
import { describe, expect, it } from 'vitest'
import { codeOf, messageOf } from '../../src/core/thrown.ts'

const cases: [what: string, thrown: unknown, message: string, code: string | undefined][] = [
  ['an error', new Error('wrong'), 'wrong', undefined],
  ['a system error', Object.assign(new Error('gone'), { code: 'ENOENT' }), 'gone', 'ENOENT'],
  ['an error whose code is not a string', Object.assign(new Error('odd'), { code: 7 }), 'odd', undefined],
  ['a string', 'wrong', 'wrong', undefined],
  ['undefined', undefined, 'undefined', undefined],
  ['an object that only resembles an error', { code: 'ENOENT' }, '[object Object]', undefined],
]

describe('A thrown value', () => {
  it.each(cases)('that is %s has a message', (_what, thrown, message) => {
    expect(messageOf(thrown)).toBe(message)
  })

  it.each(cases)('that is %s has a code only if it is a system error', (_what, thrown, _message, code) => {
    expect(codeOf(thrown)).toBe(code)
  })
})
