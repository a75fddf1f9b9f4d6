// Slow hashes of passwords: what they recognise, and how many are computed at a time.
import { argon2Sync, scryptSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { AppError } from '../../../src/core/app-error.ts'
import { PasswordHashes } from '../../../src/actions/accounts/password-hash.ts'

const PASSWORD = 'a sentence that only Ada knows'
/** Two are computed, fifty wait. */
const AT_ONCE_MAX = 52
const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')

describe('The hash of a password', () => {
  const hashes = new PasswordHashes()

  it('recognises the password and no other', async () => {
    const stored = await hashes.hash(PASSWORD)
    expect(await hashes.isRight(PASSWORD, stored)).toBe(true)
    for (const other of ['', `${PASSWORD} `, PASSWORD.toUpperCase(), stored]) {
      expect(await hashes.isRight(other, stored)).toBe(false)
    }
  })

  it('recognises it in letters of another width, and with accents of their own', async () => {
    const stored = await hashes.hash('ca\u0301fe ﬁnal ｗidth')
    expect(await hashes.isRight('cáfe final width', stored)).toBe(true)
  })

  it('is argon2id with the parameters of its name, and another one each time', async () => {
    const [first, second] = [await hashes.hash(PASSWORD), await hashes.hash(PASSWORD)]
    expect(first).not.toBe(second)
    const [algorithm, salt = '', hash] = first.split('$')
    const parameters = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }
    const nonce = Buffer.from(salt, 'base64url')
    expect([algorithm, nonce.byteLength]).toEqual(['argon2id', 16])
    expect(hash).toBe(base64url(argon2Sync('argon2id', { message: PASSWORD, nonce, ...parameters })))
  })

  it('may be one of scrypt, from a Node without argon2', async () => {
    const salt = Buffer.alloc(16, 7)
    const options = { cost: 2 ** 15, blockSize: 8, parallelization: 3, maxmem: 2 ** 27 }
    const stored = ['scrypt', base64url(salt), base64url(scryptSync(PASSWORD, salt, 32, options))].join('$')
    expect(await hashes.isRight(PASSWORD, stored)).toBe(true)
    expect(await hashes.isRight('another sentence', stored)).toBe(false)
  })

  it('is compared for nobody too, as many at a time, and later ones are refused until there is room', async () => {
    const fresh = new PasswordHashes()
    const checks = Array.from({ length: AT_ONCE_MAX + 3 }, () => fresh.isRight(PASSWORD, undefined))
    const outcomes = await Promise.allSettled(checks)
    const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as AppError] : []))
    const unavailable = ['unavailable', 1]
    expect(reasons.map(({ code, retryAfterSeconds }) => [code, retryAfterSeconds])).toEqual(
      Array.from({ length: 3 }, () => unavailable),
    )
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled' && !outcome.value)).toHaveLength(AT_ONCE_MAX)
    expect(await fresh.isRight(PASSWORD, undefined)).toBe(false)
  })

  it('is compared for nobody after too many others were refused', async () => {
    const fresh = new PasswordHashes()
    const busy = Array.from({ length: AT_ONCE_MAX }, () => fresh.hash(PASSWORD))
    await expect(fresh.isRight(PASSWORD, undefined)).rejects.toMatchObject({ code: 'unavailable' })
    await Promise.all(busy)
    expect(await fresh.isRight(PASSWORD, undefined)).toBe(false)
  })
})
