// Generates and compares API keys. Only the hash of a key is stored.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { KEY_TILES, type KeyTile } from '../../core/accounts/key-tile.ts'

const KEY_BYTES = 32

/** The key of a tile, as it is stored. */
export interface ApiKey {
  /** SHA-256 in lower-case hex. */
  readonly hash: string
  /** When and by whom it was made; null for keys from before this was stored. */
  readonly createdAt: number | null
  readonly createdBy: string | null
  /** The key that it replaced, if that was to stay valid for a while; perhaps its time is over. */
  readonly previous: PreviousKey | null
}

export interface PreviousKey {
  readonly hash: string
  /** The first millisecond in which it is not valid any more. */
  readonly validUntil: number
}

export type ApiKeys = { readonly [tile in KeyTile]: ApiKey }

/** A new key: 256 random bits, so a fast hash is safe. */
export function generateKey(tile: KeyTile): string {
  return `td_${tile}_${randomBytes(KEY_BYTES).toString('base64url')}`
}

/** SHA-256 in lower-case hex. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex')
}

/**
 * The tile for which a key with this hash is valid at `now`; undefined if there is none. All failures take equally long: nobody
 * learns whether a previous key is valid. A current key is found sooner.
 */
export function matchTile(keyHash: string, keys: ApiKeys, now: number): KeyTile | undefined {
  const given = toBytes(keyHash)
  const { current, previous } = comparedHashesOf(keys)
  return matchOne(given, current, now) ?? matchOne(given, previous, now)
}

/** Compares with all, in constant time. */
function matchOne(given: Buffer, hashes: readonly ComparedHash[], now: number): KeyTile | undefined {
  let matched: KeyTile | undefined
  for (const { tile, bytes, validUntil } of hashes) {
    const isEqual = timingSafeEqual(given, bytes)
    if (isEqual && now < validUntil) matched = tile
  }
  return matched
}

/** The previous key, if it is still valid. */
export function validPrevious({ previous }: ApiKey, now: number): PreviousKey | null {
  return previous && now < previous.validUntil ? previous : null
}

interface ComparedHash {
  readonly tile: KeyTile
  readonly bytes: Buffer
  readonly validUntil: number
}

/** One of each kind for every tile. */
interface ComparedHashes {
  readonly current: readonly ComparedHash[]
  readonly previous: readonly ComparedHash[]
}

/** Stands where no key is, so that every comparison is made. No key has this hash. */
export const NO_HASH = '0'.repeat(64)

/** Caches hashes as bytes: every request compares them. */
const cachedHashes = new WeakMap<ApiKeys, ComparedHashes>()

function comparedHashesOf(keys: ApiKeys): ComparedHashes {
  let hashes = cachedHashes.get(keys)
  if (!hashes) {
    hashes = {
      current: KEY_TILES.map((tile) => ({ tile, bytes: toBytes(keys[tile].hash), validUntil: Infinity })),
      previous: KEY_TILES.map((tile) => {
        const { hash: oldHash, validUntil } = keys[tile].previous ?? NO_PREVIOUS
        return { tile, bytes: toBytes(oldHash), validUntil }
      }),
    }
    cachedHashes.set(keys, hashes)
  }
  return hashes
}

const NO_PREVIOUS: PreviousKey = { hash: NO_HASH, validUntil: -Infinity }

function toBytes(hashInHex: string): Buffer {
  return Buffer.from(hashInHex, 'latin1')
}
