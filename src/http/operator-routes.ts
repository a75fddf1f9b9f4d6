// What needs no authentication: the server's name and version, whether it lives and is ready, its metrics and its reference.
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { AppError } from '../core/app-error.ts'
import type { Operation, Parts } from '../operations/operation.ts'
import { countParkedEntries } from '../store/parked-entries.ts'
import { NOTHING_HERE } from './error-answer.ts'
import type { LogLag, Metrics } from './metrics.ts'
import { openApiDocument } from './openapi.ts'
import { OPERATOR_PAGES, type OperatorPath } from './operator-pages.ts'
import type { Readiness } from './readiness.ts'
import { addReferencePage, REFERENCE_PATHS } from './reference-page.ts'

export interface OperatorOptions {
  readonly version: string
  readonly operations: readonly Operation[]
  readonly parts: Parts
  readonly metrics: Metrics
  readonly readiness: Readiness
  /** How far the pipeline is behind the log. */
  readonly readLag: () => Promise<LogLag>
}

/** Every path without authentication, and what each of them takes. */
export const OPERATOR_PATHS: readonly string[] = [...OPERATOR_PAGES.map(({ path }) => path), ...REFERENCE_PATHS]
/** Stands in requests that name the whole address. */
const BEFORE_PATH = /^https?:\/\/[^/?]*/i

export const OPERATOR_METHODS = ['GET', 'HEAD'] as const

export function addOperatorRoutes(app: FastifyInstance, options: OperatorOptions): void {
  const { version, parts, metrics, readiness } = options
  const get = (path: OperatorPath, answer: (request: FastifyRequest, reply: FastifyReply) => unknown) =>
    app.get(path, { exposeHeadRoute: true, ...(path !== '/' && { onRequest: refuseOtherSpellings(path) }) }, answer)
  const links = { docs: '/docs', openapi: '/openapi.json', health: '/healthz', ready: '/readyz', metrics: '/metrics' }
  get('/', () => ({ name: 'tidings', version, links }))
  get('/healthz', () => ({ status: 'ok', version }))
  get('/readyz', async () => {
    const problems = await readiness.findProblems()
    if (problems.length > 0) throw new AppError('unavailable', `Not ready: ${problems.join('; ')}.`)
    return { status: 'ok' }
  })
  get('/metrics', async (_request, reply) => {
    const [lag, parked] = await Promise.allSettled([options.readLag(), countParkedEntries(parts.database)])
    const { contentType, text } = await metrics.render({ lag: valueOf(lag), parked: valueOf(parked) })
    return reply.header('content-type', contentType).send(text)
  })
  // As bytes, so that all answers are the same piece of memory.
  let document: Buffer | undefined
  get('/openapi.json', async (_request, reply) => {
    document ??= Buffer.from(JSON.stringify(openApiDocument(options.operations, version)))
    return reply.header('content-type', 'application/json; charset=utf-8').send(document)
  })
  addReferencePage(app)
  app.addHook('onResponse', (_request, reply, done) => {
    countReply(metrics, reply, reply.statusCode)
    done()
  })
}

/** Of a request whose connection ended before its answer was sent whole; nobody is ever sent this status. */
export const UNANSWERED_STATUS = 499

export function countReply(metrics: Metrics, { request, elapsedTime }: FastifyReply, status: number): void {
  metrics.countRequest(request.routeOptions.config.operation?.name ?? 'none', status, elapsedTime / 1000)
}

/**
 * What stands before a server may keep some of these from the world, and knows them by one spelling. Other paths mean the same to
 * the router: with slashes too many, or with characters encoded.
 */
function refuseOtherSpellings(path: OperatorPath): onRequestHookHandler {
  return ({ url }, _reply, done) => {
    const [sent = ''] = url.replace(BEFORE_PATH, '').split('?', 1)
    done(sent === path ? undefined : NOTHING_HERE)
  }
}

function valueOf<Value>(outcome: PromiseSettledResult<Value>): Value | undefined {
  return outcome.status === 'fulfilled' ? outcome.value : undefined
}
