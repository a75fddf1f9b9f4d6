// Checks the phrases of messages: numbers with their nouns, and the problems of the system in plain words.
import { expect, it } from 'vitest'
import { counted } from '../../../src/core/phrases/counted.ts'
import { problemOfCode, systemProblem } from '../../../src/core/phrases/system-problem.ts'

it.each([
  [0, 'user', undefined, '0 users'],
  [1, 'user', undefined, '1 user'],
  [2, 'entry', 'entries', '2 entries'],
])('%i %s: the noun agrees with the number', (count, singular, plural, text) => {
  expect(counted(count, singular, plural)).toBe(text)
})

const system = (code: string, errno = 2) => Object.assign(new Error(`${code}: internals, open '/x'`), { code, errno })

const problems: [what: string, error: unknown, problem: string | undefined][] = [
  ['a missing file', system('ENOENT'), 'there is no such file or folder'],
  ['a full disk', system('ENOSPC'), 'the disk is full'],
  ['an error of the system without a phrase', system('EUNKNOWN'), "EUNKNOWN: internals, open '/x'"],
  ['SQLite on a full disk', Object.assign(new Error('x'), { code: 'SQLITE_FULL' }), 'the disk is full'],
  ['a code of SQLite with a suffix', Object.assign(new Error('x'), { code: 'SQLITE_IOERR_WRITE' }), 'the disk failed'],
  ['an error of our own', new Error('x'), undefined],
  ['an error of another library', Object.assign(new Error('x'), { code: 'ERR_X' }), undefined],
]
it.each(problems)('%s has a problem in plain words', (_what, error, problem) => {
  expect(systemProblem(error)).toBe(problem)
})

it('a full disk without room for shared memory does not look like a failing disk', () => {
  expect(problemOfCode('SQLITE_IOERR_SHMSIZE')).toBe('the disk is full')
})
