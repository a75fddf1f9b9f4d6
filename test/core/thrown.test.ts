// What a caught value tells, whatever was thrown.
import { describe, expect, it } from 'vitest'
import { codeOf, messageOf } from '../../src/core/thrown.ts'

const cases: [what: string, thrown: unknown, message: string, code: string | undefined][] = [
  ['an error', new Error('wrong'), 'wrong', undefined],
  ['an error of the system', Object.assign(new Error('gone'), { code: 'ENOENT' }), 'gone', 'ENOENT'],
  ['an error whose code is no text', Object.assign(new Error('odd'), { code: 7 }), 'odd', undefined],
  ['a text', 'wrong', 'wrong', undefined],
  ['nothing', undefined, 'undefined', undefined],
  ['what only looks like an error', { code: 'ENOENT' }, '[object Object]', undefined],
]

describe('Of what was thrown', () => {
  it.each(cases)('%s tells its message', (_what, thrown, message) => {
    expect(messageOf(thrown)).toBe(message)
  })

  it.each(cases)('%s tells the code that it has', (_what, thrown, _message, code) => {
    expect(codeOf(thrown)).toBe(code)
  })
})
