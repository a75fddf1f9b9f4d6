// Reads the bytes of a body: decompressed, counted against the limit of the operation, as one piece or as a stream.
import type { IncomingMessage } from 'node:http'
import { createGunzip } from 'node:zlib'
import { AppError, invalidRequest } from '../core/app-error.ts'

/** How much of a body that is refused is still read, so that the client can send it and then read the answer. */
const DRAINED_BYTES_MAX = 8 * 1024 * 1024
/** What compression may add to a body that cannot be compressed. */
const GZIP_OVERHEAD_MAX = 64 * 1024

/** All of a body. Throws `payload_too_large` past `bytesMax` decompressed bytes, `invalid_request` for broken gzip. */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Uint8Array> {
  if (request.headers['content-encoding'] === undefined) return readPlain(request, bytesMax)
  const chunks: Uint8Array[] = []
  for await (const chunk of streamBody(request, bytesMax)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** The common case by events, which spares a small body the promises of an iteration. */
function readPlain(request: IncomingMessage, bytesMax: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    request.on('data', (chunk: Uint8Array) => {
      bytes += chunk.byteLength
      if (bytes <= bytesMax) chunks.push(chunk)
      // What is too large is read on but not kept, so that the client can finish sending and read the answer.
      else if (bytes > bytesMax + DRAINED_BYTES_MAX) reject(tooLarge(bytesMax))
    })
    request.on('end', () => {
      if (bytes > bytesMax) reject(tooLarge(bytesMax))
      else resolve(chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks))
    })
    request.on('error', () => reject(incomplete()))
  })
}

/** A body piece by piece, with the same refusals as `readBody`. */
export async function* streamBody(request: IncomingMessage, bytesMax: number): AsyncGenerator<Uint8Array> {
  // What is announced as too large is not even begun: a stream has effects before its end.
  let isTooLarge = announcedBytes(request) > bytesMax
  try {
    if (!isTooLarge) isTooLarge = yield* upTo(bytesMax, decoded(request, bytesMax))
    if (isTooLarge) await drain(request)
  } catch (error) {
    throw request.errored ? incomplete() : error
  } finally {
    // What nobody reads any more flows past, or neither the client would finish sending nor its next request be read.
    request.resume()
  }
  if (isTooLarge) throw tooLarge(bytesMax)
}

/** Ends before the chunk that would be too much, and says whether there was one. */
async function* upTo(bytesMax: number, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, boolean> {
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.byteLength
    if (bytes > bytesMax) return true
    yield chunk
  }
  return false
}

/** 0 where the length is not known or is that of something compressed. */
function announcedBytes({ headers }: IncomingMessage): number {
  return headers['content-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : 0
}

function decoded(request: IncomingMessage, bytesMax: number): AsyncIterable<Uint8Array> {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  switch (encoding) {
    case 'identity':
    case '':
      return request.iterator({ destroyOnReturn: false })
    case 'gzip':
    case 'x-gzip':
      return gunzipped(request, bytesMax)
    default:
      throw new AppError('unsupported_media_type', 'A body may be sent as it is or with Content-Encoding: gzip.')
  }
}

async function* gunzipped(request: IncomingMessage, bytesMax: number): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip()
  let compressedBytes = 0
  // Gzip of nothing can go on for ever without giving a byte to count.
  request.on('data', (chunk: Uint8Array) => {
    compressedBytes += chunk.byteLength
    if (compressedBytes > bytesMax + GZIP_OVERHEAD_MAX) gunzip.destroy(tooLarge(bytesMax))
  })
  request.on('error', (error) => gunzip.destroy(error))
  try {
    yield* request.pipe(gunzip) as AsyncIterable<Uint8Array>
  } catch (error) {
    if (request.errored || error instanceof AppError) throw error
    throw invalidRequest([{ field: 'body', problem: 'must be valid gzip, as its Content-Encoding says' }])
  } finally {
    request.unpipe(gunzip)
    gunzip.destroy()
  }
}

async function drain(request: IncomingMessage): Promise<void> {
  let bytes = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > DRAINED_BYTES_MAX) return
  }
}

function incomplete(): AppError {
  return invalidRequest([{ field: 'body', problem: 'must arrive whole; the connection ended before' }])
}

function tooLarge(bytesMax: number): AppError {
  return new AppError('payload_too_large', `The body must have at most ${bytesMax} bytes, decompressed.`)
}
