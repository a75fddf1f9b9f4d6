// What needs no authentication: the server's name and version, whether it lives and is ready, and the metrics.
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { AppError } from '../core/app-error.ts'
import type { Parts } from '../operations/operation.ts'
import { countParkedEntries } from '../store/parked-entries.ts'
import type { Database } from '../store/store.ts'
import { sendError } from './error-answer.ts'
import type { LogLag, Metrics } from './metrics.ts'

export interface OperatorOptions {
  readonly version: string
  readonly parts: Parts
  readonly metrics: Metrics
  /** How far the pipeline is behind the log. */
  readonly readLag: () => Promise<LogLag>
}

/** How long `/readyz` waits for store and log before it calls them not ready. */
const READY_WAIT_MS = 2_000

export const OPERATOR_PATHS = ['/', '/healthz', '/readyz', '/metrics'] as const

export function addOperatorRoutes(app: FastifyInstance, options: OperatorOptions): void {
  const { version, parts, metrics, readLag } = options
  const links = { docs: '/docs', openapi: '/openapi.json', health: '/healthz', ready: '/readyz', metrics: '/metrics' }
  app.get('/', () => ({ name: 'tidings', version, links }))
  app.get('/healthz', () => ({ status: 'ok', version }))
  app.get('/readyz', async (_request, reply) => {
    const problems = await findProblems(parts)
    if (problems.length === 0) return { status: 'ok' }
    return sendError(reply, new AppError('unavailable', `Not ready: ${problems.join('; ')}.`))
  })
  app.get('/metrics', async (_request, reply) => {
    const { contentType, text } = await metrics.render(await readLag(), await countParkedEntries(parts.database))
    return reply.header('content-type', contentType).send(text)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const operation = request.routeOptions.config.operation?.name ?? 'none'
    metrics.countRequest(operation, reply.statusCode, reply.elapsedTime / 1000)
    done()
  })
}

/** Why store or log cannot be written now; empty when they can. */
async function findProblems(parts: Parts): Promise<string[]> {
  const checks = [within(checkStore(parts.database), 'the store'), within(parts.log.check(), 'the log')]
  const outcomes = await Promise.allSettled(checks)
  return outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [messageOf(outcome.reason)] : []))
}

/** Takes the right to write and gives it back. */
async function checkStore(database: Database): Promise<void> {
  await database.write(async ({ query }) => void (await sql`select 1`.execute(query)))
}

async function within(check: Promise<void>, what: string): Promise<void> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`${what} does not answer`)), READY_WAIT_MS)
  try {
    await Promise.race([check, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function messageOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason)
}
