// Bodies in chunks (`Transfer-Encoding: chunked`): how many chunks one may have. A chunk of one byte costs the parser as much as
// a large one, even where nobody reads the body, and one read of a connection brings ten thousand of them.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { invalidRequest } from '../../core/app-error.ts'
import { EVENTS_PER_ENTRY_MAX } from '../../core/event.ts'
import type { Operation } from '../../operations/operation.ts'
import type { BrokenRequests } from './broken-requests.ts'

/** A client that sends each event as a chunk can send as many as a request may have. */
const CHUNKS_MAX = EVENTS_PER_ENTRY_MAX
/** An upload may have one more chunk for each of its codes: a code takes at least this many bytes, with the end of its line. */
const UPLOAD_CHUNK_BYTES = 4

interface Chunks {
  count: number
  bytes: number
  readonly isUpload: boolean
}

export class ChunkedBodies {
  readonly #brokenRequests: BrokenRequests

  constructor(brokenRequests: BrokenRequests) {
    this.#brokenRequests = brokenRequests
  }

  /** To be called before any of the body comes; does nothing for a body that is not chunked. */
  follow({ raw: request, routeOptions }: FastifyRequest, { raw: response }: FastifyReply): void {
    if (request.headers['transfer-encoding'] === undefined) return
    const chunks: Chunks = { count: 0, bytes: 0, isUpload: isUpload(request, routeOptions.config.operation) }
    const push = request.push.bind(request)
    request.push = (chunk: Uint8Array | null, encoding) => {
      if (chunk === null || isWithinLimit(chunks, chunk)) return push(chunk, encoding)
      this.#refuse(request, response)
      return false
    }
    // Once a request is answered, Node would pass on nothing more of a body that nobody reads.
    response.prependOnceListener('finish', () => request.resume())
  }

  /** Whoever reads the body answers; where nobody does, the request counts as broken. The rest of it is not even parsed. */
  #refuse(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    request.push = () => false
    process.nextTick(() => stopParsing(socket))
    if (request.listenerCount('error') === 0) return this.#brokenRequests.answer(tooManyChunks(), socket)
    this.#brokenRequests.endAfter(response, socket)
    request.emit('error', tooManyChunks())
  }
}

function isUpload({ headers }: IncomingMessage, operation: Operation | undefined): boolean {
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';', 1)
  return operation?.upload?.mediaType === mediaType.trim().toLowerCase()
}

function isWithinLimit(chunks: Chunks, { byteLength }: Uint8Array): boolean {
  chunks.count++
  chunks.bytes += byteLength
  return chunks.count <= CHUNKS_MAX + (chunks.isUpload ? chunks.bytes / UPLOAD_CHUNK_BYTES : 0)
}

/** Node's parser lets go of a connection that somebody else listens to, and after that nobody listens. */
function stopParsing(socket: Socket): void {
  socket.on('data', () => {})
  socket.removeAllListeners('data')
}

function tooManyChunks() {
  const problem = `came in more than ${CHUNKS_MAX} chunks of a few bytes each: send it in larger ones`
  return invalidRequest([{ field: 'body', problem }])
}
