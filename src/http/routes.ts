// The Fastify routes of an operation: they hand each request to the lifecycle, and its output to Fastify. No rule about requests
// belongs here.
import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { AppError } from '../core/app-error.ts'
import { LineStream } from '../operations/exports/line-stream.ts'
import { JsonText } from '../operations/json-text.ts'
import type { Operation } from '../operations/operation.ts'
import { liveStreamOf, streamOf } from './answers/answer-stream.ts'
import { tooMuchUnsent } from './answers/unsent-answers.ts'
import type { Attempt, Caller } from './authentication.ts'
import { admit, carryOut, wrongMediaType, type LifecycleParts, type RouteBinding } from './lifecycle.ts'
import { takeLimit } from './limits/take-limit.ts'
import type { RequestContext, SentBody } from './request-context.ts'
import { isSecureConnection } from './sessions/connection-security.ts'
import { callerAddress } from './requests/caller-address.ts'
import type { ReceivedBodies } from './requests/received-bodies.ts'
import { readBody, streamBody, type BodyToRead } from './requests/request-body.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before a request to an operation is admitted. */
    lifecycleContext: RequestContext | null
    /** Set when the request is refused, for diagnostics. */
    refusal: AppError | null
  }
  interface FastifyContextConfig {
    operation?: Operation
  }
}

class FastifyContext implements RequestContext {
  readonly #reply: FastifyReply
  readonly #raw: FastifyRequest['raw']
  readonly #callerAddress: string
  readonly #publicUrl: string | undefined
  readonly requestId: string
  readonly url: string
  readonly headers: RequestContext['headers']
  readonly params: unknown
  readonly query: unknown
  attempt: Attempt | undefined = undefined
  caller: Caller | undefined = undefined
  receivedAt = 0

  constructor(request: FastifyRequest, reply: FastifyReply, publicUrl: string | undefined) {
    this.#reply = reply
    this.#raw = request.raw
    this.requestId = request.id
    this.url = request.url
    this.headers = request.headers
    this.params = request.params
    this.query = request.query
    this.#publicUrl = publicUrl
    // Node forgets it when the connection ends.
    this.#callerAddress = callerAddress(request)
  }

  headerValues(name: string): readonly string[] {
    return this.#raw.headersDistinct[name] ?? []
  }

  get isEnded(): boolean {
    return !this.#reply.request.raw.socket.writable
  }

  get isSecure(): boolean {
    const { protocol, headers } = this.#reply.request
    return isSecureConnection(protocol, headers.host, this.#publicUrl)
  }

  callerAddress(): string {
    return this.#callerAddress
  }

  setHeader(name: string, value: string | number): void {
    this.#reply.header(name, value)
  }
}

/** The routes of one operation, one for each of its paths. */
export function routesOf(binding: RouteBinding): RouteOptions[] {
  const { operation, lifecycle } = binding
  const { publicUrl } = lifecycle.parts.delivery
  return [operation.url, ...(operation.otherUrls ?? [])].map((url) => ({
    method: operation.method,
    url,
    config: { operation },
    onRequest: async (request, reply) => {
      request.lifecycleContext = new FastifyContext(request, reply, publicUrl)
      await admit(request.lifecycleContext, binding)
    },
    handler: async (request, reply) => {
      const { lifecycleContext, body } = request
      return preparePayload(
        reply,
        binding,
        await carryOut(lifecycleContext as RequestContext, binding, body as SentBody),
      )
    },
  }))
}

/**
 * Counts one request that Fastify refused before the handler could read its body. Returns the refusal to send: the limit's if the
 * limit is used up, else the given error.
 */
export async function countUnread(error: unknown, request: FastifyRequest, parts: LifecycleParts): Promise<unknown> {
  const { operation } = request.routeOptions.config
  const context = request.lifecycleContext
  try {
    if (operation?.limitUnits && context?.caller) await takeLimit(context, operation, 1, parts)
    return error
  } catch (refusal) {
    return refusal
  }
}

/** Sets status and headers. Throws `unavailable` if the request changed nothing and too many other answers are unsent. */
function preparePayload(
  reply: FastifyReply,
  { operation, lifecycle: { unsent } }: RouteBinding,
  value: unknown,
): string | Readable | undefined {
  reply.code(operation.successStatus)
  if (operation.successStatus === 204) return undefined
  if (value instanceof LineStream) return streamLive(reply, value)
  reply.header('content-type', 'application/json; charset=utf-8')
  const text = value instanceof JsonText ? value : JSON.stringify(value)
  const bytes = text instanceof JsonText ? text.byteLength : Buffer.byteLength(text)
  if (operation.method !== 'GET' && !operation.isReadOnly) unsent.add(reply.raw, bytes)
  else if (!unsent.addIfFits(reply.raw, bytes)) throw tooMuchUnsent()
  return text instanceof JsonText ? streamOf(reply, text.pieces) : text
}

/** Streams lines while they are read. An error cuts the connection, because the status is already sent. */
function streamLive(reply: FastifyReply, { pieces, close, type }: LineStream): Readable {
  if (reply.raw.closed) close()
  else reply.raw.once('close', close)
  reply.header('content-type', `${type}; charset=utf-8`)
  return liveStreamOf(pieces)
}

type BodyDone = (error: Error | null, body: SentBody) => void

/** The content type parser of JSON. It reads nothing: the handler knows how many bytes it takes. */
export function deferJson(bodies: ReceivedBodies) {
  return (request: FastifyRequest, _payload: unknown, done: BodyDone): void => {
    const sender = senderOf(request)
    done(null, { read: (bytesMax) => readBody(request.raw, { sender, bytesMax, bodies }) })
  }
}

/** The content type parser of every other type. The handler refuses it, so that the request counts in the limit. */
export async function deferUnsupported({ routeOptions }: FastifyRequest): Promise<SentBody> {
  return { read: () => refuseMediaType(routeOptions.config.operation) }
}

async function refuseMediaType(operation: Operation | undefined): Promise<never> {
  throw wrongMediaType(operation)
}

/** The content type parser of one media type of an operation's upload. */
export function deferUpload(
  type: string,
  toRead: Omit<BodyToRead, 'sender'>,
): (request: FastifyRequest) => Promise<SentBody> {
  return async (request) => ({ upload: streamBody(request.raw, { sender: senderOf(request), ...toRead }), type })
}

function senderOf({ lifecycleContext }: FastifyRequest): string {
  return lifecycleContext?.caller?.workspace.id ?? ''
}
