// Starts a server: opens store, log, pipeline and HTTP, and closes them in the opposite order.
import type { AddressInfo } from 'node:net'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { ConfigError, type Config } from './config.ts'
import { findConnectionsMax } from './connection-limit.ts'
import { lockHttpRole } from './lock-http-role.ts'
import { counted } from '../core/phrases/counted.ts'
import { receiptClock } from '../core/receipt-clock.ts'
import { prepareStoreFolder } from './data-dir.ts'
import { openSecretVault } from './settings/secret-key.ts'
import { findMachineFaults, listenAt } from './machine-faults.ts'
import { refuseForeignLog } from './refuse-foreign-log.ts'
import { warnOfClock } from './warn-of-clock.ts'
import { listJobs, startJobs } from '../jobs/jobs.ts'
import { HTTP_LIMITS, type HttpLimits } from '../http/http-limits.ts'
import type { Limiter } from '../http/limits/limiter.ts'
import { Metrics } from '../http/operator/metrics.ts'
import { RateLimits } from '../http/limits/rate-limits.ts'
import { SharedRateLimits } from '../http/limits/shared-rate-limits.ts'
import { WorkspaceRegistry } from '../http/workspace-registry.ts'
import type { LogCommit, LogReader } from '../log/event-log.ts'
import { describeLogLocation } from '../log/describe-log-location.ts'
import { isEmbedded, logPathOf, openLog, openLogReader } from '../log/open-log.ts'
import { OpenedFiles } from '../jobs/watch-files.ts'
import { ResponseMemory } from '../operations/response-memory.ts'
import { isRightKey } from '../actions/email-protection.ts'
import { AppliedEntries } from '../operations/applied-entries.ts'
import { Freshness } from '../operations/statistics/freshness.ts'
import { ResponseCache } from '../operations/statistics/response-cache.ts'
import { NameCache } from '../actions/name-cache.ts'
import type { Parts } from '../operations/operation.ts'
import { KeyedQueue } from '../concurrency/keyed-queue.ts'
import { EXPORT_SLOTS, IMPORT_SLOTS, Slots, UPLOAD_SLOTS } from '../operations/slots.ts'
import type { AppliedBatch } from '../pipeline/follower/follow-log.ts'
import { startPipeline, type PipelineOptions } from '../pipeline/start-pipeline.ts'
import { saveAllLimits, type SaveLimitsOptions } from '../jobs/save-limits.ts'
import { giveUpInterruptedUploads, listInterruptedUploads } from '../actions/clean-coupon-uploads.ts'
import { releaseInterruptedImports } from '../actions/imports/release-imports.ts'
import { listPipelineCursors } from '../store/entries/cursors.ts'
import { describeError } from '../store/describe-error.ts'
import { EmailVault } from '../store/users/email-vault.ts'
import { idempotencyKeysIn } from '../store/entries/idempotency-keys.ts'
import { LimitWindows, listLimitWindows } from '../store/workspaces/limit-windows.ts'
import { migrate } from '../store/migrations.ts'
import { refuseUnfinishedMove } from '../store/moves/moves.ts'
import { openDatabase, statePathOf } from '../store/open-database.ts'
import { REQUEST_ANSWER_WAIT_MS } from '../store/postgres/postgres-database.ts'
import { markStoreFiles } from '../store/sqlite/file-identity.ts'
import { startCheckpoints } from '../store/sqlite/sqlite-checkpoints.ts'
import type { Database } from '../store/store.ts'
import { WriterLock } from '../runtime/writer-lock.ts'
import { listWorkspaces } from '../store/workspaces/workspaces.ts'

export interface ServeOptions {
  readonly config: Config
  readonly diagnostics: FastifyBaseLogger
  /** Milliseconds since the epoch; only tests pass another clock. */
  readonly clock?: () => number
  /** False leaves the log to another process with the role `pipeline`. */
  readonly withPipeline?: boolean
  /** Replaces some of `HTTP_LIMITS`, for tests. */
  readonly httpLimits?: Partial<HttpLimits>
}

export interface RunningServer {
  /** The URL it listens on, such as `http://127.0.0.1:8080`. */
  readonly url: string
  readonly database: Database
  readonly app: FastifyInstance
  readonly registry: WorkspaceRegistry
  /** The queue of requests to the same resource. */
  readonly queue: KeyedQueue
  /** Resolves when all threads of the start have loaded their code. */
  readonly loaded: Promise<void>
  /** Finishes work in progress, then stops; resolves when everything is closed. */
  stop(): Promise<void>
}

/** Runs the role `http` and, unless `withPipeline` is false, `pipeline`. Throws if folder, port or a setting prevents it. */
export function serve(options: ServeOptions): Promise<RunningServer> {
  return openAll((opened) => openServer(options, opened))
}

/** Runs only the role `pipeline`: follows the log that other processes write. */
export function servePipeline(options: ServeOptions): Promise<Pick<RunningServer, 'loaded' | 'stop'>> {
  return openAll(async (opened) => {
    const { config } = options
    await prepareMachine(config, { listens: false })
    await checkStoreAndLog(options)
    await warnOfLosses(options)
    const pipeline = startPipeline(pipelineOptions(options, new WriterLock()))
    opened.push(() => pipeline.stop())
    return { loaded: pipeline.loaded, stop: () => closeAll(opened) }
  })
}

type Closers = (() => Promise<void> | void)[]

/** If `open` fails, closes everything it has opened, so that no thread keeps the process alive. */
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

/** Closes independent parts at the same time, so that none waits for another. */
async function closeTogether(running: Closers): Promise<void> {
  await Promise.all(running.map(async (close) => close()))
}

/**
 * Checks store and log before a pipeline follows them. The pipeline's thread opens connections of its own, so this closes its own.
 */
async function checkStoreAndLog(options: ServeOptions): Promise<void> {
  const { config } = options
  const opened: Closers = []
  try {
    const database = openDatabase(config)
    opened.push(() => database.close())
    await checkDatabase(database, options)
    const logReader = await openLogReader(config)
    opened.push(() => logReader.close())
    await checkLog(database, logReader, options)
  } finally {
    await closeAll(opened)
  }
}

async function openServer(options: ServeOptions, opened: Closers): Promise<RunningServer> {
  const { config, diagnostics, httpLimits } = options
  const connectionsMax = findConnectionsMax(diagnostics)
  await prepareMachine(config, { listens: true })
  if (isEmbedded(config)) opened.push(lockHttpRole(config.dataDir))
  const writerLock = new WriterLock()
  const metrics = new Metrics()
  // Takes longest to load, so it starts first; meanwhile the threads of store and log load on another core.
  const loading = import('./create-app.ts')
  let wakePipeline = () => {}
  const onCommit = (commit: LogCommit) => {
    metrics.countCommit(commit)
    wakePipeline()
  }
  const parts = await openParts(options, { writerLock, onCommit, metrics }, opened)
  await warnOfLosses(options)
  const { database } = parts
  const registry = new WorkspaceRegistry(database)
  opened.push(() => registry.stop())
  await registry.start({
    onError: (error) => diagnostics.error({ err: describeError(error) }, 'cannot read the workspaces'),
    onChange: (workspaceId, changed) => diagnostics.info({ workspace_id: workspaceId, changed }, 'a workspace changed'),
  })
  const { rateLimits, savedLimits } = await openRateLimits(options, database, opened)
  const files = isEmbedded(config) ? new OpenedFiles([statePathOf(config), logPathOf(config)], diagnostics) : undefined
  await files?.check()
  const areFilesPresent = files && (() => files.arePresent)
  const { createApp } = await loading
  const limits = { ...HTTP_LIMITS, connectionsMax, ...httpLimits }
  const app = createApp({ config, diagnostics, parts, registry, rateLimits, metrics, areFilesPresent, limits })
  // Stops HTTP and pipeline at the same time: a batch may take long, and clients must see at once that the process is stopping.
  const running: Closers = [() => app.close()]
  opened.push(() => closeTogether(running))
  // Lists uploads before it listens, so that none of its own is among them, but gives them up after it: if another server runs
  // here, this start fails and leaves that server's uploads alone.
  const left = await listInterruptedUploads(database)
  const startedAt = parts.clock()
  await listen(app, config)
  await giveUpInterruptedUploads(database, left)
  await releaseInterruptedImports(database, startedAt)
  if (isEmbedded(config)) {
    const checkpoints = startCheckpoints([statePathOf(config), logPathOf(config)])
    running.push(() => checkpoints.stop())
  }
  let loaded = Promise.resolve()
  if (options.withPipeline !== false) {
    const onApplied = (applied: AppliedBatch) => metrics.countBatch(applied)
    const pipeline = startPipeline({ ...pipelineOptions(options, writerLock), onApplied })
    running.push(() => pipeline.stop())
    wakePipeline = pipeline.wake
    loaded = pipeline.loaded
  }
  running.push(startJobs(listJobs({ forget: parts, limits: savedLimits, files }), diagnostics))
  return { url: urlOf(app), database, app, registry, queue: parts.queue, loaded, stop: () => closeAll(opened) }
}

interface OpenLimits {
  readonly rateLimits: Limiter
  /** The limits that a job saves; absent if processes share their limits in PostgreSQL. */
  readonly savedLimits?: SaveLimitsOptions
}

async function openRateLimits(
  { config, clock = Date.now, diagnostics }: ServeOptions,
  database: Database,
  opened: Closers,
): Promise<OpenLimits> {
  if (config.databaseUrl === undefined) {
    const rateLimits = new RateLimits(await listLimitWindows(database))
    const savedLimits = { database, rateLimits }
    opened.push(() =>
      saveAllLimits(savedLimits, clock()).catch((error: unknown) =>
        diagnostics.error({ err: describeError(error) }, 'cannot save how much of each limit is used'),
      ),
    )
    return { rateLimits, savedLimits }
  }
  const windows = new LimitWindows(config.databaseUrl)
  opened.push(() => windows.close())
  return { rateLimits: new SharedRateLimits(windows, { clock }) }
}

async function openParts(
  options: ServeOptions,
  {
    writerLock,
    onCommit,
    metrics,
  }: { writerLock: WriterLock; onCommit: (commit: LogCommit) => void; metrics: Metrics },
  opened: Closers,
): Promise<Parts> {
  const { config, clock = Date.now } = options
  if (!isEmbedded(config)) await checkSharedDatabase(options)
  const database = openDatabase(config, { ownThread: true, writerLock, answerWaitMs: REQUEST_ANSWER_WAIT_MS })
  opened.push(() => database.close())
  const log = await openLog(config, { onCommit, keys: idempotencyKeysIn(database) })
  opened.push(() => log.close())
  if (isEmbedded(config)) await checkDatabase(database, options)
  const logReader = await openLogReader(config)
  opened.push(() => logReader.close())
  await checkLog(database, logReader, options)
  const datingClock = receiptClock(clock, warnOfClock(options.diagnostics))
  const emailVault = config.piiKey && new EmailVault(config.piiKey)
  return {
    database,
    log,
    logReader,
    emailVault,
    secretVault: openSecretVault(config),
    delivery: config.delivery,
    freshness: new Freshness({ database, log, logReader, clock: datingClock }),
    appliedEntries: new AppliedEntries({ database, logReader }),
    responseCache: new ResponseCache(),
    uploadSlots: new Slots(UPLOAD_SLOTS),
    importSlots: new Slots(IMPORT_SLOTS),
    exportSlots: new Slots(EXPORT_SLOTS),
    nameCache: new NameCache(),
    queue: new KeyedQueue(),
    responseMemory: new ResponseMemory(),
    countWarning: (operation, kind) => metrics.countWarnings(operation, kind, 1),
    clock,
    receiptClock: datingClock,
  }
}

/**
 * Names all faults of address and folder at once, and creates the folder only if there are none: if a server of an older version
 * runs here, this start must not migrate that server's tables.
 */
async function prepareMachine(config: Config, checks: { readonly listens: boolean }): Promise<void> {
  const faults = await findMachineFaults(config, checks)
  if (faults.length > 0) throw new ConfigError(faults)
  // A server without an embedded store needs no folder.
  if (isEmbedded(config)) prepareStoreFolder(config.dataDir)
}

/**
 * Checks the database before the log is opened: a program older than its database must not change the log's tables.
 */
async function checkSharedDatabase(options: ServeOptions): Promise<void> {
  const database = openDatabase(options.config)
  try {
    await checkDatabase(database, options)
  } finally {
    await database.close()
  }
}

/** Migrates the tables. Throws if a move into them is incomplete, or if PII_KEY is not theirs. */
async function checkDatabase(database: Database, { config, diagnostics }: ServeOptions): Promise<void> {
  await migrate(database, Date.now(), (what) => diagnostics.warn(what))
  await refuseUnfinishedMove(database)
  await refuseWrongKey(database, config)
}

/**
 * Without PII_KEY, or with another one, no user of a workspace with encrypted emails could be found by address ("Encrypted
 * emails"). With another key, new addresses would also be encrypted differently from stored ones, for ever.
 */
async function refuseWrongKey(database: Database, { piiKey }: Config): Promise<void> {
  const vault = piiKey && new EmailVault(piiKey)
  const closed: string[] = []
  for (const { workspace } of await listWorkspaces(database)) {
    if (workspace.emailProtection !== 'encrypted') continue
    if (!vault || !(await isRightKey(database, workspace, vault))) closed.push(workspace.id)
  }
  if (closed.length === 0) return
  const what = vault ? 'is not the key that encrypted the emails in' : 'must be set, because emails are encrypted in'
  throw new ConfigError([{ field: 'PII_KEY', problem: `${what} ${closed.join(', ')}` }])
}

async function checkLog(database: Database, logReader: LogReader, options: ServeOptions): Promise<void> {
  const { config } = options
  await refuseForeignLog(database, logReader, config)
  if (!isEmbedded(config)) return
  markStoreFiles(statePathOf(config), logPathOf(config))
  await warnOfGap(database, logReader, options)
}

/**
 * Entries are trimmed only after they are applied, so tables that lack trimmed entries are older than their log. Positions of the
 * embedded log have no gaps.
 */
async function warnOfGap(
  database: Database,
  logReader: LogReader,
  { config, diagnostics }: ServeOptions,
): Promise<void> {
  const [cursor = 0] = await listPipelineCursors(database, logReader.partitions)
  const first = await logReader.firstAfter([cursor])
  const missing = (first?.position ?? (await logReader.lastPosition()) + 1) - 1 - cursor
  if (missing === 0) return
  const entries = counted(missing, 'applied entry is', 'applied entries are')
  const what = `${entries} missing from these tables and no longer in the log`
  diagnostics.warn(`${what} in ${describeLogLocation(config)}: the tables are older than the log`)
}

/** Warns if NATS could lose acknowledged entries in a power failure. If that cannot be determined, the start continues. */
async function warnOfLosses({ config: { natsUrl }, diagnostics }: ServeOptions): Promise<void> {
  if (natsUrl === undefined) return
  try {
    const { findDurabilityWarning } = await import('../log/jetstream/jetstream-durability.ts')
    const warning = await findDurabilityWarning({ url: natsUrl })
    if (warning !== undefined) diagnostics.warn(warning)
  } catch (error) {
    diagnostics.warn({ err: describeError(error) }, 'cannot determine whether the log survives a power failure')
  }
}

function pipelineOptions({ config, diagnostics }: ServeOptions, writerLock: WriterLock): PipelineOptions {
  const { dataDir, databaseUrl, natsUrl } = config
  return {
    location: { dataDir, databaseUrl, natsUrl },
    writerLock: writerLock.shared,
    onApplied: () => {},
    onFailed: (what, error) => diagnostics.error({ err: error }, what),
    onGivenUp: () => diagnostics.warn('the pipeline did not stop in time; its unfinished batch will be applied again'),
  }
}

async function listen(app: FastifyInstance, config: Config): Promise<void> {
  await listenAt(config, (address) => app.listen(address))
}

function urlOf(app: FastifyInstance): string {
  const { address, port, family } = app.server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
