// Where the key of secrets comes from: SECRET_KEY, or a file that an embedded store makes once.
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, describe } from 'vitest'
import { ConfigError } from '../../src/app/config.ts'
import { findSecretKey, SECRET_KEY_FILE } from '../../src/app/settings/secret-key.ts'

const GIVEN = Buffer.alloc(32, 5)

describe('The key of secrets', () => {
  let dataDir: string
  beforeEach(() => void (dataDir = mkdtempSync(join(tmpdir(), 'tidings-key-'))))
  afterEach(() => rmSync(dataDir, { recursive: true }))

  const find = (databaseUrl?: string, secretKey?: Uint8Array) => findSecretKey({ dataDir, databaseUrl, secretKey })

  it('is made once for an embedded store, for its owner only, as SECRET_KEY would be written', () => {
    const key = find()
    expect(key?.byteLength).toBe(32)
    expect(find()).toEqual(key)
    expect(readdirSync(dataDir)).toEqual([SECRET_KEY_FILE])
    expect(statSync(join(dataDir, SECRET_KEY_FILE)).mode & 0o777).toBe(0o600)
    const text = readFileSync(join(dataDir, SECRET_KEY_FILE), 'utf8').trim()
    expect(Buffer.from(text, 'base64')).toEqual(key)
  })

  it('is SECRET_KEY if that is set, and then no file is made', () => {
    expect(find(undefined, GIVEN)).toBe(GIVEN)
    expect(readdirSync(dataDir)).toEqual([])
  })

  it('is missing for a store in PostgreSQL without SECRET_KEY', () => {
    expect(find('postgres://me@db/tidings')).toBeUndefined()
    expect(readdirSync(dataDir)).toEqual([])
  })

  it('is never replaced: a file without a key is refused', () => {
    writeFileSync(join(dataDir, SECRET_KEY_FILE), 'no key')
    expect(() => find()).toThrow(ConfigError)
    expect(readFileSync(join(dataDir, SECRET_KEY_FILE), 'utf8')).toBe('no key')
  })
})
