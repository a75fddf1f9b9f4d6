// API keys: how they are made and compared. Only the hash of a key is ever stored.
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

/** The tile whose key has this hash; undefined when neither has. Takes the same time whatever the outcome. */
export function matchTile(keyHash: string, known: KeyHashes): KeyTile | undefined {
  const given = toBytes(keyHash)
  const expected = bytesOf(known)
  const isData = timingSafeEqual(given, expected.data)
  const isReports = timingSafeEqual(given, expected.reports)
  if (isData) return 'data'
  return isReports ? 'reports' : undefined
}

/** Hashes as bytes, which can be compared in constant time; made only once, because they are compared at every request. */
const knownBytes = new WeakMap<KeyHashes, { readonly [tile in KeyTile]: Buffer }>()

function bytesOf(known: KeyHashes): { readonly [tile in KeyTile]: Buffer } {
  let bytes = knownBytes.get(known)
  if (!bytes) {
    bytes = { data: toBytes(known.data), reports: toBytes(known.reports) }
    knownBytes.set(known, bytes)
  }
  return bytes
}

function toBytes(hashInHex: string): Buffer {
  return Buffer.from(hashInHex, 'latin1')
}
