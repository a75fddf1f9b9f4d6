// Creates the HTTP server with every operation and the routes for operators. A module of its own because it takes longest to load:
// `serve.ts` loads it while the threads of store and log load.
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from './config.ts'
import { Authentication } from '../http/authentication.ts'
import type { ProcessRole } from '../core/workspaces/system-state.ts'
import type { HttpLimits } from '../http/http-limits.ts'
import type { KeyUses } from '../http/key-uses.ts'
import type { Limiter } from '../http/limits/limiter.ts'
import { listUsedLimits } from '../http/limits/used-limits.ts'
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
import { BuiltDashboard, findDashboardPlace } from '../http/dashboard/built-dashboard.ts'
import { DASHBOARD_PATHS } from '../http/dashboard/dashboard-routes.ts'
import { LINK_PATHS } from '../http/links/link-routes.ts'
import { viewMessage } from '../delivery/preview/view-message.ts'
import { newCallerLimits } from '../http/limits/caller-limits.ts'
import { callerAddress } from '../http/requests/caller-address.ts'
import { isSecureConnection } from '../http/sessions/connection-security.ts'
import { SessionDoor, type SentCookie } from '../http/sessions/session-door.ts'
import { createHttpServer } from '../http/server.ts'
import type { WorkspaceRegistry } from '../http/workspace-registry.ts'
import type { FirstParts, Parts } from '../operations/operation.ts'
import { OPERATIONS } from '../operations/operations.ts'
import { replayParked } from '../pipeline/replay-parked.ts'
import { listPipelineCursors } from '../store/entries/cursors.ts'
import { readSystem } from './system/read-system.ts'
import { readVersion } from './version.ts'

export interface AppParts {
  readonly config: Config
  readonly diagnostics: FastifyBaseLogger
  readonly parts: FirstParts
  readonly registry: WorkspaceRegistry
  readonly keyUses: KeyUses
  readonly rateLimits: Limiter
  readonly metrics: Metrics
  /** Whether the files of the embedded store are still where the server opened them. Absent for a store in PostgreSQL. */
  readonly areFilesPresent?: (() => boolean) | undefined
  readonly limits: HttpLimits
  /** What this process does. */
  readonly roles: readonly ProcessRole[]
}

/** Creates the server; the caller makes it listen. */
export function createApp(appParts: AppParts): FastifyInstance {
  const { config, diagnostics, registry, keyUses, rateLimits, metrics, areFilesPresent, limits, roles } = appParts
  const readiness = new Readiness({ ...appParts.parts, areFilesPresent })
  const parts: Parts = {
    ...appParts.parts,
    listUsedLimits: (workspace, now) => listUsedLimits(rateLimits, OPERATIONS, { workspace, now }),
    readSystem: () => readSystem({ ...appParts.parts, config, readiness, roles, readLag: () => readLag(parts) }),
    replayParked: (change) => replayParked(appParts.parts.database, change),
  }
  const dashboard = new BuiltDashboard(findDashboardPlace(), diagnostics)
  const sessions = new SessionDoor({ database: parts.database, registry, requiresHttps: config.requiresHttps })
  const app = createHttpServer({
    parts,
    authentication: new Authentication(registry, keyUses),
    sessions,
    callerLimits: newCallerLimits(),
    rateLimits,
    operations: OPERATIONS,
    links: { parts, registry, renderMessage: ({ number: run }, number) => viewMessage(parts, { run, number }) },
    dashboard: {
      findFiles: () => dashboard.findFiles(),
      isSignedIn: (request) => sessions.isSignedIn(sentCookie(request, parts), parts.clock()),
    },
    operatorPaths: new Map([
      ...OPERATOR_PATHS.map((path) => [path, OPERATOR_METHODS] as const),
      ...LINK_PATHS,
      ...DASHBOARD_PATHS,
    ]),
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
  app.addHook('onListen', () => void dashboard.prepare())
  app.addHook('onClose', async () => dashboard.stop())
  return app
}

function sentCookie(request: FastifyRequest, { delivery: { publicUrl } }: FirstParts): SentCookie {
  const { headers, protocol } = request
  return {
    headers,
    isSecure: isSecureConnection(protocol, headers.host, publicUrl),
    callerAddress: () => callerAddress(request),
  }
}

async function readLag({ database, logReader, clock }: FirstParts): Promise<LogLag> {
  const oldest = await logReader.firstAfter(await listPipelineCursors(database, logReader.partitions))
  const last = await logReader.lastPosition()
  if (!oldest) return { entries: 0, seconds: 0 }
  // An upper bound: in other partitions, entries after the oldest unapplied one may already be applied.
  const seconds = oldest.receivedAt === 0 ? NaN : Math.max(0, clock() - oldest.receivedAt) / 1000
  return { entries: last - oldest.position + 1, seconds }
}
