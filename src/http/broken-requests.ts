// What is not even HTTP, or came too slowly, gets the one error body too, written on the bare connection. Where requests that
// came whole before it are still to be answered, their answers come whole too, and the connection ends without another one.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import { AppError } from '../core/app-error.ts'
import { ERROR_STATUS, toErrorBody } from './error-answer.ts'
import { newRequestId } from './request-id.ts'

/** How long what a client still sends is read past, so that it can read the answer instead of a reset. */
const LINGER_MS = 2_000
/** What comes of such a request after its answer is not waited for. */
const TOO_SLOW = ERROR_STATUS.request_timeout

const MESSAGES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The address and the headers are too large.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive.',
}

export class BrokenRequests {
  readonly #onUnanswered: (reply: FastifyReply) => void
  /**
   * The answers that a connection has not got whole yet; more than one where requests are sent all at once. Besides, one
   * that it got before its request came whole, until the next request tells that it did.
   */
  readonly #answers = new WeakMap<Socket, Set<ServerResponse>>()
  /** Connections that are ending: what still comes is read past, and is reported as broken again and again. */
  readonly #broken = new WeakSet<Socket>()

  /** `onUnanswered` gets every reply whose connection ended before it was sent whole. */
  constructor(onUnanswered: (reply: FastifyReply) => void) {
    this.#onUnanswered = onUnanswered
  }

  /** To be called for every request, before anything answers it. */
  follow(reply: FastifyReply): void {
    const response = reply.raw
    const { socket } = response.req
    const answers = this.#answers.get(socket) ?? this.#begin(socket)
    // They close in their order, so that many which are sent at once are not looked at again for each of them.
    for (const answer of answers) {
      if (!answer.closed) break
      answers.delete(answer)
    }
    answers.add(response)
    response.once('close', () => {
      if (response.req.complete) answers.delete(response)
      // Node takes the connection from a response that is sent.
      if (response.socket) this.#onUnanswered(reply)
    })
  }

  /** Whether a request that came whole on this connection is still to be answered. */
  isAwaited(socket: Socket): boolean {
    return [...(this.#answers.get(socket) ?? [])].some(({ req, closed }) => req.complete && !closed)
  }

  /** Whether nothing is answered any more that comes on this connection from now on. */
  isEnding(socket: Socket): boolean {
    return this.#broken.has(socket) || !socket.writable
  }

  /** Ends the connection once `response` is sent, to a request of which nothing more is parsed. */
  endAfter(response: ServerResponse, socket: Socket): void {
    this.#broken.add(socket)
    if (response.closed) hangUp(socket, '')
    else response.once('close', () => hangUp(socket, ''))
  }

  /**
   * Node closes a connection that is not kept as soon as its answer is sent. What still comes of a request that was refused
   * before its body would be answered with a reset, and the client would not get to read why: that is read past first, as on
   * a connection that is kept.
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

  /** Refuses what broke where it is the next to be answered, and ends the connection. */
  answer(error: Error & { readonly code?: string }, socket: Socket): void {
    if (this.#broken.has(socket)) return
    this.#broken.add(socket)
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    // A refusal before one of these would be taken for its answer, and the client would repeat what has its effect.
    const answers = [...(this.#answers.get(socket) ?? [])].filter(({ req, closed }) => !(req.complete && closed))
    const last = answers.findLast(({ req, headersSent }) => req.complete || headersSent)
    if (!last) hangUp(socket, toAnswer(error instanceof AppError ? error : toRefusal(error.code ?? '')))
    // Answered already, and what broke is the rest of its request: one request gets one answer.
    else if (last.closed) hangUp(socket, '')
    else last.once('close', () => hangUp(socket, ''))
  }
}

function hangUp(socket: Socket, lastWords: string): void {
  if (socket.writable) socket.end(lastWords)
  socket.resume()
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

/** However long the rest takes, as long as a request may take at all. */
function closeAfter(request: IncomingMessage, socket: Socket): void {
  socket.end()
  request.once('end', () => socket.destroy())
}

function toRefusal(errorCode: string): AppError {
  const code = errorCode === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'request_timeout' : 'invalid_request'
  return new AppError(code, MESSAGES[errorCode] ?? 'This is not valid HTTP.')
}

function toAnswer(refusal: AppError): string {
  const requestId = newRequestId()
  const body = JSON.stringify(toErrorBody(refusal, requestId))
  const head = [
    refusal.code === 'request_timeout' ? 'HTTP/1.1 408 Request Timeout' : 'HTTP/1.1 400 Bad Request',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
