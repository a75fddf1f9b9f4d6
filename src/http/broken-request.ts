// What is not even HTTP, or came too slowly, gets the one error body too, written on the bare connection.
import type { Socket } from 'node:net'
import { AppError } from '../core/app-error.ts'
import { toErrorBody } from './error-answer.ts'
import { newRequestId } from './request-id.ts'

/** How long what a client still sends is read past, so that it can read the answer instead of a reset. */
const LINGER_MS = 2_000

const MESSAGES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The address and the headers are too large.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive.',
}

export function answerBrokenRequest(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const refusal = new AppError('invalid_request', MESSAGES[error.code ?? ''] ?? 'This is not valid HTTP.')
  const requestId = newRequestId()
  const body = JSON.stringify(toErrorBody(refusal, requestId))
  const head = [
    'HTTP/1.1 400 Bad Request',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  socket.resume()
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}
