// Streams some answers: large ones in pieces, and early ones, sent before their whole request has arrived, with a pause before the
// end. Node considers an answer finished as soon as all of it is queued, and may then close the connection. It queues the end of a
// stream only after the system has taken everything before it.
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify'
import type { HttpLimits } from '../http-limits.ts'
import { ERROR_STATUS } from './error-answer.ts'

/** The largest piece. Pieces show that a slow client reads (`connections.ts`). */
export const PIECE_BYTES_MAX = 256 * 1024
/** Node applies backpressure to a stream only after a write of this size, so no last piece is smaller. */
const LAST_PIECE_BYTES_MIN = 64 * 1024
/** How long input is discarded after the last answer on a connection, so that the client reads it instead of getting a reset. */
export const LINGER_MS = 2_000

/** The `onSend` hook of all routes. */
export function streamWhereNeeded({ bodyWaitMs }: HttpLimits): onSendHookHandler {
  return (request, reply, payload, done) => {
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return done(null, payload)
    const bytes = Buffer.byteLength(payload)
    if (isEarly(request, reply)) {
      // Does not wait again for a client that was too slow.
      const waitMs = reply.statusCode === ERROR_STATUS.request_timeout ? LINGER_MS : bodyWaitMs
      reply.header('content-length', bytes)
      return done(null, Readable.from(endLate(payload, request.raw, waitMs), { objectMode: false }))
    }
    return done(null, bytes <= LAST_PIECE_BYTES_MIN ? payload : streamOf(reply, [Buffer.from(payload)]))
  }
}

/** Whether the connection ends with this answer, although part of the request is still to come. */
function isEarly({ raw }: FastifyRequest, reply: FastifyReply): boolean {
  return !raw.complete && (!reply.raw.shouldKeepAlive || reply.getHeader('connection') === 'close')
}

/** The answer; its end follows when the request has arrived, or after `waitMs`. */
async function* endLate(payload: string | Buffer, request: IncomingMessage, waitMs: number) {
  yield payload
  request.resume()
  // Rejects if the client disconnects or takes too long; then there is nothing to wait for either.
  await finished(request, { signal: AbortSignal.timeout(waitMs), cleanup: true }).catch(() => {})
}

/** A large answer in pieces. Sets its length. */
export function streamOf(reply: FastifyReply, parts: readonly Uint8Array[]): Readable {
  const bytes = parts.reduce((sum, part) => sum + part.byteLength, 0)
  reply.header('content-length', bytes)
  return Readable.from(oneByOne(piecesOf(parts)), { objectMode: false })
}

/** An answer that is made while it is sent. Its client determines how fast. */
export function liveStreamOf(parts: AsyncIterable<Uint8Array>): Readable {
  return Readable.from(inPieces(parts), { objectMode: false })
}

async function* inPieces(parts: AsyncIterable<Uint8Array>) {
  for await (const part of parts) yield* cut(part)
}

/** Asynchronous, because a stream over a synchronous iterable ends together with its last piece, before the system has taken it. */
async function* oneByOne(pieces: Iterable<Uint8Array>) {
  yield* pieces
}

/** The same bytes in pieces of at most `PIECE_BYTES_MAX`. Only the last piece is copied, and may be a little larger. */
export function* piecesOf(parts: readonly Uint8Array[]): Generator<Uint8Array> {
  const pieces = parts.flatMap(cut)
  let last = pieces.length
  for (let bytes = 0; last > 0 && bytes < LAST_PIECE_BYTES_MIN;) bytes += (pieces[--last] as Uint8Array).byteLength
  yield* pieces.slice(0, last)
  yield Buffer.concat(pieces.slice(last))
}

function cut(part: Uint8Array): Uint8Array[] {
  const count = Math.ceil(part.byteLength / PIECE_BYTES_MAX)
  return Array.from({ length: count }, (_, at) => part.subarray(at * PIECE_BYTES_MAX, (at + 1) * PIECE_BYTES_MAX))
}
