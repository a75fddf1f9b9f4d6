// Compresses the bodies of a record batch with LZ4 where that saves at least a quarter, and decompresses them.
import { createRequire } from 'node:module'
import { messageOf } from '../../core/thrown.ts'
import { unavailable } from '../unavailable.ts'

type Lz4 = Pick<typeof import('lz4-napi'), 'compressSync' | 'uncompressSync'>

/** Smaller bodies stay uncompressed: they fit into a page that is written anyway, and few of their bytes repeat. */
const COMPRESSED_BYTES_MIN = 2 * 1024
/** Bodies that do not shrink to this share stay uncompressed: decompressing them would cost more than they save. */
const COMPRESSED_PART_MAX = 0.75
/** The length before the block. */
const LENGTH_BYTES = 4

const require = createRequire(import.meta.url)
/** The library, or why it could not be loaded; undefined before the first use. */
let loaded: { readonly lz4?: Lz4; readonly reason?: string } | undefined

/**
 * The length of the body (4 bytes, little-endian), then an LZ4 block. Undefined if the body stays uncompressed, as all do where LZ4
 * cannot be loaded.
 */
export function compressBody(body: Buffer): Buffer | undefined {
  if (body.byteLength < COMPRESSED_BYTES_MIN) return undefined
  const compressed = loadLz4().lz4?.compressSync(body)
  return compressed && compressed.byteLength <= body.byteLength * COMPRESSED_PART_MAX ? compressed : undefined
}

/**
 * The body, of `bytes` bytes, that `compressBody` compressed. Throws an Error if the length differs, and AppError `unavailable` if
 * LZ4 cannot be loaded.
 */
export function decompressBody(compressed: Uint8Array, bytes: number): Buffer {
  const { lz4, reason } = loadLz4()
  if (!lz4) {
    throw unavailable(
      `The log contains compressed requests, but LZ4 cannot be loaded (${reason}). Reinstall with optional packages.`,
    )
  }
  // Checked first: LZ4 would reserve the memory for any length that a damaged body claims.
  const claimed = Buffer.from(compressed.buffer, compressed.byteOffset, LENGTH_BYTES).readUInt32LE()
  if (claimed !== bytes) throw new Error(`a body of ${bytes} bytes claims to have ${claimed} bytes`)
  return lz4.uncompressSync(compressed)
}

/** Loads the library on first use. It is native code in an optional package per system. */
function loadLz4(): NonNullable<typeof loaded> {
  if (loaded) return loaded
  try {
    loaded = { lz4: require('lz4-napi') as Lz4 }
  } catch (error) {
    loaded = { reason: messageOf(error) }
  }
  return loaded
}
