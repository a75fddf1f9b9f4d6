// Track Events under load, next to a bare Fastify route on the same machine in the same run.
import { Console } from 'node:console'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NewWorkspace } from '../src/store/workspaces/create-workspace.ts'
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
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 8)
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 2)
/**
 * How long to warm up before the first measured load of each kind: V8 compiles what is called often, for a second of processor
 * time.
 */
const WARM_UP_SECONDS = 3
const BATCH = 100

interface Measured extends LoadResult {
  readonly what: string
  readonly events: number
  /** Processor time per request, in microseconds: of all threads, and of the one that answers HTTP. */
  readonly cpu: { readonly all: number; readonly main: number }
  /** Events per second that the pipeline applied while the load ran. */
  readonly applied: number | undefined
  /** Entries that waited for the pipeline when the load ended, and how fast those were applied. */
  readonly lag: number | undefined
  readonly drained: number | undefined
}

interface Target {
  readonly url: string
  readonly authorization: string
  readonly isTidings: boolean
  readonly pid: number
}

export async function benchTracking(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tidings-bench-'))
  const workspace = await makeTrackedWorkspace({ dataDir, databaseUrl: undefined })
  const bare = await startProcess('./bare-server.ts', [workspace.id, workspace.dataKey])
  const tidings = await startProcess('../bin/tidings', ['serve'], {
    DATA_DIR: dataDir,
    PORT: '18970',
    LOG_LEVEL: 'warn',
  })
  try {
    await measureAll(workspace, bare, tidings)
  } finally {
    await Promise.all([stopProcess(bare), stopProcess(tidings)])
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function measureAll(workspace: NewWorkspace, bare: StartedProcess, tidings: StartedProcess): Promise<void> {
  const authorization = authorizationOf(workspace)
  const targets: Target[] = [
    { url: `http://127.0.0.1:${bare.firstLine}`, authorization, isTidings: false, pid: bare.child.pid as number },
    { url: 'http://127.0.0.1:18970', authorization, isTidings: true, pid: tidings.child.pid as number },
  ]
  const measured: Measured[] = []
  for (const eventsPerRequest of [1, BATCH]) {
    for (const target of targets) await warmUp(target, eventsPerRequest)
    for (let round = 0; round < ROUNDS; round++) {
      for (const target of targets) measured.push(await measure(target, eventsPerRequest))
    }
  }
  printTable(measured)
  const memory = readMemoryMib(tidings.child.pid as number)
  process.stdout.write(`\nresident memory of Tidings: ${memory.now} MiB now, ${memory.peak} MiB at its highest\n`)
}

/** The pipeline has nothing left to do afterwards. */
async function warmUp(target: Target, eventsPerRequest: number): Promise<void> {
  await runLoad(planOf(target, eventsPerRequest, WARM_UP_SECONDS))
  if (target.isTidings) await waitUntilApplied(target.url)
}

function planOf({ url, authorization }: Target, eventsPerRequest: number, seconds: number): LoadPlan {
  return { url: `${url}/v1/event/bench`, authorization, connections: CONNECTIONS, seconds, eventsPerRequest }
}

async function measure(target: Target, eventsPerRequest: number): Promise<Measured> {
  const { url, isTidings, pid } = target
  const processed = () => (isTidings ? readMetric(url, 'tidings_events_processed_total') : Promise.resolve(0))
  const [before, startedAt] = [await processed(), performance.now()]
  const cpuBefore = readCpuMs(pid)
  const result = await runLoad(planOf(target, eventsPerRequest, SECONDS))
  const cpuAfter = readCpuMs(pid)
  const seconds = (performance.now() - startedAt) / 1000
  const atEnd = await processed()
  const what = `${isTidings ? 'Tidings' : 'bare route'}, ${eventsPerRequest} a request`
  const events = result.requestsPerSecond * eventsPerRequest
  const perRequest = (ms: number) => Math.round((ms * 1000) / result.succeeded)
  const cpu = { all: perRequest(cpuAfter.all - cpuBefore.all), main: perRequest(cpuAfter.main - cpuBefore.main) }
  if (!isTidings) return { ...result, what, events, cpu, applied: undefined, lag: undefined, drained: undefined }
  const lag = await readMetric(url, 'tidings_log_lag_entries')
  const drained = await drain(url, atEnd)
  return { ...result, what, events, cpu, applied: (atEnd - before) / seconds, lag, drained }
}

/** Waits until the pipeline has caught up; gives the events per second it applied meanwhile. */
async function drain(url: string, processedBefore: number): Promise<number> {
  const startedAt = performance.now()
  await waitUntilApplied(url)
  const seconds = (performance.now() - startedAt) / 1000
  return ((await readMetric(url, 'tidings_events_processed_total')) - processedBefore) / seconds
}

function printTable(rows: readonly Measured[]): void {
  const bareRates = new Map<string, number[]>()
  for (const { what, requestsPerSecond } of rows)
    bareRates.set(what, [...(bareRates.get(what) ?? []), requestsPerSecond])
  const table = rows.map((row, index) => {
    const bare = rows[index - 1]
    return {
      what: row.what,
      'requests/s': Math.round(row.requestsPerSecond),
      'events/s': Math.round(row.events),
      'p50 ms': row.p50Ms,
      'p99 ms': row.p99Ms,
      'cpu us': row.cpu.all,
      'of it HTTP': row.cpu.main,
      'to bare': row.applied === undefined || !bare ? '' : (row.requestsPerSecond / bare.requestsPerSecond).toFixed(2),
      'applied/s under load': row.applied === undefined ? '' : Math.round(row.applied),
      'lag, entries': row.lag ?? '',
      'applied/s after': row.drained === undefined ? '' : Math.round(row.drained),
      failed: row.failed,
    }
  })
  new Console(process.stdout).table(table)
}
