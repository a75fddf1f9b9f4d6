// Puts the running server together: store, log, pipeline and HTTP, and takes them apart in the opposite order.
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { ConfigError, type Config } from './config.ts'
import { AppError } from './core/app-error.ts'
import { prepareDataDir } from './data-dir.ts'
import { startForgetting } from './forget-old.ts'
import { Metrics } from './http/metrics.ts'
import { WorkspaceRegistry } from './http/workspace-registry.ts'
import type { LogCommit, LogReader } from './log/event-log.ts'
import { openLogForWriting } from './log/sqlite-log-file.ts'
import { openSqliteLogReader } from './log/sqlite-log-reader.ts'
import { openSqliteLog } from './log/sqlite-log.ts'
import { Freshness } from './operations/freshness.ts'
import type { Parts } from './operations/operation.ts'
import type { AppliedBatch } from './pipeline/follow-log.ts'
import { startPipeline, type PipelineOptions } from './pipeline/start-pipeline.ts'
import { giveUpLeftUploads } from './store/clean-coupon-uploads.ts'
import { findCursor, PIPELINE_CURSOR } from './store/cursors.ts'
import { describeError } from './store/describe-error.ts'
import { EmailVault } from './store/email-vault.ts'
import { migrate } from './store/migrations.ts'
import { LOG_FILE, openDatabase } from './store/open-database.ts'
import type { Database } from './store/store.ts'
import { Turnstile } from './store/turnstile.ts'
import { listWorkspaces } from './store/workspaces.ts'

export interface ServeOptions {
  readonly config: Config
  readonly diagnostics: FastifyBaseLogger
  /** Milliseconds since the epoch; only tests give another. */
  readonly clock?: () => number
  /** False leaves the log to another process with the role `pipeline`. */
  readonly withPipeline?: boolean
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

/** The role `http`, and with it `pipeline` unless told otherwise. Throws when place, port or a setting do not allow it. */
export function serve(options: ServeOptions): Promise<RunningServer> {
  return openAll((opened) => openServer(options, opened))
}

/** The role `pipeline` alone: follows the log that another process writes. */
export function servePipeline(options: ServeOptions): Promise<{ stop(): Promise<void> }> {
  return openAll(async (opened) => {
    const { config } = options
    prepareDataDir(config.dataDir)
    const database = openDatabase(config)
    opened.push(() => database.close())
    await checkDatabase(database, config)
    openLogForWriting(logPathOf(config)).close()
    const logReader = openSqliteLogReader(logPathOf(config))
    opened.push(() => logReader.close())
    await refuseForeignLog(database, logReader)
    const pipeline = startPipeline(pipelineOptions(options, new Turnstile()))
    opened.push(() => pipeline.stop())
    return { stop: () => closeAll(opened) }
  })
}

type Closers = (() => Promise<void> | void)[]

/** Whatever `open` had opened before it failed is closed again, so that no thread keeps the process alive. */
async function openAll<Running>(open: (opened: Closers) => Promise<Running>): Promise<Running> {
  const opened: Closers = []
  try {
    return await open(opened)
  } catch (error) {
    await closeAll(opened)
    throw error
  }
}

async function closeAll(opened: Closers): Promise<void> {
  for (let close = opened.pop(); close; close = opened.pop()) await close()
}

async function openServer(options: ServeOptions, opened: Closers): Promise<RunningServer> {
  const { config, diagnostics } = options
  const turnstile = new Turnstile()
  const metrics = new Metrics()
  // Takes longest to load, so it begins first; meanwhile the threads of store and log load on another core.
  const loading = import('./create-app.ts')
  const onCommit = (commit: LogCommit) => metrics.countCommit(commit)
  const parts = await openParts(options, { turnstile, onCommit }, opened)
  const { database } = parts
  const registry = new WorkspaceRegistry(database)
  opened.push(() => registry.stop())
  await registry.start((error) => diagnostics.error({ err: describeError(error) }, 'the workspaces cannot be read'))
  const { createApp } = await loading
  const app = createApp({ config, diagnostics, parts, registry, metrics })
  opened.push(() => app.close())
  await listen(app, config)
  if (options.withPipeline !== false) {
    const onApplied = ({ events, parked, durationMs }: AppliedBatch) =>
      metrics.countBatch(events, parked, durationMs / 1000)
    const pipeline = startPipeline({ ...pipelineOptions(options, turnstile), onApplied })
    opened.push(() => pipeline.stop())
  }
  opened.push(startForgetting(parts, diagnostics))
  return { url: urlOf(app), database, app, registry, stop: () => closeAll(opened) }
}

async function openParts(
  { config, clock = Date.now }: ServeOptions,
  { turnstile, onCommit }: { turnstile: Turnstile; onCommit: (commit: LogCommit) => void },
  opened: Closers,
): Promise<Parts> {
  prepareDataDir(config.dataDir)
  const database = openDatabase(config, { ownThread: true, turnstile })
  opened.push(() => database.close())
  const path = logPathOf(config)
  const log = openSqliteLog({ path, onCommit })
  opened.push(() => log.close())
  await checkDatabase(database, config)
  await giveUpLeftUploads(database)
  const logReader = openSqliteLogReader(path)
  opened.push(() => logReader.close())
  await refuseForeignLog(database, logReader)
  const emailVault = config.piiKey && new EmailVault(config.piiKey)
  const freshness = new Freshness({ database, log, logReader, clock })
  return { database, log, logReader, emailVault, freshness, clock }
}

/** Brings the tables up to date, and refuses to start without the key that a workspace needs ("Encrypted emails"). */
async function checkDatabase(database: Database, config: Config): Promise<void> {
  await migrate(database, Date.now())
  if (config.piiKey) return
  const stored = await listWorkspaces(database)
  const encrypted = stored.filter(({ workspace }) => workspace.emailProtection === 'encrypted')
  if (encrypted.length === 0) return
  const names = encrypted.map(({ workspace }) => workspace.id).join(', ')
  throw new ConfigError([{ field: 'PII_KEY', problem: `must be set, for emails are encrypted in ${names}` }])
}

/** New entries of a log that ends before what the tables have applied would never be applied: it belongs elsewhere. */
async function refuseForeignLog(database: Database, logReader: LogReader): Promise<void> {
  const cursor = await findCursor(database, PIPELINE_CURSOR)
  const last = await logReader.lastPosition()
  if (last >= cursor) return
  const what = `The log in DATA_DIR ends at position ${last}, but its entries up to ${cursor} have been applied`
  throw new AppError('conflict', `${what}: this is not the ${LOG_FILE} that belongs to the store.`)
}

function pipelineOptions({ config, diagnostics }: ServeOptions, turnstile: Turnstile): PipelineOptions {
  const { dataDir, databaseUrl } = config
  return {
    place: { dataDir, databaseUrl },
    logPath: logPathOf(config),
    turnstile: turnstile.shared,
    onApplied: () => {},
    onFailed: (what, error) => diagnostics.error({ err: error }, what),
  }
}

function logPathOf({ dataDir }: Config): string {
  return join(dataDir, LOG_FILE)
}

/** Why a place cannot be listened on, by the code of the system's error. */
const LISTEN_PROBLEMS: Readonly<Record<string, (config: Config) => ConfigError['faults'][number]>> = {
  EADDRINUSE: ({ host, port }) => ({ field: 'PORT', problem: `${port} is in use on ${host}: choose another` }),
  EACCES: ({ port }) => ({ field: 'PORT', problem: `${port} needs rights that this user does not have` }),
  EADDRNOTAVAIL: ({ host }) => ({ field: 'HOST', problem: `${host} is not an address of this machine` }),
  ENOTFOUND: ({ host }) => ({ field: 'HOST', problem: `${host} is not known` }),
}

/** Throws ConfigError where another port or host would help. */
async function listen(app: FastifyInstance, config: Config): Promise<void> {
  try {
    await app.listen({ host: config.host, port: config.port })
  } catch (error) {
    const problem = LISTEN_PROBLEMS[(error as { code?: string }).code ?? '']
    throw problem ? new ConfigError([problem(config)]) : error
  }
}

function urlOf(app: FastifyInstance): string {
  const { address, port, family } = app.server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
