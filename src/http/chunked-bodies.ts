// Bodies in chunks (`Transfer-Encoding: chunked`): how many there may be of one. A chunk of one byte costs the parser as much
// as a large one, also where nobody reads the body, and one read of a connection brings ten thousand of them.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { invalidRequest } from '../core/app-error.ts'
import { EVENTS_PER_ENTRY_MAX } from '../core/event.ts'
import type { Operation } from '../operations/operation.ts'
import type { BrokenRequests } from './broken-requests.ts'

/** Whoever makes a chunk of each event of a request can send as many as it may have. */
const CHUNKS_MAX = EVENTS_PER_ENTRY_MAX
/** An upload may have one more for each of its codes: so many bytes at least, with the end of the line. */
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

  /** To be called before anything of the body comes; does nothing for one that does not come in chunks. */
  follow({ raw: request, routeOptions }: FastifyRequest, { raw: response }: FastifyReply): void {
    if (request.headers['transfer-encoding'] === undefined) return
    const chunks: Chunks = { count: 0, bytes: 0, isUpload: isUpload(request, routeOptions.config.operation) }
    const push = request.push.bind(request)
    request.push = (chunk: Uint8Array | null, encoding) => {
      if (chunk === null || isWithinLimit(chunks, chunk)) return push(chunk, encoding)
      this.#refuse(request, response)
      return false
    }
    // Of a body that nobody reads Node would pass nothing on any more once its request is answered.
    response.prependOnceListener('finish', () => request.resume())
  }

  /** Who reads the body answers; where nobody does, it is a request that broke. The rest of it is not even parsed. */
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

/** Node's parser leaves a connection alone that somebody else listens to, and then nobody does. */
function stopParsing(socket: Socket): void {
  socket.on('data', () => {})
  socket.removeAllListeners('data')
}

function tooManyChunks() {
  const problem = `came in more than ${CHUNKS_MAX} chunks of a few bytes each: send it in larger ones`
  return invalidRequest([{ field: 'body', problem }])
}
