// Creates the HTTP server with every operation and the routes for operators. A module of its own because it takes longest to load:
// `serve.ts` loads it while the threads of store and log load.
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Config } from './config.ts'
import { Authentication } from '../http/authentication.ts'
import type { HttpLimits } from '../http/http-limits.ts'
import type { Limiter } from '../http/limits/limiter.ts'
import type { LogLag, Metrics } from '../http/operator/metrics.ts'
import { DRAIN_MS, Readiness } from '../http/operator/readiness.ts'
import {
  addOperatorRoutes,
  countReply,
  countUnhooked,
  EXACT_PATHS,
  OPERATOR_METHODS,
  OPERATOR_PATHS,
  UNANSWERED_STATUS,
} from '../http/operator/operator-routes.ts'
import { LINK_PATHS } from '../http/links/link-routes.ts'
import { viewMessage } from '../delivery/preview/view-message.ts'
import { createHttpServer } from '../http/server.ts'
import type { WorkspaceRegistry } from '../http/workspace-registry.ts'
import type { Parts } from '../operations/operation.ts'
import { OPERATIONS } from '../operations/operations.ts'
import { listPipelineCursors } from '../store/entries/cursors.ts'
import { readVersion } from './version.ts'

export interface AppParts {
  readonly config: Config
  readonly diagnostics: FastifyBaseLogger
  readonly parts: Parts
  readonly registry: WorkspaceRegistry
  readonly rateLimits: Limiter
  readonly metrics: Metrics
  /** Whether the files of the embedded store are still where the server opened them. Absent for a store in PostgreSQL. */
  readonly areFilesPresent?: (() => boolean) | undefined
  readonly limits: HttpLimits
}

/** Creates the server; the caller makes it listen. */
export function createApp(appParts: AppParts): FastifyInstance {
  const { config, diagnostics, parts, registry, rateLimits, metrics, areFilesPresent, limits } = appParts
  const readiness = new Readiness({ ...parts, areFilesPresent })
  const app = createHttpServer({
    parts,
    authentication: new Authentication(registry),
    rateLimits,
    operations: OPERATIONS,
    links: { parts, registry, renderMessage: ({ number: run }, number) => viewMessage(parts, { run, number }) },
    operatorPaths: new Map([...OPERATOR_PATHS.map((path) => [path, OPERATOR_METHODS] as const), ...LINK_PATHS]),
    exactPaths: EXACT_PATHS,
    diagnostics,
    trustedProxies: config.trustedProxies,
    readiness,
    drainMs: config.databaseUrl === undefined ? 0 : DRAIN_MS,
    limits,
    onUnanswered: (reply) => countReply(metrics, reply, UNANSWERED_STATUS),
    onUnhooked: (answer) => countUnhooked(metrics, answer),
    hasFastPath: config.hasFastPath,
    onFastPath: ({ operation, status = UNANSWERED_STATUS, durationMs }) =>
      metrics.countRequest(operation, status, durationMs / 1000),
  })
  addOperatorRoutes(app, {
    version: readVersion(),
    operations: OPERATIONS,
    parts,
    metrics,
    readiness,
    readLag: () => readLag(parts),
  })
  return app
}

async function readLag({ database, logReader, clock }: Parts): Promise<LogLag> {
  const oldest = await logReader.firstAfter(await listPipelineCursors(database, logReader.partitions))
  const last = await logReader.lastPosition()
  if (!oldest) return { entries: 0, seconds: 0 }
  // An upper bound: in other partitions, entries after the oldest unapplied one may already be applied.
  const seconds = oldest.receivedAt === 0 ? NaN : Math.max(0, clock() - oldest.receivedAt) / 1000
  return { entries: last - oldest.position + 1, seconds }
}
