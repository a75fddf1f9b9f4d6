// Puts the operations on HTTP: one route each, 405 for other methods of their paths, 404 for everything else.
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import { AppError } from '../core/app-error.ts'
import { codeOf } from '../core/thrown.ts'
import type { Operation } from '../operations/operation.ts'
import { pause } from '../runtime/pause.ts'
import { BrokenRequests } from './requests/broken-requests.ts'
import { ChunkedBodies } from './requests/chunked-bodies.ts'
import { Connections } from './connections.ts'
import { passageOf, type Door, type DoorParts, type Passage } from './door.ts'
import { ERROR_STATUS, isInvalidMediaType, NOTHING_HERE, sendError, toAppError } from './answers/error-answer.ts'
import type { HttpLimits } from './http-limits.ts'
import { PipelinedRequests } from './requests/pipelined-requests.ts'
import type { Readiness } from './operator/readiness.ts'
import { ReceivedBodies } from './requests/received-bodies.ts'
import {
  reportBareAnswer,
  reportFailure,
  reportRequest,
  reportRequests,
  sharedLogger,
  subjectOf,
} from './requests/request-diagnostics.ts'
import { newRequestId } from './requests/request-id.ts'
import { countUnread, deferJson, deferUnsupported, deferUpload, routesOf } from './routes.ts'
import { PlainRequests, type PlainOutcome } from './shortcut/plain-requests.ts'
import { UnsentAnswers } from './answers/unsent-answers.ts'

/**
 * How long a client may take to send one request, however steadily it comes. Codes of an upload are taken in only as fast as
 * a busy disk writes them.
 */
const REQUEST_TIMEOUT_MS = 15 * 60_000
/** How long an idle connection is kept for the next request. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000
/**
 * The least time between the signal to stop and the closing of connections, and from then on how often idle ones are looked for.
 */
const CLOSE_AFTER_MS = 100
const CLOSE_IDLE_EVERY_MS = 10
const URL_PARAM_LENGTH_MAX = 1_024
const NO_HOST = new AppError('invalid_request', 'A request of HTTP/1.1 needs the header Host.')
const SEVERAL_HOSTS = new AppError('invalid_request', 'A request may have the header Host only once.')

export interface HttpOptions extends DoorParts {
  readonly operations: readonly Operation[]
  /** Further paths that are served without authentication, with their methods. */
  readonly operatorPaths: ReadonlyMap<string, readonly string[]>
  readonly diagnostics: FastifyBaseLogger
  /** Addresses whose X-Forwarded-For is believed for the caller's own address; empty: nobody's. */
  readonly trustedProxies: readonly string[]
  readonly readiness: Readiness
  /**
   * How long to go on after the signal to stop, where somebody asks whether the process is ready; 0 where no other takes over.
   */
  readonly drainMs: number
  readonly limits: HttpLimits
  /** Gets every reply whose client left, or was given up, before it was sent whole. */
  readonly onUnanswered: (reply: FastifyReply) => void
  /** Gets every answer that was sent without a hook: to invalid paths, and to what is not even HTTP. */
  readonly onUnhooked: (answer: UnhookedAnswer) => void
  /** Gets what became of every request that took the short way. */
  readonly onPlain: (outcome: PlainOutcome) => void
}

export interface UnhookedAnswer {
  readonly status: number
  /** Undefined where nobody knows when the request began. */
  readonly durationMs?: number
}

/** All routes of the operations, not listening yet: what needs no authentication is still to be added (`addOperatorRoutes`). */
export function createHttpServer(options: HttpOptions): FastifyInstance {
  const { limits } = options
  const brokenRequests = newBrokenRequests(options)
  const chunked = new ChunkedBodies(brokenRequests)
  const bodies = new ReceivedBodies(limits)
  const pipelined = new PipelinedRequests(limits)
  const door: Door = { ...options, bodies, unsent: new UnsentAnswers(limits) }
  const passages = options.operations.map((operation) => passageOf(operation, door))
  const plain = newPlainRequests(options, passages)
  const connections = new Connections(limits, [bodies, plain], options.diagnostics)
  const app = Fastify({
    loggerInstance: sharedLogger(options.diagnostics),
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => newRequestId(),
    requestIdHeader: false,
    trustProxy: options.trustedProxies.length > 0 ? [...options.trustedProxies] : false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // A base address that ends with a slash makes two of one, and some clients end every path with a slash.
    routerOptions: { maxParamLength: URL_PARAM_LENGTH_MAX, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
    exposeHeadRoutes: false,
    // Requests that still arrive while the server closes are carried out, and their connections closed afterwards.
    return503OnClosing: false,
    // Invalid paths; no hook runs for them.
    frameworkErrors: (_error, request, reply) => {
      if (brokenRequests.isEnding(request.raw.socket)) return
      brokenRequests.follow(reply)
      chunked.follow(request, reply)
      tellWhenSent(reply, options)
      void sendError(reply.header('x-request-id', request.id), NOTHING_HERE)
    },
    clientErrorHandler: (error, socket) => brokenRequests.answer(error, socket),
    // Node's own refusal would have no body and no request id.
    http: {
      requireHostHeader: false,
      headersTimeout: limits.headWaitMs,
      connectionsCheckingInterval: limits.sweepEveryMs,
    },
  }) as unknown as FastifyInstance
  readBodiesLater(app, bodies)
  app.decorateRequest('exchange', null)
  app.addHook('onRequest', (request, reply, done) => {
    // A request that was read together with something that ends the connection is not even begun.
    if (brokenRequests.isEnding(request.raw.socket)) return
    brokenRequests.follow(reply)
    chunked.follow(request, reply)
    reply.header('x-request-id', request.id)
    const refusal = hostRefusal(request.raw)
    if (reply.raw.socket) done(refusal)
    else pipelined.wait(request.raw.socket, reply.raw, () => done(refusal))
  })
  const refuseUnknown = unknownRoutes(options)
  app.setErrorHandler((error, request, reply) => {
    // Fastify checks the media type first, but a path that does not exist takes none: that is what is wrong.
    if (request.is404) return sendError(reply, refuseUnknown(request, reply))
    if (!isInvalidMediaType(error)) return answerError(error, request, reply, door)
    return countUnread(error, request, door).then((refusal) => answerError(refusal, request, reply, door))
  })
  app.setNotFoundHandler((request, reply) => sendError(reply, refuseUnknown(request, reply)))
  reportRequests(app, options.diagnostics)
  for (const passage of passages) addOperation(app, passage)
  const isAwaited = (socket: Socket) => plain.isAwaited(socket) || brokenRequests.isAwaited(socket)
  const closeStalled = () => connections.closeStalled(isAwaited)
  app.addHook('preClose', () => prepareToClose(app.server, { closeStalled, plain }, options))
  plain.serve(app.server)
  connections.follow(app.server)
  answerUnusual(app.server, brokenRequests)
  return app
}

/** Requests that Node would not pass on. */
function answerUnusual(server: Server, brokenRequests: BrokenRequests): void {
  // An unknown `Expect` is no reason to refuse; Node's own 417 would have no body and no request id.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  // Whoever asks for a tunnel would see nothing but the end of the connection.
  server.on('connect', (_request, socket) => brokenRequests.answer(NOTHING_HERE, socket as Socket))
}

/** As RFC 9112, section 3.2, asks for: a proxy may have gone by the other one. */
function hostRefusal({ httpVersion, rawHeaders }: IncomingMessage): AppError | undefined {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) if (isHost(rawHeaders[index] as string)) hosts++
  if (hosts > 1) return SEVERAL_HOSTS
  return hosts === 0 && httpVersion !== '1.0' ? NO_HOST : undefined
}

function isHost(name: string): boolean {
  return name.length === 'host'.length && name.toLowerCase() === 'host'
}

function newBrokenRequests({ onUnanswered, onUnhooked, diagnostics }: HttpOptions): BrokenRequests {
  return new BrokenRequests({
    onUnanswered,
    onBareAnswer({ requestId, status }) {
      onUnhooked({ status })
      reportBareAnswer(diagnostics, requestId, status)
    },
  })
}

function newPlainRequests(
  { limits, trustedProxies, diagnostics, onPlain: onOutcome }: HttpOptions,
  passages: readonly Passage[],
): PlainRequests {
  const keepAliveTimeoutMs = KEEP_ALIVE_TIMEOUT_MS
  return new PlainRequests({ passages, limits, keepAliveTimeoutMs, trustedProxies, diagnostics, onOutcome })
}

/** Tells what hooks tell of other requests. */
function tellWhenSent(reply: FastifyReply, { onUnhooked }: HttpOptions): void {
  const startedAt = performance.now()
  reply.raw.once('finish', () => {
    const durationMs = performance.now() - startedAt
    onUnhooked({ status: reply.statusCode, durationMs })
    reportRequest(reply.request.log, subjectOf(reply.request), { status: reply.statusCode, durationMs })
  })
}

/** The paths of the operations with the methods that each of them takes. */
export function pathsOf(operations: readonly Operation[]): Map<string, string[]> {
  const paths = new Map<string, string[]>()
  for (const { method, url, otherUrls } of operations) {
    for (const path of [url, ...(otherUrls ?? [])]) paths.set(path, [...(paths.get(path) ?? []), method])
  }
  return paths
}

/**
 * Distinguishes a path that is known, but not with this method, from one that is not known. Needed only when there is no route. A
 * path with empty parts is known as it stands; any path also without the slashes that the router ignores.
 */
function unknownRoutes({
  operations,
  operatorPaths,
}: HttpOptions): (request: FastifyRequest, reply: FastifyReply) => AppError {
  const paths = [...pathsOf(operations), ...operatorPaths].map(([path, allowed]) => ({
    pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/:\w+/g, '[^/]*')}$`),
    allowed,
  }))
  return (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const routed = path.replaceAll(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '')
    const known = [path, routed].flatMap((address) => paths.filter(({ pattern }) => pattern.test(address)))
    const allowed = known.find((route) => !route.allowed.includes(request.method))?.allowed.join(', ')
    if (allowed === undefined) return NOTHING_HERE
    reply.header('allow', allowed)
    return new AppError('method_not_allowed', `This path takes ${allowed}.`)
  }
}

/** What Fastify refuses itself becomes a refusal in our words. */
function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply, { unsent }: Door): FastifyReply {
  const refusal = toAppError(error)
  if (ERROR_STATUS[refusal.code] >= 500 && !isClientGone(error)) reportFailure(request.log, subjectOf(request), error)
  return sendError(reply, refusal, unsent)
}

/** A client that does not wait for its answer is no failure of ours. */
function isClientGone(error: unknown): boolean {
  return codeOf(error) === 'ERR_STREAM_PREMATURE_CLOSE'
}

function readBodiesLater(app: FastifyInstance, bodies: ReceivedBodies): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', deferJson(bodies))
  app.addContentTypeParser('*', deferUnsupported)
}

function addOperation(app: FastifyInstance, passage: Passage): void {
  const { operation, door } = passage
  const { upload } = operation
  if (!upload) {
    for (const route of routesOf(passage)) app.route(route)
    return
  }
  // A media type that one operation takes is known only in a scope of its own; elsewhere it stays 415.
  app.register(async (scope) => {
    scope.addContentTypeParser(upload.mediaType, deferUpload({ bytesMax: upload.bytesMax, bodies: door.bodies }))
    for (const route of routesOf(passage)) scope.route(route)
  })
}

/**
 * Whoever sends requests here according to the answers of /readyz first gets time to send them elsewhere; where nobody has ever
 * asked, waiting would tell nobody anything. All the while requests are answered, each as the last on its connection.
 *
 * Node closes the connections that are idle when closing begins, even if a request is on its way: such requests get a moment to
 * arrive. It keeps connections with a request in flight open for the next one, and would wait for them for up to
 * `KEEP_ALIVE_TIMEOUT_MS`: they are closed as soon as they are idle, and finally also where the answer is not read or the request
 * does not arrive whole.
 */
async function prepareToClose(
  server: Server,
  { closeStalled, plain }: { readonly closeStalled: () => void; readonly plain: PlainRequests },
  { readiness, drainMs, limits }: HttpOptions,
): Promise<void> {
  readiness.stop()
  plain.stop()
  await pause(readiness.isWatched ? Math.max(drainMs, CLOSE_AFTER_MS) : CLOSE_AFTER_MS)
  const patientUntil = performance.now() + limits.stopStalledMs
  const closeWhatCan = () => {
    server.closeIdleConnections()
    plain.closeIdle()
    if (performance.now() >= patientUntil) closeStalled()
  }
  const timer = setInterval(closeWhatCan, CLOSE_IDLE_EVERY_MS).unref()
  server.once('close', () => clearInterval(timer))
}
