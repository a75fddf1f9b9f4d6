// Generates and compares API keys. Only the hash of a key is stored.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { KeyTile } from '../../core/accounts/credential.ts'
import type { KeyHashes } from './workspaces.ts'

const KEY_BYTES = 32

/** A new key: 256 random bits, so a fast hash is safe. */
export function generateKey(tile: KeyTile): string {
  return `td_${tile}_${randomBytes(KEY_BYTES).toString('base64url')}`
}

/** SHA-256 in lower-case hex. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex')
}

/** The tile whose key has this hash; undefined if neither has. Takes constant time. */
export function matchTile(keyHash: string, hashes: KeyHashes): KeyTile | undefined {
  const given = toBytes(keyHash)
  const expected = bytesOf(hashes)
  const isData = timingSafeEqual(given, expected.data)
  const isReports = timingSafeEqual(given, expected.reports)
  if (isData) return 'data'
  return isReports ? 'reports' : undefined
}

/** Caches hashes as bytes: every request compares them. */
const cachedBytes = new WeakMap<KeyHashes, { readonly [tile in KeyTile]: Buffer }>()

function bytesOf(hashes: KeyHashes): { readonly [tile in KeyTile]: Buffer } {
  let bytes = cachedBytes.get(hashes)
  if (!bytes) {
    bytes = { data: toBytes(hashes.data), reports: toBytes(hashes.reports) }
    cachedBytes.set(hashes, bytes)
  }
  return bytes
}

function toBytes(hashInHex: string): Buffer {
  return Buffer.from(hashInHex, 'latin1')
}
