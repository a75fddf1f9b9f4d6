// Checks tokens in links of messages: each is read as it was made, and no other text is.
import { describe, expect, it } from 'vitest'
import {
  isGenuine,
  makeToken,
  readToken,
  TOKEN_PURPOSES,
  type LinkTarget,
} from '../../../src/actions/links/link-token.ts'
import { seededRandom } from '../../support/seeded-random.ts'

const KEY = 'key-of-the-workspace'
const TARGET: LinkTarget = { purpose: 'click', run: 7, message: 1_234_567, link: 12 }

const opens = (text: string, key = KEY) => {
  const token = readToken(text)
  return token !== undefined && isGenuine(token, key)
}

describe('Tokens in links', () => {
  it('are read as they were made: numbers up to the largest', () => {
    const numbers = [0, 1, 127, 128, 16_383, 16_384, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER]
    for (const purpose of TOKEN_PURPOSES) {
      for (const number of numbers) {
        const target = { purpose, run: number, message: number, link: number }
        const text = makeToken(KEY, target)
        expect(readToken(text)).toMatchObject(target)
        expect(opens(text)).toBe(true)
      }
    }
  })

  it('are short, and consist of what a path may hold', () => {
    expect(makeToken(KEY, TARGET)).toMatch(/^[A-Za-z0-9_-]{20,30}$/)
  })

  it('of other purposes, runs, messages and links differ', () => {
    const others: readonly LinkTarget[] = [
      { ...TARGET, purpose: 'unsubscribe' },
      { ...TARGET, run: 8 },
      { ...TARGET, message: 1 },
      { ...TARGET, link: 0 },
    ]
    expect(new Set([TARGET, ...others].map((target) => makeToken(KEY, target))).size).toBe(5)
  })

  it('of another workspace are not genuine', () => {
    expect(opens(makeToken('another key', TARGET))).toBe(false)
    expect(opens(makeToken(KEY, TARGET), 'another key')).toBe(false)
  })

  it('with the purpose of another do not keep its signature', () => {
    const bytes = Buffer.from(makeToken(KEY, TARGET), 'base64url')
    bytes[1] = TOKEN_PURPOSES.indexOf('unsubscribe')
    expect(readToken(bytes.toString('base64url'))?.purpose).toBe('unsubscribe')
    expect(opens(bytes.toString('base64url'))).toBe(false)
  })

  it('with any bit flipped are not genuine', () => {
    const bytes = Buffer.from(makeToken(KEY, TARGET), 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes)
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7))
      expect(opens(flipped.toString('base64url'))).toBe(false)
    }
  })

  it('with any character changed, left out or added are not genuine', () => {
    const text = makeToken(KEY, TARGET)
    for (let index = 0; index < text.length; index++) {
      const [before, after] = [text.slice(0, index), text.slice(index + 1)]
      expect(opens(before + after)).toBe(false)
      const others = ['A', 'x', '-', '_', '9', '=', ' ', 'é'].filter((other) => other !== text[index])
      for (const other of others) {
        expect(opens(`${before}${other}${text.slice(index)}`)).toBe(false)
        expect(opens(before + other + after)).toBe(false)
      }
    }
  })

  it('10,000 random texts are none', () => {
    const random = seededRandom(1)
    for (let round = 0; round < 10_000; round++) {
      const length = Math.floor(random() * 60)
      const bytes = Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)))
      // Half of them begin like a token, so that they get as far as the comparison.
      if (round % 2 === 0 && length > 1) bytes.set([1, Math.floor(random() * TOKEN_PURPOSES.length)])
      expect(opens(bytes.toString('base64url'))).toBe(false)
    }
  })

  it.each(['', 'A', 'AQ', '!', '/', '..', '%00', 'A'.repeat(64), 'A'.repeat(100_000), '\u{1F600}'])(
    'the text %j is none, and no error',
    (text) => {
      expect(opens(text)).toBe(false)
    },
  )
})
