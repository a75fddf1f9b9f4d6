// Puts the operations on HTTP: one route each, 405 for other methods of their paths, 404 for everything else.
import { METHODS, type Server } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { AppError } from '../core/app-error.ts'
import type { Operation } from '../operations/operation.ts'
import { pause } from '../store/turnstile.ts'
import { deferJson, deferUnsupported, deferUpload, routesOf, type DoorParts } from './door.ts'
import { INTERNAL, sendError, toAppError, toErrorBody } from './error-answer.ts'
import { newRequestId } from './request-id.ts'

/** How long a client may take to send one request. */
const REQUEST_TIMEOUT_MS = 5 * 60_000
/** How long an idle connection is kept for the next request. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000
/** Between the signal to stop and the closing of connections, and from then on between looks for idle ones. */
const CLOSE_AFTER_MS = 100
const CLOSE_IDLE_EVERY_MS = 10
const URL_PARAM_LENGTH_MAX = 1_024

export interface HttpOptions extends DoorParts {
  readonly operations: readonly Operation[]
  readonly diagnostics: FastifyBaseLogger
  /** Addresses whose X-Forwarded-For is believed for the caller's own address; empty: nobody's. */
  readonly trustedProxies: readonly string[]
}

/** All routes of the operations; `addTo` may add what needs no authentication before the server listens. */
export function createHttpServer(options: HttpOptions): FastifyInstance {
  const app = Fastify({
    loggerInstance: options.diagnostics,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => newRequestId(),
    requestIdHeader: false,
    // A logger of its own for every request costs more than what is logged: our lines name the request id themselves.
    childLoggerFactory: (logger) => logger as never,
    trustProxy: options.trustedProxies.length > 0 ? [...options.trustedProxies] : false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    routerOptions: { maxParamLength: URL_PARAM_LENGTH_MAX },
    exposeHeadRoutes: false,
    // What still arrives while closing is carried out, and its connection closed afterwards.
    return503OnClosing: false,
    frameworkErrors: (error, _request, reply) => void sendError(reply, toAppError(error)),
    clientErrorHandler: answerBrokenRequest,
  }) as unknown as FastifyInstance
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', deferJson)
  app.addContentTypeParser('*', deferUnsupported)
  app.decorateRequest('caller', null)
  app.decorateRequest('receivedAt', 0)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  app.setErrorHandler((error, request, reply) => {
    const known = toAppError(error)
    if (known === INTERNAL) request.log.error({ err: error, request_id: request.id }, 'unexpected error')
    return sendError(reply, known)
  })
  app.setNotFoundHandler((_request, reply) =>
    sendError(reply, new AppError('not_found', 'There is nothing at this path.')),
  )
  for (const operation of options.operations) addOperation(app, operation, options)
  app.addHook('preClose', () => prepareToClose(app.server))
  return app
}

/** Answers 405 to every method that the paths so far do not have. To be called once all routes are there. */
export function refuseOtherMethods(app: FastifyInstance, paths: ReadonlyMap<string, readonly string[]>): void {
  for (const method of METHODS)
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: false })
  for (const [url, allowed] of paths) {
    app.route({
      method: METHODS.filter((method) => !allowed.includes(method)),
      url,
      handler: (_request, reply) => {
        reply.header('allow', allowed.join(', '))
        return sendError(reply, new AppError('method_not_allowed', `This path takes ${allowed.join(', ')}.`))
      },
    })
  }
}

/** The paths of the operations with their methods, for `refuseOtherMethods`. */
export function pathsOf(operations: readonly Operation[]): Map<string, string[]> {
  const paths = new Map<string, string[]>()
  for (const { method, url, otherUrls } of operations) {
    for (const path of [url, ...(otherUrls ?? [])]) paths.set(path, [...(paths.get(path) ?? []), method])
  }
  return paths
}

function addOperation(app: FastifyInstance, operation: Operation, options: HttpOptions): void {
  const { upload } = operation
  if (!upload) {
    for (const route of routesOf(operation, options)) app.route(route)
    return
  }
  // A media type that one operation takes is known only in a scope of its own; elsewhere it stays 415.
  app.register(async (scope) => {
    scope.addContentTypeParser(upload.mediaType, deferUpload(upload.bytesMax))
    for (const route of routesOf(operation, options)) scope.route(route)
  })
}

/**
 * Node closes the connections that are idle when closing begins, also where a request is on its way: those get a moment to
 * arrive. It keeps those with a request in flight for the next one, and would wait for them as long as
 * `KEEP_ALIVE_TIMEOUT_MS`: they are closed as they become idle.
 */
async function prepareToClose(server: Server): Promise<void> {
  await pause(CLOSE_AFTER_MS)
  const timer = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS).unref()
  server.once('close', () => clearInterval(timer))
}

/** What is not even HTTP gets the one error body too. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const isTooLarge = error.code === 'HPE_HEADER_OVERFLOW'
  const refusal = new AppError('invalid_request', isTooLarge ? 'The headers are too large.' : 'This is not valid HTTP.')
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
}
