// Builds the HTTP server: one route for each operation, 405 for other methods of their paths, 404 for everything else. Limits per
// client are in `http-limits.ts`; the rules about requests are in `lifecycle.ts`.
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
import { Connections } from './connections.ts'
import { bindRoute, type Lifecycle, type LifecycleParts, type RouteBinding } from './lifecycle.ts'
import { streamWhereNeeded } from './answers/answer-stream.ts'
import { ERROR_STATUS, isInvalidMediaType, NOTHING_HERE, sendError, toAppError } from './answers/error-answer.ts'
import type { HttpLimits } from './http-limits.ts'
import { PipelinedRequests } from './requests/pipelined-requests.ts'
import type { Readiness } from './operator/readiness.ts'
import { ReceivedBodies } from './requests/received-bodies.ts'
import {
  loggerOptions,
  reportBareAnswer,
  reportFailedRequest,
  reportRequest,
  reportRequests,
  toRequestSubject,
} from './requests/request-diagnostics.ts'
import { newRequestId } from './requests/request-id.ts'
import { countUnread, deferJson, deferUnsupported, deferUpload, routesOf } from './routes.ts'
import { FastPath, type FastOutcome } from './fast-path/fast-path.ts'
import { UnsentAnswers } from './answers/unsent-answers.ts'
import type { LinkOptions } from './links/link-exchange.ts'
import { addLinkRoutes } from './links/link-routes.ts'
import { addDashboardRoutes, type DashboardOptions } from './dashboard/dashboard-routes.ts'

/** How long one request may take to arrive, however steadily it comes. A busy disk slows an upload down. */
const REQUEST_TIMEOUT_MS = 15 * 60_000
/** How long an idle connection stays open for the next request. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000
/** The least time between the signal to stop and the closing of connections, and how often idle ones are closed after that. */
const CLOSE_AFTER_MS = 100
const CLOSE_IDLE_EVERY_MS = 10
const URL_PARAM_LENGTH_MAX = 1_024
const NO_HOST = new AppError('invalid_request', 'An HTTP/1.1 request needs the header Host.')
const UNKNOWN_CODING = new AppError(
  'invalid_request',
  'The Transfer-Encoding is not supported. Send only chunked, or a Content-Length.',
)
const SEVERAL_HOSTS = new AppError('invalid_request', 'A request may have only one header Host.')

export interface HttpOptions extends LifecycleParts {
  readonly operations: readonly Operation[]
  /** What the links in messages lead to. */
  readonly links: LinkOptions
  readonly dashboard: DashboardOptions
  /** Paths without authentication, with their methods. */
  readonly operatorPaths: ReadonlyMap<string, readonly string[]>
  /** Those of them that match only as they are spelt. */
  readonly exactPaths: ReadonlySet<string>
  readonly diagnostics: FastifyBaseLogger
  /** Addresses whose X-Forwarded-For is trusted; empty: none. */
  readonly trustedProxies: readonly string[]
  readonly readiness: Readiness
  /** How long to serve after the signal to stop, if anybody asks `/readyz`; 0 where no other process takes over. */
  readonly drainMs: number
  readonly limits: HttpLimits
  /** Called with every reply whose connection ended before the reply was sent whole. */
  readonly onUnanswered: (reply: FastifyReply) => void
  /** Called with every answer that was sent without a hook: to an invalid path, or to invalid HTTP. */
  readonly onUnhooked: (answer: UnhookedAnswer) => void
  /** Whether frequent simple requests take the fast path. */
  readonly hasFastPath: boolean
  /** Called with the outcome of every request on the fast path. */
  readonly onFastPath: (outcome: FastOutcome) => void
}

export interface UnhookedAnswer {
  readonly status: number
  /** Undefined if the start of the request is unknown. */
  readonly durationMs?: number
}

/** A server with the routes of all operations. It does not listen yet, and lacks what `addOperatorRoutes` adds. */
export function createHttpServer(options: HttpOptions): FastifyInstance {
  const { limits } = options
  const brokenRequests = newBrokenRequests(options)
  const bodies = new ReceivedBodies(limits)
  const pipelined = new PipelinedRequests(limits)
  const lifecycle: Lifecycle = { ...options, bodies, unsent: new UnsentAnswers(limits) }
  const bindings = options.operations.map((operation) => bindRoute(operation, lifecycle))
  const connections = new Connections(limits, options.diagnostics)
  const onFirstRequest = (socket: Socket) => connections.sawRequest(socket)
  const fastPath = options.hasFastPath ? newFastPath(options, bindings, onFirstRequest) : undefined
  const app = Fastify({
    ...loggerOptions(options.diagnostics),
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => newRequestId(),
    requestIdHeader: false,
    trustProxy: options.trustedProxies.length > 0 ? [...options.trustedProxies] : false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // A base address that ends with a slash leads to two slashes, and some clients end every path with a slash.
    routerOptions: { maxParamLength: URL_PARAM_LENGTH_MAX, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
    exposeHeadRoutes: false,
    // Requests that arrive while the server closes are carried out, and their connections closed afterwards.
    return503OnClosing: false,
    // Invalid paths; no hook runs for them.
    frameworkErrors: (_error, request, reply) => {
      if (brokenRequests.isEnding(request.raw.socket)) return
      brokenRequests.follow(reply)
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
  app.decorateRequest('lifecycleContext', null)
  app.decorateRequest('refusal', null)
  app.addHook('onRequest', (request, reply, done) => {
    // A request behind broken input on an ending connection is not begun.
    if (brokenRequests.isEnding(request.raw.socket)) return
    brokenRequests.follow(reply)
    reply.header('x-request-id', request.id)
    const refusal = targetRefusal(request.raw) ?? hostRefusal(request.raw) ?? codingRefusal(request.raw)
    if (reply.raw.socket) done(refusal)
    else pipelined.wait(request.raw.socket, reply.raw, () => done(refusal))
  })
  app.addHook('onSend', streamWhereNeeded(limits))
  const refuseUnknown = unknownRoutes(options)
  app.setErrorHandler((error, request, reply) => {
    // Fastify checks the media type before the path, but an unknown path is the first fault.
    if (request.is404) return sendError(reply, refuseUnknown(request, reply))
    if (!isInvalidMediaType(error)) return answerError(error, request, reply, lifecycle)
    return countUnread(error, request, lifecycle).then((refusal) => answerError(refusal, request, reply, lifecycle))
  })
  app.setNotFoundHandler((request, reply) => sendError(reply, refuseUnknown(request, reply)))
  reportRequests(app, options.diagnostics)
  for (const binding of bindings) addOperation(app, binding)
  addPages(app, lifecycle, options)
  const isAwaited = (socket: Socket) => fastPath?.isAwaited(socket) || brokenRequests.isAwaited(socket)
  const closeStalled = () => connections.closeStalled(isAwaited)
  app.addHook('preClose', () => prepareToClose(app.server, { closeStalled, fastPath }, options))
  fastPath?.serve(app.server)
  connections.follow(app.server, fastPath ? [bodies, fastPath] : [bodies])
  answerUnusual(app.server, brokenRequests)
  return app
}

/** The routes for browsers. */
function addPages(app: FastifyInstance, lifecycle: Lifecycle, { links, dashboard }: HttpOptions): void {
  addLinkRoutes(app, { ...lifecycle, ...links })
  addDashboardRoutes(app, { ...lifecycle, ...dashboard })
}

/** Answers requests that Node does not pass on. */
function answerUnusual(server: Server, brokenRequests: BrokenRequests): void {
  // An unknown `Expect` is no fault.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  // Node would only close the connection.
  server.on('connect', (_request, socket) => brokenRequests.answer(NOTHING_HERE, socket as Socket))
}

/** The router would take `*` for `/`. */
function targetRefusal({ url = '' }: IncomingMessage): AppError | undefined {
  return url.startsWith('*') ? NOTHING_HERE : undefined
}

/** Node finds the end of such a body, but passes it on as it is encoded. */
function codingRefusal({ headers }: IncomingMessage): AppError | undefined {
  const coding = headers['transfer-encoding']
  return coding === undefined || coding.toLowerCase() === 'chunked' ? undefined : UNKNOWN_CODING
}

/** RFC 9112, section 3.2: a proxy may have routed by the other header. */
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
    onBareAnswer(answer) {
      onUnhooked({ status: answer.status })
      reportBareAnswer(diagnostics, answer)
    },
  })
}

function newFastPath(
  { limits, trustedProxies, diagnostics, onFastPath: onOutcome }: HttpOptions,
  bindings: readonly RouteBinding[],
  onFirstRequest: (socket: Socket) => void,
): FastPath {
  const keepAliveTimeoutMs = KEEP_ALIVE_TIMEOUT_MS
  return new FastPath({ bindings, limits, keepAliveTimeoutMs, trustedProxies, diagnostics, onOutcome, onFirstRequest })
}

/** Reports and counts an answer without hooks. */
function tellWhenSent(reply: FastifyReply, { onUnhooked }: HttpOptions): void {
  const startedAt = performance.now()
  reply.raw.once('finish', () => {
    const durationMs = performance.now() - startedAt
    onUnhooked({ status: reply.statusCode, durationMs })
    const { refusal } = reply.request
    reportRequest(reply.request.log, toRequestSubject(reply.request), { status: reply.statusCode, durationMs, refusal })
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
 * Distinguishes a known path with a wrong method from an unknown path, for requests without a route. Compares the path as sent and,
 * unless it must be exact, without the slashes that the router ignores.
 */
function unknownRoutes({
  operations,
  operatorPaths,
  exactPaths,
}: HttpOptions): (request: FastifyRequest, reply: FastifyReply) => AppError {
  const paths = [...pathsOf(operations), ...operatorPaths].map(([path, allowed]) => ({
    pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\*$/, '.*').replace(/:\w+/g, '[^/]*')}$`),
    isExact: exactPaths.has(path),
    allowed,
  }))
  return (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const routed = path.replaceAll(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '')
    const refusing = [path, routed]
      .map((address) => paths.filter((known) => known.pattern.test(address) && (address === path || !known.isExact)))
      .map((known) => known.filter((route) => !route.allowed.includes(request.method)))
      .find((found) => found.length > 0)
    if (!refusing) return NOTHING_HERE
    // A word in one path may stand for a parameter in another.
    const allowed = [...new Set(refusing.flatMap((known) => known.allowed))].join(', ')
    reply.header('allow', allowed)
    return new AppError('method_not_allowed', `This path takes only ${allowed}.`)
  }
}

/** Sends a refusal. Fastify's own errors are translated. */
function answerError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { unsent }: Lifecycle,
): FastifyReply {
  const refusal = toAppError(error)
  if (ERROR_STATUS[refusal.code] >= 500 && !isClientGone(error))
    reportFailedRequest(request.log, toRequestSubject(request), error)
  return sendError(reply, refusal, unsent)
}

/** The client left before its answer was sent, which is no failure of the server. */
function isClientGone(error: unknown): boolean {
  return codeOf(error) === 'ERR_STREAM_PREMATURE_CLOSE'
}

function readBodiesLater(app: FastifyInstance, bodies: ReceivedBodies): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', deferJson(bodies))
  app.addContentTypeParser('*', deferUnsupported)
}

function addOperation(app: FastifyInstance, binding: RouteBinding): void {
  const { operation, lifecycle } = binding
  const { upload } = operation
  if (!upload) {
    for (const route of routesOf(binding)) app.route(route)
    return
  }
  // In a scope of its own, so that other operations still refuse these media types with 415.
  app.register(async (scope) => {
    const toRead = { bytesMax: upload.bytesMax, bodies: lifecycle.bodies }
    for (const type of Object.keys(upload.examples)) {
      // An operation may take JSON as it was sent.
      scope.removeContentTypeParser(type)
      scope.addContentTypeParser(type, deferUpload(type, toRead))
    }
    for (const route of routesOf(binding)) scope.route(route)
  })
}

/**
 * Continues to serve for a while after the signal to stop; each answer is the last on its connection. A balancer that checks
 * `/readyz` gets time to send requests elsewhere; otherwise requests that are on their way get a moment to arrive.
 *
 * After that, Node closes idle connections once, and would wait `KEEP_ALIVE_TIMEOUT_MS` for those that become idle later. So those
 * are closed here, and after `stopStalledMs` also those with an unread answer or an incomplete request. Requests that still wait in
 * a queue then are refused: their clients may be gone, and together they may take longer than the process has.
 */
async function prepareToClose(
  server: Server,
  { closeStalled, fastPath }: { readonly closeStalled: () => void; readonly fastPath: FastPath | undefined },
  { readiness, drainMs, limits, parts }: HttpOptions,
): Promise<void> {
  readiness.stop()
  fastPath?.stop()
  await pause(readiness.isWatched ? Math.max(drainMs, CLOSE_AFTER_MS) : CLOSE_AFTER_MS)
  const patientUntil = performance.now() + limits.stopStalledMs
  const closeWhatCan = () => {
    server.closeIdleConnections()
    fastPath?.closeIdle()
    if (performance.now() < patientUntil) return
    closeStalled()
    parts.queue.close()
    parts.responseMemory.close()
  }
  const timer = setInterval(closeWhatCan, CLOSE_IDLE_EVERY_MS).unref()
  server.once('close', () => clearInterval(timer))
}
