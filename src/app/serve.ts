// Starts a server: opens store, log, pipeline and HTTP, and closes them in the opposite order.
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import {
  checkDatabase,
  checkLog,
  checkSharedDatabase,
  prepareMachine,
  warnOfLosses,
  type StartOptions,
} from './checks/check-store.ts'
import { closeAll, closeTogether, openAll, type Closers } from './closers.ts'
import type { Config } from './config.ts'
import { findConnectionsMax } from './connection-limit.ts'
import { lockHttpRole } from './checks/lock-http-role.ts'
import { receiptClock } from '../core/receipt-clock.ts'
import { PROCESS_ROLES, type ProcessRole } from '../core/workspaces/system-state.ts'
import { findSecretsWarning } from './settings/check-secrets.ts'
import { openSecretVault } from './settings/secret-key.ts'
import { listenAt } from './machine-faults.ts'
import { deliveryOptions, pipelineOptions } from './thread-options.ts'
import { warnOfClock } from './checks/warn-of-clock.ts'
import { listJobs, startJobs, type JobsOptions } from '../jobs/jobs.ts'
import { HTTP_LIMITS, type HttpLimits } from '../http/http-limits.ts'
import { KeyUses } from '../http/key-uses.ts'
import type { Limiter } from '../http/limits/limiter.ts'
import { Metrics } from '../http/operator/metrics.ts'
import { RateLimits } from '../http/limits/rate-limits.ts'
import { SharedRateLimits } from '../http/limits/shared-rate-limits.ts'
import { WorkspaceRegistry } from '../http/workspace-registry.ts'
import type { LogCommit } from '../log/event-log.ts'
import { isEmbedded, logPathOf, openLog, openLogReader } from '../log/open-log.ts'
import { OpenedFiles } from '../jobs/watch-files.ts'
import { ResponseMemory } from '../operations/response-memory.ts'
import { fetchText } from '../actions/feedback/services/fetch-text.ts'
import type { FetchText } from '../actions/feedback/services/webhook.ts'
import { AppliedEntries } from '../operations/applied-entries.ts'
import { EventRates } from '../operations/overview/event-rates.ts'
import { Freshness } from '../operations/statistics/freshness.ts'
import { ResponseCache } from '../operations/statistics/response-cache.ts'
import { PasswordHashes } from '../actions/accounts/password-hash.ts'
import { SignInDelays } from '../actions/accounts/sign-in-delays.ts'
import { NameCache } from '../actions/name-cache.ts'
import type { FirstParts } from '../operations/operation.ts'
import { KeyedQueue } from '../concurrency/keyed-queue.ts'
import { EXPORT_SLOTS, IMPORT_SLOTS, Slots, UPLOAD_SLOTS } from '../operations/slots.ts'
import type { AppliedBatch } from '../pipeline/follower/follow-log.ts'
import { Renderer } from '../delivery/content/renderer.ts'
import { startDelivery, type RunningDelivery } from '../delivery/start-delivery.ts'
import { startPipeline } from '../pipeline/start-pipeline.ts'
import { saveAllUses, type SaveKeyUsesOptions } from '../jobs/save-key-uses.ts'
import { saveAllLimits, type SaveLimitsOptions } from '../jobs/save-limits.ts'
import { giveUpInterruptedUploads, listInterruptedUploads } from '../actions/clean-coupon-uploads.ts'
import { releaseInterruptedImports } from '../actions/imports/release-imports.ts'
import { describeError } from '../store/describe-error.ts'
import { EmailVault } from '../store/users/email-vault.ts'
import { idempotencyKeysIn } from '../store/entries/idempotency-keys.ts'
import { LimitWindows, listLimitWindows } from '../store/workspaces/limit-windows.ts'
import { openDatabase, statePathOf } from '../store/open-database.ts'
import { REQUEST_ANSWER_WAIT_MS } from '../store/postgres/postgres-database.ts'
import { startCheckpoints } from '../store/sqlite/sqlite-checkpoints.ts'
import type { Database } from '../store/store.ts'
import { WriterLock } from '../runtime/writer-lock.ts'

export interface ServeOptions extends StartOptions {
  /** Milliseconds since the epoch; only tests pass another clock. */
  readonly clock?: () => number
  /** False leaves the log to another process with the role `pipeline`. */
  readonly withPipeline?: boolean
  /** False leaves campaigns to other processes with the role `delivery`. */
  readonly withDelivery?: boolean
  /** Stands in for the hosts of mail services, for tests. */
  readonly fetchText?: FetchText
  /** Replaces some of `HTTP_LIMITS`, for tests. */
  readonly httpLimits?: Partial<HttpLimits>
  /** How long requests that name an unknown user wait for the pipeline, for tests. */
  readonly appliedWaitMs?: number | undefined
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
  /** Whether messages may be on connections to SMTP servers. */
  readonly isDelivering: boolean
  /** Finishes work in progress, then stops; resolves when everything is closed. */
  stop(): Promise<void>
}

/** Runs the role `http`, and the others unless the options leave them out. Throws if folder, port or a setting prevents it. */
export function serve(options: ServeOptions): Promise<RunningServer> {
  return openAll((opened) => openServer(options, opened))
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
  const savedUses = openKeyUses(options, database, opened)
  const files = isEmbedded(config) ? new OpenedFiles([statePathOf(config), logPathOf(config)], diagnostics) : undefined
  await files?.check()
  const areFilesPresent = files && (() => files.arePresent)
  const { createApp } = await loading
  const limits = { ...HTTP_LIMITS, connectionsMax, ...httpLimits }
  const shared = { config, diagnostics, parts, registry, rateLimits, metrics, areFilesPresent, limits }
  const app = createApp({ ...shared, keyUses: savedUses.keyUses, roles: rolesOf(options) })
  // Stops HTTP and pipeline at the same time: a batch may take long, and clients must see at once that the process is stopping.
  const running: Closers = [() => app.close()]
  opened.push(() => closeTogether(running))
  // Lists uploads before it listens, so that none of its own is among them, but gives them up after it: if another server runs
  // here, this start fails and leaves that server's uploads alone.
  const left = await listInterruptedUploads(database)
  const startedAt = parts.clock()
  await listen(app, config)
  await giveUpInterruptedUploads(database, left, Date.now())
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
  const delivery = options.withDelivery === false ? undefined : deliver(options, parts, writerLock)
  running.push(() => delivery?.stop())
  running.push(startAllJobs(options, { forget: parts, keyUses: savedUses, limits: savedLimits, files }))
  return {
    url: urlOf(app),
    database,
    app,
    registry,
    queue: parts.queue,
    loaded,
    get isDelivering() {
      return delivery?.isDelivering ?? false
    },
    stop: () => closeAll(opened),
  }
}

function rolesOf({ withPipeline = true, withDelivery = true }: ServeOptions): ProcessRole[] {
  const taken = { http: true, pipeline: withPipeline, delivery: withDelivery }
  return PROCESS_ROLES.filter((role) => taken[role])
}

function deliver(options: ServeOptions, parts: FirstParts, writerLock: WriterLock): RunningDelivery {
  const { database, log, logReader, receiptClock: clock } = parts
  return startDelivery(deliveryOptions(options, { database, log, logReader, receiptClock: clock, writerLock }))
}

function startAllJobs({ config, diagnostics }: ServeOptions, jobs: Omit<JobsOptions, 'location'>) {
  return startJobs(listJobs({ ...jobs, location: config }), diagnostics)
}

function openKeyUses({ diagnostics }: ServeOptions, database: Database, opened: Closers) {
  const savedUses = { database, keyUses: new KeyUses() } satisfies SaveKeyUsesOptions
  opened.push(() =>
    saveAllUses(savedUses).catch((error: unknown) =>
      diagnostics.error({ err: describeError(error) }, 'cannot save when API keys were last used'),
    ),
  )
  return savedUses
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
): Promise<FirstParts> {
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
  const renderer = new Renderer()
  opened.push(() => renderer.close())
  const secretVault = openSecretVault(config)
  const secretsWarning = await findSecretsWarning(database, secretVault)
  if (secretsWarning !== undefined) options.diagnostics.warn(secretsWarning)
  return {
    database,
    log,
    logReader,
    emailVault,
    secretVault,
    renderer,
    fetchText: options.fetchText ?? fetchText,
    delivery: config.delivery,
    passwordHashes: new PasswordHashes(),
    signInDelays: new SignInDelays(),
    eventRates: new EventRates({ database, clock }),
    freshness: new Freshness({ database, log, logReader, clock: datingClock }),
    appliedEntries: new AppliedEntries({ database, logReader, waitMsMax: options.appliedWaitMs }),
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

async function listen(app: FastifyInstance, config: Config): Promise<void> {
  await listenAt(config, (address) => app.listen(address))
}

function urlOf(app: FastifyInstance): string {
  const { address, port, family } = app.server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
