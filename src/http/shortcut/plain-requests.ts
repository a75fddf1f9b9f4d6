// The short way for plain requests to operations that are asked very often (`docs/decisions/0030`). Node's HTTP server makes two
// streams with a dozen listeners for each request, which takes longer than everything that is done with a tracked event. A request
// that came whole, and has nothing special about it, needs none of that: it is recognised (`plain-head.ts`), passes the same door
// as all others, and is answered with one write.
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { BODY_BYTES_MAX } from '../../operations/operation.ts'
import { ERROR_STATUS, toAppError, toCountedRefusal, type TextAnswer } from '../answers/error-answer.ts'
import { readBasic } from '../authentication.ts'
import { admit, carryOut, type Passage } from '../door.ts'
import type { HttpLimits } from '../http-limits.ts'
import { areAllReported, reportFailure, reportRequest, type RequestSubject } from '../requests/request-diagnostics.ts'
import { PlainConnection, type ShortWay, type PlainRequest } from './plain-connection.ts'
import { AddedHeaders, PlainExchange, trustIn, type TrustedProxy } from './plain-exchange.ts'
import { PlainHeads, type PlainHead, type PlainPath, type PlainStart } from './plain-head.ts'

/**
 * The part of `receivedBytesMax` that may be held of requests that are not whole; what is more goes to Node, where all of
 * `receivedBytesMax` is for it.
 */
const HELD_PART = 1 / 8
/** How much longer an idle connection is kept than clients are told, so that none sends a request just then; as Node does. */
const KEEP_ALIVE_GRACE_MS = 1_000

/** What became of one request, for the metrics. */
export interface PlainOutcome {
  readonly operation: string
  /** Undefined where the connection ended before the answer was sent whole. */
  readonly status: number | undefined
  readonly durationMs: number
}

export interface PlainRequestsOptions {
  /** Of all operations; those that are asked often are served. */
  readonly passages: readonly Passage[]
  readonly limits: HttpLimits
  readonly keepAliveTimeoutMs: number
  readonly trustedProxies: readonly string[]
  readonly diagnostics: FastifyBaseLogger
  readonly onOutcome: (outcome: PlainOutcome) => void
}

/** A request with what it passes. */
interface Carried {
  readonly exchange: PlainExchange
  readonly passage: Passage
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' }

export class PlainRequests implements ShortWay<Passage> {
  readonly #options: PlainRequestsOptions
  readonly #heads: PlainHeads<Passage>
  readonly #trusted: TrustedProxy | undefined
  readonly #added: AddedHeaders
  readonly #areAllReported: boolean
  readonly #connections = new Map<Socket, PlainConnection<Passage>>()
  #held = 0
  #isStopping = false
  #giveToNode: (socket: Socket) => void = () => {}

  constructor(options: PlainRequestsOptions) {
    this.#options = options
    this.#heads = new PlainHeads(options.passages.flatMap(plainPathsOf))
    this.#trusted = trustIn(options.trustedProxies)
    this.#added = new AddedHeaders(options.keepAliveTimeoutMs)
    this.#areAllReported = areAllReported(options.diagnostics)
  }

  /**
   * Takes the connections of a server from whoever listens for them so far, and gives back those that need more. To be called before
   * anybody else listens who is to know of all of them.
   */
  serve(server: Server): void {
    // Node's own, which it also calls for connections that others have accepted and emit here.
    const listeners = server.listeners('connection')
    server.removeAllListeners('connection')
    this.#giveToNode = (socket) => {
      for (const listener of listeners) listener.call(server, socket)
    }
    server.on('connection', (socket: Socket) => {
      this.#connections.set(socket, new PlainConnection(socket, this))
    })
  }

  /** Whether a request on this connection is still to be answered. */
  isAwaited(socket: Socket): boolean {
    return this.#connections.get(socket)?.state === 'answering'
  }

  /** From here on every request goes to Node, which tells clients that the connection ends. */
  stop(): void {
    this.#isStopping = true
  }

  /** Closes what is kept for further requests; on a new connection one may be on its way. */
  closeIdle(): void {
    for (const { state, isUsed, socket } of this.#connections.values()) {
      if (state === 'waiting' && isUsed) socket.destroy()
    }
  }

  /**
   * Gives up what takes too long. Where the first request does not come, or the rest of one, Node gets the connection, which has
   * rules for that. `now`: milliseconds of a clock that never goes back.
   */
  sweep(now: number): void {
    const { keepAliveTimeoutMs, limits } = this.#options
    for (const connection of this.#connections.values()) {
      const { state, socket, since, isUsed } = connection
      const isIdle = state === 'waiting' && isUsed
      if (isIdle && now - since >= keepAliveTimeoutMs + KEEP_ALIVE_GRACE_MS) socket.destroy()
      if (isIdle || state === 'answering' || now - since < limits.sweepEveryMs) continue
      connection.give()
    }
  }

  read(bytes: Buffer, last: PlainHead<Passage> | undefined): PlainStart<Passage> | undefined {
    return this.#isStopping ? undefined : this.#heads.read(bytes, last)
  }

  answer(connection: PlainConnection<Passage>, { head, body }: PlainRequest<Passage>): void {
    const { target: passage } = head
    const exchange = new PlainExchange(head, connection.address, this.#trusted)
    const send = ({ status, headers, text }: TextAnswer) => {
      // Not those of strangers, who may have many connections.
      if (exchange.caller) connection.remember(head)
      for (const name in headers) exchange.setHeader(name, headers[name] as string)
      const answer = exchange.toAnswer(status, text, this.#added.text)
      connection.send(answer, (durationMs) => this.#tell({ exchange, passage }, { status, durationMs }))
    }
    this.#carryOut(exchange, passage, body).then(send, (error: unknown) =>
      send(this.#refuse(error, connection, { exchange, passage })),
    )
  }

  mayWaitFor({ target: { door }, headers, known }: PlainHead<Passage>): boolean {
    known.attempt ??= readBasic(headers.authorization)
    return door.authentication.isKnown(known.attempt)
  }

  hold(bytes: number): boolean {
    if (this.#held + bytes > this.#options.limits.receivedBytesMax * HELD_PART) return false
    this.#held += bytes
    return true
  }

  release(bytes: number): void {
    this.#held -= bytes
  }

  giveToNode(connection: PlainConnection<Passage>): void {
    this.#giveToNode(connection.socket)
  }

  forget({ socket, since }: PlainConnection<Passage>, unanswered: PlainHead<Passage> | undefined): void {
    this.#connections.delete(socket)
    if (!unanswered) return
    const operation = unanswered.target.operation.name
    this.#options.onOutcome({ operation, status: undefined, durationMs: performance.now() - since })
  }

  async #carryOut(exchange: PlainExchange, passage: Passage, bytes: Uint8Array): Promise<TextAnswer> {
    const admitted = admit(exchange, passage)
    if (admitted) await admitted
    const output = await carryOut(exchange, passage, { bytes })
    return { status: passage.operation.successStatus, headers: JSON_HEADERS, text: JSON.stringify(output) }
  }

  #refuse(error: unknown, sink: PlainConnection<Passage>, { exchange, passage }: Carried): TextAnswer {
    const refusal = toAppError(error)
    if (ERROR_STATUS[refusal.code] >= 500) {
      reportFailure(this.#options.diagnostics, subjectOf(exchange, passage), error)
    }
    return toCountedRefusal(refusal, exchange.requestId, { unsent: passage.door.unsent, sink })
  }

  #tell({ exchange, passage }: Carried, outcome: { readonly status: number; readonly durationMs: number }): void {
    this.#options.onOutcome({ operation: passage.operation.name, ...outcome })
    if (this.#areAllReported) reportRequest(this.#options.diagnostics, subjectOf(exchange, passage), outcome)
  }
}

/** The addresses of an operation, if it is asked often. */
function plainPathsOf(passage: Passage): PlainPath<Passage>[] {
  const { isFrequent, url, otherUrls = [], method, bodyBytesMax = BODY_BYTES_MAX } = passage.operation
  if (!isFrequent) return []
  return [url, ...otherUrls].map((path) => ({ method, path, bodyBytesMax, target: passage }))
}

function subjectOf(
  { requestId, method, headers, caller }: PlainExchange,
  { operation: { name: operation } }: Passage,
): RequestSubject {
  return { requestId, method, headers, operation, workspaceId: caller?.workspace.id }
}
