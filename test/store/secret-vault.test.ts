// The encryption of secrets such as the passwords of SMTP servers.
import { describe, expect, it } from 'vitest'
import { SECRET_KEY_BYTES, SecretUnreadable, SecretVault } from '../../src/store/secret-vault.ts'

const vault = new SecretVault(Buffer.alloc(SECRET_KEY_BYTES, 7))

describe('A sealed secret', () => {
  it('opens for the purpose it was sealed for', () => {
    const sealed = vault.seal('sender password 1', 'pässword')
    expect(sealed).toMatch(/^v1\.[\w-]+$/)
    expect(vault.open('sender password 1', sealed)).toBe('pässword')
  })

  it('differs each time', () => {
    expect(vault.seal('a', 'text')).not.toBe(vault.seal('a', 'text'))
  })

  const sealed = vault.seal('sender password 1', 'password')
  it.each([
    ['another purpose', () => vault.open('sender password 2', sealed)],
    ['another key', () => new SecretVault(Buffer.alloc(SECRET_KEY_BYTES, 8)).open('sender password 1', sealed)],
    ['another version', () => vault.open('sender password 1', sealed.replace('v1', 'v2'))],
    ['a part of it', () => vault.open('sender password 1', sealed.slice(0, 20))],
  ])('does not open for %s', (_what, open) => {
    expect(open).toThrow(SecretUnreadable)
  })

  it('needs a key of 32 bytes', () => {
    expect(() => new SecretVault(new Uint8Array(31))).toThrow(String(SECRET_KEY_BYTES))
  })
})
