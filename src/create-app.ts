// Puts HTTP together: every operation behind its door, and what operators ask for. A module of its own because it takes
// longest to load: `serve.ts` does so while the threads of store and log load too.
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Config } from './config.ts'
import { Authentication } from './http/authentication.ts'
import type { LogLag, Metrics } from './http/metrics.ts'
import { addOperatorRoutes, OPERATOR_METHODS, OPERATOR_PATHS } from './http/operator-routes.ts'
import { RateLimits } from './http/rate-limits.ts'
import { createHttpServer } from './http/server.ts'
import type { WorkspaceRegistry } from './http/workspace-registry.ts'
import type { Parts } from './operations/operation.ts'
import { OPERATIONS } from './operations/operations.ts'
import { findCursor, PIPELINE_CURSOR } from './store/cursors.ts'
import { readVersion } from './version.ts'

export interface AppParts {
  readonly config: Config
  readonly diagnostics: FastifyBaseLogger
  readonly parts: Parts
  readonly registry: WorkspaceRegistry
  readonly metrics: Metrics
}

/** The server, not listening yet. */
export function createApp({ config, diagnostics, parts, registry, metrics }: AppParts): FastifyInstance {
  const app = createHttpServer({
    parts,
    authentication: new Authentication(registry),
    rateLimits: new RateLimits(),
    operations: OPERATIONS,
    operatorPaths: new Map(OPERATOR_PATHS.map((path) => [path, OPERATOR_METHODS])),
    diagnostics,
    trustedProxies: config.trustedProxies,
  })
  addOperatorRoutes(app, {
    version: readVersion(),
    operations: OPERATIONS,
    parts,
    metrics,
    readLag: () => readLag(parts),
  })
  return app
}

async function readLag({ database, logReader, clock }: Parts): Promise<LogLag> {
  const cursor = await findCursor(database, PIPELINE_CURSOR)
  const [oldest] = await logReader.read(cursor, { entries: 1, bytes: 1 })
  const last = await logReader.lastPosition()
  return { entries: last - cursor, seconds: oldest ? Math.max(0, clock() - oldest.receivedAt) / 1000 : 0 }
}
