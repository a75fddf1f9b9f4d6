// Reads a body, decompressed and limited in size, as one piece or as a stream. It must leave the connection in a state in which the
// client can read the answer and go on.
import type { IncomingMessage } from 'node:http'
import { createGunzip } from 'node:zlib'
import { AppError, invalidRequest } from '../../core/app-error.ts'
import type { ReceivedBodies } from './received-bodies.ts'

/** How much of a refused body is still read, so that the client can finish sending and read the answer. */
const DRAINED_BYTES_MAX = 8 * 1024 * 1024
/** How much compression may add to incompressible data. */
const GZIP_OVERHEAD_MAX = 64 * 1024

/** A body that is about to be read: how large it may be, decompressed, and where it is counted. */
export interface BodyToRead {
  /** The workspace that sends it. */
  readonly sender: string
  readonly bytesMax: number
  readonly bodies: ReceivedBodies
}

/**
 * The whole body. Throws `payload_too_large` past `bytesMax` bytes, `invalid_request` for broken gzip, `request_timeout` if it
 * takes too long to arrive, `unavailable` if too much else arrives at the same time.
 */
export async function readBody(request: IncomingMessage, toRead: BodyToRead): Promise<Uint8Array> {
  refuseLost(request)
  refuseAnnounced(request, toRead)
  if (request.headers['content-encoding'] === undefined) return readPlain(request, toRead)
  const { sender, bodies } = toRead
  const chunks: Uint8Array[] = []
  const body = bodies.begin({ request, sender, isUpload: false })
  try {
    for await (const chunk of readChunks(request, toRead.bytesMax)) {
      bodies.hold(body, chunk.byteLength)
      chunks.push(chunk)
    }
  } finally {
    bodies.end(body)
  }
  return Buffer.concat(chunks)
}

/** The common case, read by events, which saves a small body the promises of an iteration. */
function readPlain(request: IncomingMessage, { sender, bytesMax, bodies }: BodyToRead): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const body = bodies.begin({ request, sender, isUpload: false })
    let chunks: Uint8Array[] = []
    let bytes = 0
    let isRefused = false
    const refuse = (error: unknown) => {
      isRefused = true
      chunks = []
      bodies.end(body)
      reject(error)
    }
    request.on('data', (chunk: Uint8Array) => {
      if (isRefused) return
      bytes += chunk.byteLength
      // Reads and discards the rest of a body that is too large, so that the client can finish sending and read the answer.
      if (bytes > bytesMax) {
        if (bytes > bytesMax + DRAINED_BYTES_MAX) refuse(tooLarge(bytesMax))
        return
      }
      try {
        // A complete body is used at once, and is not counted.
        if (!request.complete) bodies.hold(body, chunk.byteLength)
        chunks.push(chunk)
      } catch (error) {
        refuse(error)
      }
    })
    request.on('end', () => {
      bodies.end(body)
      if (bytes > bytesMax) reject(tooLarge(bytesMax))
      else resolve(chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks))
    })
    request.on('error', (error) => refuse(error instanceof AppError ? error : incomplete()))
  })
}

/** An upload piece by piece, with the same refusals as `readBody`; it may take long while data keeps arriving. */
export async function* streamBody(request: IncomingMessage, toRead: BodyToRead): AsyncGenerator<Uint8Array> {
  refuseLost(request)
  refuseAnnounced(request, toRead)
  const { sender, bytesMax, bodies } = toRead
  const body = bodies.begin({ request, sender, isUpload: true })
  try {
    yield* readChunks(request, bytesMax)
  } finally {
    bodies.end(body)
  }
}

/** If the client disconnected before this, its event has already been emitted and does not come again. */
function refuseLost(request: IncomingMessage): void {
  if (request.destroyed) throw incomplete()
}

/** Before any of it is read: the client need not send it, and a stream would take effect before its end. */
function refuseAnnounced(request: IncomingMessage, { bytesMax }: BodyToRead): void {
  if (announcedBytes(request) > bytesMax) throw tooLarge(bytesMax)
}

async function* readChunks(request: IncomingMessage, bytesMax: number): AsyncGenerator<Uint8Array> {
  let isTooLarge = false
  // An error without a listener would end the process.
  request.on('error', () => {})
  try {
    isTooLarge = yield* upTo(bytesMax, decoded(request, bytesMax))
    if (isTooLarge) await drain(request)
  } catch (error) {
    throw request.errored && !(error instanceof AppError) ? incomplete() : error
  } finally {
    // Discards the rest: otherwise the client could not finish sending, and its next request would not be read.
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

/** 0 if the length is unknown, or that of compressed data. */
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
      throw new AppError(
        'unsupported_media_type',
        'The Content-Encoding is not supported. Send the body as it is, or with Content-Encoding: gzip.',
      )
  }
}

async function* gunzipped(request: IncomingMessage, bytesMax: number): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip()
  let compressedBytes = 0
  // Gzip that decompresses to nothing could go on for ever.
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
  return new AppError(
    'payload_too_large',
    `The body is too large. Send at most ${bytesMax} bytes, counted decompressed.`,
  )
}
