// The fast path: simple requests to frequent operations bypass Node's HTTP server, whose two streams and dozen listeners per
// request cost more than tracking an event (`docs/decisions/0030`). A request that arrives whole and has nothing special about it
// is recognised on its connection (`request-head.ts`), passes the same lifecycle as all others, and is answered with one write.
// Everything else goes to Node. `FAST_PATH=off` turns it off; then nothing in this folder runs.
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import type { AppError } from '../../core/app-error.ts'
import { BODY_BYTES_MAX } from '../../operations/operation.ts'
import { ERROR_STATUS, toAppError, toCountedRefusal, type TextAnswer } from '../answers/error-answer.ts'
import { readBasic } from '../authentication.ts'
import type { HttpLimits } from '../http-limits.ts'
import { admit, carryOut, type RouteBinding } from '../lifecycle.ts'
import {
  areAllReported,
  reportFailedRequest,
  reportRequest,
  type RequestSubject,
} from '../requests/request-diagnostics.ts'
import { FastConnection, type FastConnectionOwner, type WholeRequest } from './fast-connection.ts'
import { AddedHeaders, FastContext, trustIn, type TrustedProxy } from './fast-context.ts'
import { RequestHeads, type FastRoute, type RequestHead, type RequestStart } from './request-head.ts'

/** The share of `receivedBytesMax` for incomplete requests here. What does not fit goes to Node, which has all of it. */
const HELD_PART = 1 / 8
/** How much longer than announced an idle connection stays open, as in Node: a request may be on its way. */
const KEEP_ALIVE_GRACE_MS = 1_000

/** The outcome of one request, for the metrics. */
export interface FastOutcome {
  readonly operation: string
  /** Undefined if the connection ended before the answer was sent whole. */
  readonly status: number | undefined
  readonly durationMs: number
}

export interface FastPathOptions {
  /** Of all operations; only the frequent ones have a fast path. */
  readonly bindings: readonly RouteBinding[]
  readonly limits: HttpLimits
  readonly keepAliveTimeoutMs: number
  readonly trustedProxies: readonly string[]
  readonly diagnostics: FastifyBaseLogger
  readonly onOutcome: (outcome: FastOutcome) => void
  /** Called when the head of a first request has come on a connection. */
  readonly onFirstRequest: (socket: Socket) => void
}

/** A request with its operation. */
interface Carried {
  readonly context: FastContext
  readonly binding: RouteBinding
  /** Null until it is refused. */
  refusal: AppError | null
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' }

export class FastPath implements FastConnectionOwner<RouteBinding> {
  readonly #options: FastPathOptions
  readonly #heads: RequestHeads<RouteBinding>
  readonly #trusted: TrustedProxy | undefined
  readonly #added: AddedHeaders
  readonly #areAllReported: boolean
  readonly #connections = new Map<Socket, FastConnection<RouteBinding>>()
  #held = 0
  #isStopping = false
  #giveToNode: (socket: Socket) => void = () => {}

  constructor(options: FastPathOptions) {
    this.#options = options
    this.#heads = new RequestHeads(options.bindings.flatMap(routesOf))
    this.#trusted = trustIn(options.trustedProxies)
    this.#added = new AddedHeaders(options.keepAliveTimeoutMs)
    this.#areAllReported = areAllReported(options.diagnostics)
  }

  /**
   * Takes over new connections of a server from Node's own listener, and gives them back when they need it. Call it before adding
   * listeners that must see every connection.
   */
  serve(server: Server): void {
    // Node documents that connections accepted elsewhere may be emitted to it; this calls the same listener.
    const listeners = server.listeners('connection')
    server.removeAllListeners('connection')
    this.#giveToNode = (socket) => {
      for (const listener of listeners) listener.call(server, socket)
    }
    server.on('connection', (socket: Socket) => {
      this.#connections.set(socket, new FastConnection(socket, this))
    })
  }

  /** Whether a request on this connection waits for its answer. */
  isAwaited(socket: Socket): boolean {
    return this.#connections.get(socket)?.state === 'answering'
  }

  /** From now on every request goes to Node, which tells clients that the connection ends. */
  stop(): void {
    this.#isStopping = true
  }

  /** Closes connections that wait for further requests. On a new one, a request may be on its way. */
  closeIdle(): void {
    for (const { state, isUsed, socket } of this.#connections.values()) {
      if (state === 'waiting' && isUsed) socket.destroy()
    }
  }

  /**
   * Closes connections that were idle for too long. Gives those whose first request, or the rest of a request, does not arrive to
   * Node, which has timeouts for it. `now`: milliseconds of a clock that never goes back.
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

  read(bytes: Buffer, last: RequestHead<RouteBinding> | undefined): RequestStart<RouteBinding> | undefined {
    return this.#isStopping ? undefined : this.#heads.read(bytes, last)
  }

  sawRequest({ socket }: FastConnection<RouteBinding>): void {
    this.#options.onFirstRequest(socket)
  }

  answer(connection: FastConnection<RouteBinding>, request: WholeRequest<RouteBinding>): void {
    void this.#answer(connection, request)
  }

  async #answer(connection: FastConnection<RouteBinding>, { head, body }: WholeRequest<RouteBinding>): Promise<void> {
    const context = new FastContext(head, connection, this.#trusted)
    const carried: Carried = { context, binding: head.target, refusal: null }
    const { status, headers, text } = await this.#carryOut(carried, body).catch((error: unknown) =>
      this.#refuse(error, connection, carried),
    )
    // Only for callers with a valid key: others may have many connections.
    if (context.caller) connection.remember(head)
    for (const name in headers) context.setHeader(name, headers[name] as string)
    const answer = context.toAnswer(status, text, this.#added.text)
    connection.send(answer, (durationMs) => this.#tell(carried, { status, durationMs }))
  }

  mayWaitFor({ target: { lifecycle }, headers, cached }: RequestHead<RouteBinding>): boolean {
    cached.attempt ??= readBasic(headers.authorization)
    return lifecycle.authentication.isValidInCache(cached.attempt, lifecycle.parts.clock())
  }

  hold(bytes: number): boolean {
    if (this.#held + bytes > this.#options.limits.receivedBytesMax * HELD_PART) return false
    this.#held += bytes
    return true
  }

  release(bytes: number): void {
    this.#held -= bytes
  }

  giveToNode(connection: FastConnection<RouteBinding>): void {
    this.#giveToNode(connection.socket)
  }

  forget({ socket, since }: FastConnection<RouteBinding>, unanswered: RequestHead<RouteBinding> | undefined): void {
    this.#connections.delete(socket)
    if (!unanswered) return
    const operation = unanswered.target.operation.name
    this.#options.onOutcome({ operation, status: undefined, durationMs: performance.now() - since })
  }

  async #carryOut({ context, binding }: Carried, bytes: Uint8Array): Promise<TextAnswer> {
    await admit(context, binding)
    const output = await carryOut(context, binding, { bytes })
    return { status: binding.operation.successStatus, headers: JSON_HEADERS, text: JSON.stringify(output) }
  }

  #refuse(error: unknown, sink: FastConnection<RouteBinding>, carried: Carried): TextAnswer {
    const { context, binding } = carried
    const refusal = toAppError(error)
    carried.refusal = refusal
    if (ERROR_STATUS[refusal.code] >= 500) {
      reportFailedRequest(this.#options.diagnostics, subjectOf(context, binding), error)
    }
    return toCountedRefusal(refusal, context.requestId, { unsent: binding.lifecycle.unsent, sink })
  }

  #tell(
    { context, binding, refusal }: Carried,
    outcome: { readonly status: number; readonly durationMs: number },
  ): void {
    this.#options.onOutcome({ operation: binding.operation.name, ...outcome })
    if (this.#areAllReported) {
      reportRequest(this.#options.diagnostics, subjectOf(context, binding), { ...outcome, refusal })
    }
  }
}

/** The paths of an operation, if it is frequent. */
function routesOf(binding: RouteBinding): FastRoute<RouteBinding>[] {
  const { isFrequent, url, otherUrls = [], method, bodyBytesMax = BODY_BYTES_MAX } = binding.operation
  if (!isFrequent) return []
  return [url, ...otherUrls].map((path) => ({ method, path, bodyBytesMax, target: binding }))
}

function subjectOf({ requestId, method, headers, caller }: FastContext, { operation }: RouteBinding): RequestSubject {
  return { requestId, method, headers, operation, workspaceId: caller?.workspace.id }
}
