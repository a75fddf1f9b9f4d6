// Measures Track Events under load, and a bare Fastify route in the same run as the baseline.
import { Console } from 'node:console'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NewWorkspace } from '../src/actions/create-workspace.ts'
import { median, printGoals, type Goal } from './results.ts'
import type { LoadPlan, LoadResult } from './load.ts'
import {
  readCpuMs,
  readMemoryMib,
  readMetric,
  runLoad,
  startProcess,
  stopProcess,
  waitUntilApplied,
  type StartedProcess,
} from './processes.ts'
import { authorizationOf, makeTrackedWorkspace } from './tracked-workspace.ts'

const CONNECTIONS = 64
const PORT = '18970'
/** Many short rounds in turns, because the speed of a machine changes within seconds. */
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 4)
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5)
/**
 * The warm-up before the first measured load of each kind: V8 spends about a second of processor time on compiling.
 */
const WARM_UP_SECONDS = 3
const BATCH = 100
/** The goals of the bench; 333 MiB are 350 MB. */
const RATIO_MIN = 0.7
const ACKNOWLEDGED_PER_SECOND_MIN = 200_000
const APPLIED_PER_SECOND_MIN = 20_000
const P99_MS_MAX = 50
const MEMORY_MIB_MAX = 333

/** The measurements of one load, or the medians of several rounds. */
interface Measured extends Pick<LoadResult, 'requestsPerSecond' | 'p50Ms' | 'p99Ms' | 'failed'> {
  readonly events: number
  /** Processor time per request, in microseconds: of all threads, and of the one that answers HTTP. */
  readonly cpuUs: number
  readonly httpUs: number
  /** Requests per second, relative to the bare route just before; 1 for the bare route. */
  readonly ratio: number
  /** Events per second that the pipeline applied during the load; this and the following are 0 for the bare route. */
  readonly applied: number
  /** The unapplied entries at the end of the load, and the events per second at which they were then applied. */
  readonly lag: number
  readonly drained: number
}

interface Target {
  readonly url: string
  readonly authorization: string
  readonly isTidings: boolean
  readonly pid: number
}

export async function benchTracking(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tidings-bench-'))
  const started: StartedProcess[] = []
  try {
    const workspace = await makeTrackedWorkspace({ dataDir, databaseUrl: undefined })
    const bare = await startProcess('./bare-server.ts', [workspace.id, workspace.dataKey])
    started.push(bare)
    const environment = { DATA_DIR: dataDir, PORT, LOG_LEVEL: 'warn' }
    const tidings = await startProcess('../bin/tidings', ['serve'], environment)
    started.push(tidings)
    await measureAll(workspace, bare, tidings)
  } finally {
    await Promise.all(started.map(stopProcess))
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function measureAll(workspace: NewWorkspace, bare: StartedProcess, tidings: StartedProcess): Promise<void> {
  const authorization = authorizationOf(workspace)
  const targets: Target[] = [
    { url: `http://127.0.0.1:${bare.firstLine}`, authorization, isTidings: false, pid: bare.child.pid as number },
    { url: `http://127.0.0.1:${PORT}`, authorization, isTidings: true, pid: tidings.child.pid as number },
  ]
  const rows: Row[] = []
  for (const eventsPerRequest of [1, BATCH]) {
    for (const target of targets) await warmUp(target, eventsPerRequest)
    const rounds: Measured[][] = targets.map(() => [])
    for (let round = 0; round < ROUNDS; round++) {
      let bareRate: number | undefined
      for (const [index, target] of targets.entries()) {
        const measured = await measure(target, eventsPerRequest, bareRate)
        bareRate ??= measured.requestsPerSecond
        rounds[index]?.push(measured)
      }
    }
    for (const [index, { isTidings }] of targets.entries())
      rows.push({ isTidings, eventsPerRequest, measured: mediansOf(rounds[index] as Measured[]) })
  }
  const memory = readMemoryMib(tidings.child.pid as number)
  printTable(rows)
  process.stdout.write(`\nresident memory of Tidings: ${memory.now} MiB now, ${memory.peak} MiB at its highest\n`)
  printGoals(goalsOf(rows, memory.peak))
}

interface Row {
  readonly isTidings: boolean
  readonly eventsPerRequest: number
  readonly measured: Measured
}

/** Ends when the pipeline has applied everything. */
async function warmUp(target: Target, eventsPerRequest: number): Promise<void> {
  await runLoad(planOf(target, eventsPerRequest, WARM_UP_SECONDS))
  if (target.isTidings) await waitUntilApplied(target.url)
}

function planOf({ url, authorization }: Target, eventsPerRequest: number, seconds: number): LoadPlan {
  return { url: `${url}/v1/event/bench`, authorization, connections: CONNECTIONS, seconds, eventsPerRequest }
}

async function measure(target: Target, eventsPerRequest: number, bareRate?: number): Promise<Measured> {
  const { url, isTidings, pid } = target
  const processed = () => (isTidings ? readMetric(url, 'tidings_events_processed_total') : Promise.resolve(0))
  const [before, startedAt] = [await processed(), performance.now()]
  const cpuBefore = readCpuMs(pid)
  const result = await runLoad(planOf(target, eventsPerRequest, SECONDS))
  const cpuAfter = readCpuMs(pid)
  const seconds = (performance.now() - startedAt) / 1000
  const atEnd = await processed()
  const perRequest = (ms: number) => Math.round((ms * 1000) / result.succeeded)
  const lag = isTidings ? await readMetric(url, 'tidings_log_lag_entries') : 0
  const drained = isTidings ? await drain(url, atEnd) : 0
  const { requestsPerSecond, p50Ms, p99Ms, failed } = result
  return {
    requestsPerSecond,
    p50Ms,
    p99Ms,
    failed,
    events: requestsPerSecond * eventsPerRequest,
    cpuUs: perRequest(cpuAfter.all - cpuBefore.all),
    httpUs: perRequest(cpuAfter.main - cpuBefore.main),
    ratio: requestsPerSecond / (bareRate ?? requestsPerSecond),
    applied: (atEnd - before) / seconds,
    lag,
    drained,
  }
}

/** The median of each number; failures are added up. */
function mediansOf(rounds: readonly Measured[]): Measured {
  const medianOf = (of: (one: Measured) => number) => median(rounds, of)
  return {
    requestsPerSecond: medianOf((one) => one.requestsPerSecond),
    p50Ms: medianOf((one) => one.p50Ms),
    p99Ms: medianOf((one) => one.p99Ms),
    failed: rounds.reduce((sum, { failed }) => sum + failed, 0),
    events: medianOf((one) => one.events),
    cpuUs: medianOf((one) => one.cpuUs),
    httpUs: medianOf((one) => one.httpUs),
    ratio: medianOf((one) => one.ratio),
    applied: medianOf((one) => one.applied),
    lag: medianOf((one) => one.lag),
    drained: medianOf((one) => one.drained),
  }
}

/** Waits until the pipeline has applied everything; returns the events per second it applied meanwhile. */
async function drain(url: string, processedBefore: number): Promise<number> {
  const startedAt = performance.now()
  await waitUntilApplied(url)
  const seconds = (performance.now() - startedAt) / 1000
  return ((await readMetric(url, 'tidings_events_processed_total')) - processedBefore) / seconds
}

/** Prints the medians of all rounds. */
function printTable(rows: readonly Row[]): void {
  const table = rows.map(({ isTidings, eventsPerRequest, measured }) => ({
    what: `${isTidings ? 'Tidings' : 'bare route'}, ${eventsPerRequest} a request`,
    'requests/s': Math.round(measured.requestsPerSecond),
    'events/s': Math.round(measured.events),
    'p50 ms': measured.p50Ms,
    'p99 ms': measured.p99Ms,
    'cpu us': measured.cpuUs,
    'of it HTTP': measured.httpUs,
    'to bare': measured.ratio.toFixed(2),
    'applied/s under load': Math.round(measured.applied),
    'lag, entries': measured.lag,
    'applied/s after': Math.round(measured.drained),
    failed: measured.failed,
  }))
  new Console(process.stdout).table(table)
}

function goalsOf(rows: readonly Row[], memoryMib: number): Goal[] {
  const own = rows.filter(({ isTidings }) => isTidings)
  const [single, batch] = own.map(({ measured }) => measured) as [Measured, Measured]
  const acknowledged = Math.round(batch.events)
  const applied = Math.round(batch.applied)
  return [
    {
      what: `single events at ${single.ratio.toFixed(2)} of the bare route, at least ${RATIO_MIN}`,
      isMet: single.ratio >= RATIO_MIN,
    },
    {
      what: `${acknowledged} events/s acknowledged in requests of ${BATCH}, at least ${ACKNOWLEDGED_PER_SECOND_MIN}`,
      isMet: acknowledged >= ACKNOWLEDGED_PER_SECOND_MIN,
    },
    {
      what: `${applied} events/s applied meanwhile, at least ${APPLIED_PER_SECOND_MIN}`,
      isMet: applied >= APPLIED_PER_SECOND_MIN,
    },
    { what: `p99 ${batch.p99Ms} ms meanwhile, under ${P99_MS_MAX}`, isMet: batch.p99Ms < P99_MS_MAX },
    { what: `memory ${memoryMib} MiB, under ${MEMORY_MIB_MAX}`, isMet: memoryMib < MEMORY_MIB_MAX },
  ]
}
