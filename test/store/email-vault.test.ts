// Checks how email addresses are sealed ("Encrypted emails"): who can open one, how one is found, and that nothing reveals it.
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { EmailVault, PII_KEY_BYTES } from '../../src/store/users/email-vault.ts'

const SECRET = Buffer.alloc(PII_KEY_BYTES, 7)
/** The errors for bytes that were not sealed, or sealed with another key. */
const BROKEN =
  /cannot decrypt the address: it was encrypted with another key or for another workspace|authentication tag|initialization vector/
const vault = new EmailVault(SECRET)

describe('a sealed address', () => {
  const addresses = ['anna@example.com', ' Anna@Example.COM ', 'анна@почта.рф', `a@${'b'.repeat(318)}`]
  it.each(addresses)('opens to the address exactly as it was sent (%s)', (address) => {
    expect(vault.open('main', vault.seal('main', address).sealed)).toBe(address)
  })

  it('is URL-safe text that contains no part of the address', () => {
    const { sealed, key } = vault.seal('main', 'anna@example.com')
    expect(sealed).toMatch(/^v1\.[A-Za-z0-9_-]+$/)
    expect(key).toMatch(/^[0-9a-f]{64}$/)
    const bytes = Buffer.from(sealed.slice(3), 'base64url').toString('latin1')
    for (const part of ['anna', 'example']) expect(`${sealed} ${bytes} ${key}`).not.toContain(part)
  })

  it('differs each time, so that equal addresses cannot be recognised', () => {
    const sealed = Array.from({ length: 100 }, () => vault.seal('main', 'anna@example.com').sealed)
    expect(new Set(sealed).size).toBe(sealed.length)
  })

  it('opens with the same key in another process, and with no other key', () => {
    const { sealed } = vault.seal('main', 'anna@example.com')
    expect(new EmailVault(Buffer.from(SECRET)).open('main', sealed)).toBe('anna@example.com')
    expect(() => new EmailVault(randomBytes(PII_KEY_BYTES)).open('main', sealed)).toThrow(BROKEN)
  })

  it('can be checked against a key, without mistaking another version for a wrong key', () => {
    const { sealed } = vault.seal('main', 'anna@example.com')
    const other = new EmailVault(randomBytes(PII_KEY_BYTES))
    expect([vault.opens('main', sealed), vault.opens('other', sealed), other.opens('main', sealed)]).toEqual([
      true,
      false,
      false,
    ])
    expect(() => vault.opens('main', `v2${sealed.slice(2)}`)).toThrow('another version')
  })

  it('does not open for another workspace', () => {
    const { sealed } = vault.seal('main', 'anna@example.com')
    expect(() => vault.open('other', sealed)).toThrow(BROKEN)
  })

  it('does not open when any of its bytes has changed', () => {
    const bytes = Buffer.from(vault.seal('main', 'anna@example.com').sealed.slice(3), 'base64url')
    for (let index = 0; index < bytes.length; index++) {
      const changed = Buffer.from(bytes)
      changed[index] = (changed[index] as number) ^ 1
      expect(() => vault.open('main', `v1.${changed.toString('base64url')}`)).toThrow(BROKEN)
    }
  })

  it('does not open when it is cut short', () => {
    const bytes = Buffer.from(vault.seal('main', 'anna@example.com').sealed.slice(3), 'base64url')
    for (let length = 0; length < bytes.length; length++) {
      expect(() => vault.open('main', `v1.${bytes.subarray(0, length).toString('base64url')}`)).toThrow(BROKEN)
    }
  })

  it('does not open when it has another version', () => {
    const { sealed } = vault.seal('main', 'anna@example.com')
    expect(() => vault.open('main', sealed.replace('v1.', 'v2.'))).toThrow('another version')
  })
})

describe('the keyed hash of an address', () => {
  it('ignores case and outer spaces, and is returned with the sealed address', () => {
    const key = vault.hash('main', 'anna@example.com')
    expect(vault.hash('main', ' ANNA@Example.com\t')).toBe(key)
    expect(vault.seal('main', 'Anna@example.COM').key).toBe(key)
  })

  it('differs by address, by workspace and by key', () => {
    const hashes = [
      vault.hash('main', 'anna@example.com'),
      vault.hash('main', 'anne@example.com'),
      vault.hash('other', 'anna@example.com'),
      new EmailVault(randomBytes(PII_KEY_BYTES)).hash('main', 'anna@example.com'),
    ]
    expect(new Set(hashes).size).toBe(hashes.length)
  })
})

describe('an address stored by an earlier version of the program', () => {
  it('is still found', () => {
    const key = 'ca0f18d62c31ef87b9b9345a2aa2e6ea16ca2e482442a58dfd4aa10714d69a52'
    expect(vault.hash('main', 'anna@example.com')).toBe(key)
  })

  it('still opens', () => {
    const sealed = 'v1.3_nS_6IgMFTw79nj-qXqJNsgOS8EVck-VCediiJwkKBmcksx9ls5JXbLsmM'
    expect(vault.open('main', sealed)).toBe('Anna@example.com')
  })
})

it.each([0, 16, 31, 33, 64])('an email vault refuses a key of %d bytes', (bytes) => {
  expect(() => new EmailVault(new Uint8Array(bytes))).toThrow(String(PII_KEY_BYTES))
})
