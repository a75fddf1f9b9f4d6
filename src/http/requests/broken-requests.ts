// Answers what is not valid HTTP, or comes too slowly, with the usual error body, written straight to the socket. Complete requests
// before it on the connection get their whole answers first; then the connection ends. It must never write an answer that a client
// could take for the answer to another request.
import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import { AppError } from '../../core/app-error.ts'
import { LINGER_MS } from '../answers/answer-stream.ts'
import { ERROR_STATUS, toErrorBody } from '../answers/error-answer.ts'
import { newRequestId } from './request-id.ts'

const MESSAGES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The address and the headers are too large. Send fewer or shorter headers.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive. Send it again.',
}

/** An answer on the bare connection, to a request whose head never arrived whole, or was not valid. */
export interface BareAnswer {
  readonly requestId: string
  readonly status: number
  readonly refusal: AppError
}

export interface BrokenRequestsOptions {
  /** Called with every reply whose connection ended before the reply was sent whole. */
  readonly onUnanswered: (reply: FastifyReply) => void
  readonly onBareAnswer: (answer: BareAnswer) => void
}

export class BrokenRequests {
  readonly #options: BrokenRequestsOptions
  /**
   * The answers of each connection that are not completely sent: several if requests are pipelined. An answer that was sent before
   * its request arrived whole stays until the next request shows that it did.
   */
  readonly #answers = new WeakMap<Socket, Set<ServerResponse>>()
  /** Connections that are ending. Their input is discarded; Node reports it as broken again and again. */
  readonly #broken = new WeakSet<Socket>()

  constructor(options: BrokenRequestsOptions) {
    this.#options = options
  }

  /** Call it for every request, before anything answers it. */
  follow(reply: FastifyReply): void {
    const response = reply.raw
    const { socket } = response.req
    const answers = this.#answers.get(socket) ?? new Set()
    this.#answers.set(socket, answers)
    // Answers close in order, so the loop stops at the first open one: pipelined requests do not make it quadratic.
    for (const answer of answers) {
      if (!answer.closed) break
      answers.delete(answer)
    }
    answers.add(response)
    response.once('close', () => {
      if (response.req.complete) answers.delete(response)
      // Node detaches the socket from a response that was sent.
      if (response.socket) this.#options.onUnanswered(reply)
    })
  }

  /** Whether a request that arrived whole on this connection still waits for its answer. */
  isAwaited(socket: Socket): boolean {
    return [...(this.#answers.get(socket) ?? [])].some(({ req, closed }) => req.complete && !closed)
  }

  /** Whether this connection gets no further answers. */
  isEnding(socket: Socket): boolean {
    return this.#broken.has(socket) || !socket.writable
  }

  /** Refuses broken input if it is the next to be answered, and ends the connection. */
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
    const refusal = error instanceof AppError ? error : toRefusal(error.code ?? '')
    if (!last) this.#refuse(socket, refusal, answers.length > 0)
    // The broken input is the rest of its own request: one request gets one answer.
    else if (last.closed) hangUp(socket, '')
    // The broken input is a request of its own, unless one has begun behind the last complete one.
    else if (last.req.complete && last === answers.at(-1))
      last.once('close', () => this.#refuse(socket, refusal, false))
    else last.once('close', () => hangUp(socket, ''))
  }

  /** A request with a whole head is reported when its connection ends; a connection without input asked for nothing. */
  #refuse(socket: Socket, refusal: AppError, hasHead: boolean): void {
    const requestId = newRequestId()
    const isRequest = !hasHead && socket.bytesRead > 0 && socket.writable
    hangUp(socket, toAnswer(refusal, requestId))
    if (isRequest) this.#options.onBareAnswer({ requestId, status: ERROR_STATUS[refusal.code], refusal })
  }
}

function hangUp(socket: Socket, lastWords: string): void {
  if (socket.writable) socket.end(lastWords)
  socket.resume()
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
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
