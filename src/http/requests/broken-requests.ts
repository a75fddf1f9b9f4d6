// What is not even HTTP, or came too slowly, gets the one error body as well, written on the bare connection. If complete
// requests before it are still to be answered, they get their whole answers, and the connection ends without a further one.
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import { AppError } from '../../core/app-error.ts'
import { ERROR_STATUS, toErrorBody } from '../answers/error-answer.ts'
import { newRequestId } from './request-id.ts'

/** How long what a client still sends is read and discarded, so that it can read the answer instead of meeting a reset. */
const LINGER_MS = 2_000
/** The rest of a request that gets this answer is not waited for. */
const TOO_SLOW = ERROR_STATUS.request_timeout

const MESSAGES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The address and the headers are too large.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive.',
}

/** An answer on the bare connection, to a request whose head never arrived whole, or was not valid. */
export interface BareAnswer {
  readonly requestId: string
  readonly status: number
}

export interface BrokenRequestsOptions {
  /** Gets every reply whose connection ended before the reply was sent whole. */
  readonly onUnanswered: (reply: FastifyReply) => void
  readonly onBareAnswer: (answer: BareAnswer) => void
}

export class BrokenRequests {
  readonly #options: BrokenRequestsOptions
  /**
   * The answers that a connection has not been sent whole yet; more than one where requests are sent all at once. Also an answer
   * that was sent before its request arrived whole, until the next request shows that it did.
   */
  readonly #answers = new WeakMap<Socket, Set<ServerResponse>>()
  /** Connections that are ending: what still comes is discarded, and is reported as broken again and again. */
  readonly #broken = new WeakSet<Socket>()

  constructor(options: BrokenRequestsOptions) {
    this.#options = options
  }

  /** To be called for every request, before anything answers it. */
  follow(reply: FastifyReply): void {
    const response = reply.raw
    const { socket } = response.req
    const answers = this.#answers.get(socket) ?? this.#begin(socket)
    // Answers close in order, so the loop ends at the first open one: many sent at once are not all looked at again for each.
    for (const answer of answers) {
      if (!answer.closed) break
      answers.delete(answer)
    }
    answers.add(response)
    response.once('close', () => {
      if (response.req.complete) answers.delete(response)
      // Node takes the connection away from a response that has been sent.
      if (response.socket) this.#options.onUnanswered(reply)
    })
  }

  /** Whether a request that came whole on this connection is still to be answered. */
  isAwaited(socket: Socket): boolean {
    return [...(this.#answers.get(socket) ?? [])].some(({ req, closed }) => req.complete && !closed)
  }

  /** Whether what comes on this connection from now on is no longer answered. */
  isEnding(socket: Socket): boolean {
    return this.#broken.has(socket) || !socket.writable
  }

  /** Ends the connection once `response` is sent; no more of its request is parsed. */
  endAfter(response: ServerResponse, socket: Socket): void {
    this.#broken.add(socket)
    if (response.closed) hangUp(socket, '')
    else response.once('close', () => hangUp(socket, ''))
  }

  /**
   * Node closes a connection that is not kept alive as soon as its answer is sent. What still comes of a request that was refused
   * before its body would then meet a reset, and the client would not get to read why: so that is first read and discarded, as on
   * a connection that is kept alive.
   */
  #begin(socket: Socket): Set<ServerResponse> {
    const answers = new Set<ServerResponse>()
    this.#answers.set(socket, answers)
    const closeAtOnce = socket.destroySoon.bind(socket)
    socket.destroySoon = () => {
      const early = [...answers].find(({ req, writableFinished }) => writableFinished && !req.complete)
      if (this.#broken.has(socket) || early?.statusCode === TOO_SLOW) hangUp(socket, '')
      else if (early) closeAfter(early.req, socket)
      else closeAtOnce()
    }
    return answers
  }

  /** Refuses what broke if it is the next to be answered, and ends the connection. */
  answer(error: Error & { readonly code?: string }, socket: Socket): void {
    if (this.#broken.has(socket)) return
    this.#broken.add(socket)
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    // A refusal sent before one of these would be taken for its answer, and the client would repeat a request that has taken
    // effect.
    const answers = [...(this.#answers.get(socket) ?? [])].filter(({ req, closed }) => !(req.complete && closed))
    const last = answers.findLast(({ req, headersSent }) => req.complete || headersSent)
    if (!last) this.#refuse(socket, error instanceof AppError ? error : toRefusal(error.code ?? ''), answers.length > 0)
    // It is answered already, and what broke is the rest of its own request: one request gets one answer.
    else if (last.closed) hangUp(socket, '')
    else last.once('close', () => hangUp(socket, ''))
  }

  /**
   * A request that had a head is reported when its connection ends; a connection on which nothing ever came asked for nothing.
   */
  #refuse(socket: Socket, refusal: AppError, hasHead: boolean): void {
    const requestId = newRequestId()
    const isRequest = !hasHead && socket.bytesRead > 0
    hangUp(socket, toAnswer(refusal, requestId))
    if (isRequest) this.#options.onBareAnswer({ requestId, status: ERROR_STATUS[refusal.code] })
  }
}

function hangUp(socket: Socket, lastWords: string): void {
  if (socket.writable) socket.end(lastWords)
  socket.resume()
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

/** Waits for the rest of the request as long as a request may take at all. */
function closeAfter(request: IncomingMessage, socket: Socket): void {
  socket.end()
  request.once('end', () => socket.destroy())
}

function toRefusal(errorCode: string): AppError {
  const code = errorCode === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'request_timeout' : 'invalid_request'
  return new AppError(code, MESSAGES[errorCode] ?? 'This is not valid HTTP.')
}

function toAnswer(refusal: AppError, requestId: string): string {
  const body = JSON.stringify(toErrorBody(refusal, requestId))
  const status = ERROR_STATUS[refusal.code]
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
