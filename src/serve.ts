// Puts the running server together: store, log, pipeline and HTTP, and takes them apart in order.
import { mkdirSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Config } from './config.ts'
import { Authentication } from './http/authentication.ts'
import { Metrics, type LogLag } from './http/metrics.ts'
import { addOperatorRoutes, OPERATOR_PATHS } from './http/operator-routes.ts'
import { RateLimits } from './http/rate-limits.ts'
import { createHttpServer, pathsOf, refuseOtherMethods } from './http/server.ts'
import { WorkspaceRegistry } from './http/workspace-registry.ts'
import { APPLIED_ENTRIES_KEPT_MS, IDEMPOTENCY_KEPT_MS, type LogReader, type LogWriter } from './log/event-log.ts'
import { openSqliteLogReader } from './log/sqlite-log-reader.ts'
import { openSqliteLog } from './log/sqlite-log.ts'
import type { Parts } from './operations/operation.ts'
import { OPERATIONS } from './operations/operations.ts'
import { startPipeline, type RunningPipeline } from './pipeline/start-pipeline.ts'
import { findCursor, PIPELINE_CURSOR } from './store/cursors.ts'
import { EmailVault } from './store/email-vault.ts'
import { migrate } from './store/migrations.ts'
import { LOG_FILE, openDatabase } from './store/open-database.ts'
import { forgetReceipts, RECEIPTS_KEPT_MS } from './store/request-receipts.ts'
import type { Database } from './store/store.ts'
import { Turnstile } from './store/turnstile.ts'

export interface ServeOptions {
  readonly config: Config
  readonly diagnostics: FastifyBaseLogger
  /** Milliseconds since the epoch; only tests give another. */
  readonly clock?: () => number
}

export interface RunningServer {
  /** Where it listens, such as `http://127.0.0.1:8080`. */
  readonly url: string
  readonly database: Database
  readonly app: FastifyInstance
  readonly registry: WorkspaceRegistry
  /** Finishes what is in flight, then stops; resolves when everything is closed. */
  stop(): Promise<void>
}

/** How often old entries, keys and receipts are forgotten. */
const FORGET_EVERY_MS = 60_000

/** Opens everything and listens. Throws when the place, the port or a setting does not allow it. */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const { config, diagnostics } = options
  const clock = options.clock ?? Date.now
  const turnstile = new Turnstile()
  const database = openDatabase(config, { ownThread: true, turnstile })
  await migrate(database, clock())
  const metrics = new Metrics()
  mkdirSync(config.dataDir, { recursive: true })
  const logPath = join(config.dataDir, LOG_FILE)
  const log = openSqliteLog({
    path: logPath,
    onCommit: (commit) => metrics.countCommit(commit),
  })
  const logReader = openSqliteLogReader(logPath)
  const emailVault = config.piiKey && new EmailVault(config.piiKey)
  const parts: Parts = { database, log, logReader, emailVault, clock }
  const registry = new WorkspaceRegistry(database)
  await registry.start((error) => diagnostics.error({ err: error }, 'the workspaces cannot be read'))
  const app = createApp(parts, registry, metrics, config, diagnostics)
  const pipeline = startPipeline({
    place: { dataDir: config.dataDir, databaseUrl: config.databaseUrl },
    logPath,
    turnstile: turnstile.shared,
    onApplied: ({ events, parked, durationMs }) => metrics.countBatch(events, parked, durationMs / 1000),
    onFailed: (what, error) => diagnostics.error({ error }, what),
  })
  const forgetting = setInterval(() => void forgetOld(parts, diagnostics), FORGET_EVERY_MS).unref()
  await app.listen({ host: config.host, port: config.port })
  return {
    url: urlOf(app),
    database,
    app,
    registry,
    async stop() {
      clearInterval(forgetting)
      await stopInOrder({ app, registry, log, logReader, pipeline, database })
    },
  }
}

/** The version of this program. */
export function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

function createApp(
  parts: Parts,
  registry: WorkspaceRegistry,
  metrics: Metrics,
  config: Config,
  diagnostics: FastifyBaseLogger,
): FastifyInstance {
  const app = createHttpServer({
    parts,
    authentication: new Authentication(registry),
    rateLimits: new RateLimits(),
    operations: OPERATIONS,
    diagnostics,
    trustedProxies: config.trustedProxies,
  })
  addOperatorRoutes(app, { version: readVersion(), parts, metrics, readLag: () => readLag(parts) })
  const paths = pathsOf(OPERATIONS)
  for (const path of OPERATOR_PATHS) paths.set(path, ['GET'])
  refuseOtherMethods(app, paths)
  return app
}

async function readLag({ database, logReader, clock }: Parts): Promise<LogLag> {
  const cursor = await findCursor(database, PIPELINE_CURSOR)
  const [oldest] = await logReader.read(cursor, { entries: 1, bytes: 1 })
  const last = await logReader.lastPosition()
  return { entries: last - cursor, seconds: oldest ? Math.max(0, clock() - oldest.receivedAt) / 1000 : 0 }
}

/** Deletes what nobody asks for any more, in bounded steps between which others have their turn. */
async function forgetOld(parts: Parts, diagnostics: FastifyBaseLogger): Promise<void> {
  const { database, log, clock } = parts
  try {
    const throughPosition = await findCursor(database, PIPELINE_CURSOR)
    const now = clock()
    const limits = {
      throughPosition,
      entriesReceivedBefore: now - APPLIED_ENTRIES_KEPT_MS,
      keysReceivedBefore: now - IDEMPOTENCY_KEPT_MS,
    }
    while (await log.trim(limits));
    while (await database.write((store) => forgetReceipts(store, now - RECEIPTS_KEPT_MS)));
  } catch (error) {
    diagnostics.error({ err: error }, 'old entries cannot be forgotten; trying again later')
  }
}

interface Running {
  readonly app: FastifyInstance
  readonly registry: WorkspaceRegistry
  readonly log: LogWriter
  readonly logReader: LogReader
  readonly pipeline: RunningPipeline
  readonly database: Database
}

async function stopInOrder({ app, registry, log, logReader, pipeline, database }: Running): Promise<void> {
  await app.close()
  registry.stop()
  await log.close()
  await pipeline.stop()
  await logReader.close()
  await database.close()
}

function urlOf(app: FastifyInstance): string {
  const { address, port, family } = app.server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
