// The way through Fastify to an operation: its routes, how bodies are read, and how answers of any size are sent.
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction, RouteOptions } from 'fastify'
import { AppError } from '../core/app-error.ts'
import { JsonText } from '../operations/json-text.ts'
import type { Operation } from '../operations/operation.ts'
import { PIECE_BYTES_MAX, piecesToSend } from './answers/answer-pieces.ts'
import { tooMuchUnsent } from './answers/unsent-answers.ts'
import type { Attempt, Caller } from './authentication.ts'
import { admit, carryOut, takeLimit, type DoorParts, type Passage } from './door.ts'
import type { Exchange, SentBody } from './exchange.ts'
import { callerAddress } from './requests/caller-address.ts'
import type { ReceivedBodies } from './requests/received-bodies.ts'
import { readBody, streamBody, type BodyToRead } from './requests/request-body.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before a request to an operation is admitted. */
    exchange: Exchange | null
  }
  interface FastifyContextConfig {
    operation?: Operation
  }
}

class FastifyExchange implements Exchange {
  readonly #reply: FastifyReply
  readonly #callerAddress: string
  readonly requestId: string
  readonly url: string
  readonly headers: Exchange['headers']
  readonly params: unknown
  readonly query: unknown
  attempt: Attempt | undefined = undefined
  caller: Caller | undefined = undefined
  receivedAt = 0

  constructor(request: FastifyRequest, reply: FastifyReply) {
    this.#reply = reply
    this.requestId = request.id
    this.url = request.url
    this.headers = request.headers
    this.params = request.params
    this.query = request.query
    // Nobody knows it any more once the connection has ended.
    this.#callerAddress = callerAddress(request)
  }

  callerAddress(): string {
    return this.#callerAddress
  }

  setHeader(name: string, value: string | number): void {
    this.#reply.header(name, value)
  }
}

/** The routes of one operation, one for each address. */
export function routesOf(passage: Passage): RouteOptions[] {
  const { operation } = passage
  return [operation.url, ...(operation.otherUrls ?? [])].map((url) => ({
    method: operation.method,
    url,
    config: { operation },
    onRequest: (request, reply, done) => admitRequest(request, reply, passage, done),
    handler: (request, reply) => answer(request, reply, passage),
  }))
}

function admitRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  passage: Passage,
  done: HookHandlerDoneFunction,
): void {
  request.exchange = new FastifyExchange(request, reply)
  try {
    const admitted = admit(request.exchange, passage)
    if (admitted instanceof Promise) void admitted.then(() => done(), done)
    else done()
  } catch (error) {
    done(error as Error)
  }
}

async function answer(request: FastifyRequest, reply: FastifyReply, passage: Passage): Promise<Payload> {
  const output = carryOut(request.exchange as Exchange, passage, request.body as SentBody)
  return preparePayload(reply, passage, await output)
}

/**
 * Counts a request that Fastify refused with an error, before the handler could read its body, as one. Returns the refusal that
 * comes first: the limit's, or that error.
 */
export async function countUnread(error: unknown, request: FastifyRequest, door: DoorParts): Promise<unknown> {
  const { operation } = request.routeOptions.config
  const { exchange } = request
  try {
    if (operation?.limitUnits && exchange?.caller) await takeLimit(exchange, operation, 1, door)
    return error
  } catch (refusal) {
    return refusal
  }
}

/** What Fastify sends as it is. Returning it saves the promises with which Fastify would wait for a reply that sends itself. */
type Payload = string | Readable | undefined

/** Sets status and headers. Throws `unavailable` where the request changed nothing and too much else is unsent. */
function preparePayload(reply: FastifyReply, { operation, door: { unsent } }: Passage, value: unknown): Payload {
  reply.code(operation.successStatus)
  if (operation.successStatus === 204) return undefined
  reply.header('content-type', 'application/json; charset=utf-8')
  const text = value instanceof JsonText ? value : JSON.stringify(value)
  const bytes = text instanceof JsonText ? text.byteLength : Buffer.byteLength(text)
  if (operation.method !== 'GET' && !operation.onlyReads) unsent.add(reply.raw, bytes)
  else if (!unsent.addIfFits(reply.raw, bytes)) throw tooMuchUnsent()
  if (text instanceof JsonText) return inPieces(reply, text.pieces)
  return bytes <= PIECE_BYTES_MAX ? text : inPieces(reply, [Buffer.from(text)])
}

function inPieces(reply: FastifyReply, pieces: readonly Uint8Array[]): Readable {
  const bytes = pieces.reduce((sum, piece) => sum + piece.byteLength, 0)
  reply.header('content-length', bytes)
  return Readable.from(piecesToSend(pieces), { objectMode: false })
}

type BodyDone = (error: Error | null, body: SentBody) => void

/** The content type parser of JSON: nothing is read before the handler says how much may be. */
export function deferJson(bodies: ReceivedBodies) {
  return (request: FastifyRequest, _payload: unknown, done: BodyDone): void => {
    const sender = senderOf(request)
    done(null, { read: (bytesMax) => readBody(request.raw, { sender, bytesMax, bodies }) })
  }
}

/** The content type parser of everything else: the handler refuses it, so that the request counts in the limit. */
export async function deferUnsupported({ routeOptions }: FastifyRequest): Promise<SentBody> {
  return { read: () => refuseMediaType(routeOptions.config.operation) }
}

async function refuseMediaType(operation: Operation | undefined): Promise<never> {
  const types = ['application/json', ...(operation?.upload ? [operation.upload.mediaType] : [])]
  throw new AppError('unsupported_media_type', `The body needs Content-Type: ${types.join(' or ')}.`)
}

/** The content type parser of an operation's upload. */
export function deferUpload(toRead: Omit<BodyToRead, 'sender'>): (request: FastifyRequest) => Promise<SentBody> {
  return async (request) => ({ upload: streamBody(request.raw, { sender: senderOf(request), ...toRead }) })
}

function senderOf({ exchange }: FastifyRequest): string {
  return exchange?.caller?.workspace.id ?? ''
}
