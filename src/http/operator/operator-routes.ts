// The routes without authentication: name and version, health, readiness, metrics and the reference page.
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Operation, Parts } from '../../operations/operation.ts'
import { countParkedEntries } from '../../store/entries/parked-entries.ts'
import { boundedAttempt } from './bounded-attempt.ts'
import { NOTHING_HERE } from '../answers/error-answer.ts'
import type { LogLag, Metrics } from './metrics.ts'
import { openApiDocument } from '../reference/openapi.ts'
import { OPERATOR_PAGES, type OperatorPath } from '../reference/operator-pages.ts'
import type { Readiness } from './readiness.ts'
import { addReferencePage, REFERENCE_PATHS } from '../reference/reference-page.ts'
import type { UnhookedAnswer } from '../server.ts'

export interface OperatorOptions {
  readonly version: string
  readonly operations: readonly Operation[]
  readonly parts: Parts
  readonly metrics: Metrics
  readonly readiness: Readiness
  /** How far the pipeline is behind the log. */
  readonly readLag: () => Promise<LogLag>
}

/** Every path without authentication. */
export const OPERATOR_PATHS: readonly string[] = [...OPERATOR_PAGES.map(({ path }) => path), ...REFERENCE_PATHS]
/** A proxy may block one of these by its one spelling, so no other is accepted. */
export const EXACT_PATHS: ReadonlySet<string> = new Set(
  OPERATOR_PAGES.flatMap(({ path }) => (path === '/' ? [] : [path])),
)
/** The part before the path in requests with an absolute URL. */
const BEFORE_PATH = /^https?:\/\/[^/?]*/i

/** Well below the ten seconds after which Prometheus gives up by default, and would get none of the counters either. */
const GAUGES_WAIT_MS = 4_000

/** The methods that each of these paths takes. */
export const OPERATOR_METHODS = ['GET', 'HEAD'] as const

export function addOperatorRoutes(app: FastifyInstance, options: OperatorOptions): void {
  const { version, parts, metrics, readiness } = options
  const readLag = boundedAttempt(options.readLag, { what: 'the log', waitMs: GAUGES_WAIT_MS })
  const countParked = boundedAttempt(() => countParkedEntries(parts.database), {
    what: 'the store',
    waitMs: GAUGES_WAIT_MS,
  })
  const get = (path: OperatorPath, answer: (request: FastifyRequest, reply: FastifyReply) => unknown) =>
    app.get(
      path,
      { exposeHeadRoute: true, ...(EXACT_PATHS.has(path) && { onRequest: refuseOtherSpellings(path) }) },
      answer,
    )
  const links = {
    dashboard: '/dashboard',
    docs: '/docs',
    openapi: '/openapi.json',
    health: '/healthz',
    ready: '/readyz',
    metrics: '/metrics',
  }
  get('/', () => ({ name: 'tidings', version, links }))
  get('/healthz', () => ({ status: 'ok', version }))
  get('/readyz', async () => {
    await readiness.check()
    return { status: 'ok' }
  })
  get('/metrics', async (_request, reply) => {
    const [lag, parked] = await Promise.allSettled([readLag(), countParked()])
    const { contentType, text } = await metrics.render({ lag: valueOf(lag), parked: valueOf(parked) })
    return reply.header('content-type', contentType).send(text)
  })
  // As bytes, so that all answers share one piece of memory.
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

/** Counted for a request whose connection ended before its whole answer was sent; no client ever receives this status. */
export const UNANSWERED_STATUS = 499

/** The name counted for a request that belongs to no operation. */
const NO_OPERATION = 'none'

export function countReply(metrics: Metrics, { request, elapsedTime }: FastifyReply, status: number): void {
  metrics.countRequest(request.routeOptions.config.operation?.name ?? NO_OPERATION, status, elapsedTime / 1000)
}

export function countUnhooked(metrics: Metrics, { status, durationMs }: UnhookedAnswer): void {
  metrics.countRequest(NO_OPERATION, status, durationMs && durationMs / 1000)
}

/**
 * A proxy in front of the server may block some of these paths, and knows only one spelling of each. The router also accepts
 * others, with extra slashes or encoded characters.
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
