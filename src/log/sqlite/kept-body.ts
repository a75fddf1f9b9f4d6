// How the embedded log keeps the bodies of a group: as they came, or compressed where that saves much of what is written for them.
import { createRequire } from 'node:module'
import { AppError } from '../../core/app-error.ts'
import { messageOf } from '../../core/thrown.ts'

type Lz4 = Pick<typeof import('lz4-napi'), 'compressSync' | 'uncompressSync'>

/** Less stays as it came: it fits into a page that is written anyway, and few of its bytes repeat. */
const COMPRESSED_BYTES_MIN = 2 * 1024
/** What does not shrink to this part of itself is kept as it came, so that nobody expands it for little. */
const COMPRESSED_PART_MAX = 0.75

const require = createRequire(import.meta.url)
/** What came of loading it. */
let loaded: { readonly lz4?: Lz4; readonly reason?: string } | undefined

/**
 * An LZ4 block behind the length of the body (4 bytes, little-endian); undefined for a body that is kept as it came, as all are
 * where this system has no LZ4.
 */
export function compressBody(body: Buffer): Buffer | undefined {
  if (body.byteLength < COMPRESSED_BYTES_MIN) return undefined
  const compressed = loadLz4().lz4?.compressSync(body)
  return compressed && compressed.byteLength <= body.byteLength * COMPRESSED_PART_MAX ? compressed : undefined
}

/**
 * The body of `bytes` bytes that `compressBody` made this of. Throws where it is not, and AppError `unavailable` where this
 * system has no LZ4.
 */
export function expandBody(compressed: Uint8Array, bytes: number): Buffer {
  const { lz4, reason } = loadLz4()
  if (!lz4) {
    throw new AppError(
      'unavailable',
      `The log contains compressed requests, but LZ4 cannot be loaded (${reason}). Reinstall with optional packages.`,
    )
  }
  const body = lz4.uncompressSync(compressed)
  if (body.byteLength !== bytes) throw new Error(`a body of ${bytes} bytes decompressed to ${body.byteLength} bytes`)
  return body
}

/** When it is needed first: it is compiled code, which is in an optional package for each system. */
function loadLz4(): NonNullable<typeof loaded> {
  if (loaded) return loaded
  try {
    loaded = { lz4: require('lz4-napi') as Lz4 }
  } catch (error) {
    loaded = { reason: messageOf(error) }
  }
  return loaded
}
