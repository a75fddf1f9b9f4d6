// Measures Track Events over several processes on one machine: acknowledged and applied events per second with 1, 2 and 4 processes
// of each role, with the log in PostgreSQL and in NATS JetStream, and the embedded server in the same run; and the processor time
// of each program.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { Console } from 'node:console'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import type { NewWorkspace } from '../src/actions/create-workspace.ts'
import { readTicksMs, runLoad, startProcess, stopProcess, waitUntilApplied, type StartedProcess } from './processes.ts'
import { authorizationOf, makeTrackedWorkspace } from './tracked-workspace.ts'

const POSTGRES_URL = process.env['BENCH_DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres'
const DATABASE = 'tidings_bench'
const SIZES = (process.env['BENCH_PROCESSES'] ?? '1,2,4').split(',').map(Number)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 8)
const CONNECTIONS = 64
const EVENTS_PER_REQUEST = Number(process.env['BENCH_EVENTS'] ?? 100)
const FIRST_PORT = 18_900
const NATS_PORT = 18_990
const NATS_START_MS = 1_000

type Mode = 'embedded' | 'PostgreSQL' | 'JetStream'

interface Row {
  readonly what: string
  readonly acknowledged: number
  readonly applied: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly failed: number
  /** Seconds of processor time per second, by program. */
  readonly load: ReadonlyMap<string, number>
}

export async function benchCluster(): Promise<void> {
  const rows = [await measureMode('embedded', 1)]
  for (const processes of SIZES) rows.push(await measureMode('PostgreSQL', processes))
  const natsProgram = findNats()
  if (natsProgram) for (const processes of SIZES) rows.push(await measureMode('JetStream', processes, natsProgram))
  else process.stderr.write('nats-server is not found: JetStream is not measured\n')
  new Console(process.stdout).table(rows.map(toTableRow))
}

function toTableRow({ what, acknowledged, applied, p50Ms, p99Ms, failed, load }: Row): object {
  const programs = Object.fromEntries([...load].map(([program, seconds]) => [`cpu ${program}`, seconds.toFixed(2)]))
  return {
    what,
    'acknowledged/s': Math.round(acknowledged),
    'applied/s': Math.round(applied),
    'p50 ms': p50Ms,
    'p99 ms': p99Ms,
    failed,
    ...programs,
  }
}

/** Starts everything that one measurement needs, measures, and stops it. */
async function measureMode(mode: Mode, processes: number, natsProgram?: string): Promise<Row> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tidings-bench-'))
  const started: StartedProcess[] = []
  let nats: ChildProcess | undefined
  let environment: Environment | undefined
  try {
    if (natsProgram !== undefined) nats = await startNats(natsProgram, dataDir)
    environment = await prepare(mode, dataDir)
    const { workspace, variables } = environment
    const urls: string[] = []
    for (let index = 0; index < processes; index++) {
      const port = FIRST_PORT + index
      const role = mode === 'embedded' ? [] : ['--role', 'http']
      started.push(await startProcess('../bin/tidings', ['serve', ...role], { ...variables, PORT: String(port) }))
      urls.push(`http://127.0.0.1:${port}`)
      if (mode !== 'embedded')
        started.push(await startProcess('../bin/tidings', ['serve', '--role', 'pipeline'], variables))
    }
    const what = mode === 'embedded' ? 'embedded, one process' : `${mode}, ${processes} http and ${processes} pipeline`
    return { what, ...(await measure(urls, authorizationOf(workspace))) }
  } finally {
    await Promise.all(started.map(stopProcess))
    nats?.kill('SIGTERM')
    await environment?.remove()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function measure(urls: readonly string[], authorization: string): Promise<Omit<Row, 'what'>> {
  const before = readPrograms()
  const startedAt = performance.now()
  const results = await Promise.all(
    urls.map((url) => {
      const connections = Math.ceil(CONNECTIONS / urls.length)
      const plan = { url: `${url}/v1/event/bench`, authorization, connections, seconds: SECONDS }
      return runLoad({ ...plan, eventsPerRequest: EVENTS_PER_REQUEST })
    }),
  )
  const seconds = (performance.now() - startedAt) / 1000
  const load = difference(before, readPrograms(), seconds)
  const succeeded = results.reduce((sum, result) => sum + result.succeeded, 0)
  await waitUntilApplied(urls[0] as string)
  const drainedAfter = (performance.now() - startedAt) / 1000
  return {
    acknowledged: (succeeded * EVENTS_PER_REQUEST) / seconds,
    applied: (succeeded * EVENTS_PER_REQUEST) / drainedAfter,
    p50Ms: Math.max(...results.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...results.map(({ p99Ms }) => p99Ms)),
    failed: results.reduce((sum, result) => sum + result.failed, 0),
    load,
  }
}

interface Environment {
  readonly workspace: NewWorkspace
  readonly variables: Readonly<Record<string, string>>
  remove(): Promise<void>
}

async function prepare(mode: Mode, dataDir: string): Promise<Environment> {
  const databaseUrl = mode === 'embedded' ? undefined : await makeDatabase()
  const workspace = await makeTrackedWorkspace({ dataDir, databaseUrl })
  const variables = {
    DATA_DIR: dataDir,
    // Every process would warn that the NATS server has no replicas.
    LOG_LEVEL: 'error',
    PORT: String(FIRST_PORT),
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    ...(mode === 'JetStream' && { NATS_URL: `nats://127.0.0.1:${NATS_PORT}` }),
  }
  return { workspace, variables, remove: async () => void (databaseUrl && (await dropDatabase())) }
}

async function makeDatabase(): Promise<string> {
  await dropDatabase()
  await inPostgres((client) => client.query(`create database ${DATABASE}`))
  const url = new URL(POSTGRES_URL)
  url.pathname = `/${DATABASE}`
  return url.href
}

async function dropDatabase(): Promise<void> {
  await inPostgres((client) => client.query(`drop database if exists ${DATABASE} with (force)`))
}

async function inPostgres(work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: POSTGRES_URL })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

/** Debian installs it into a folder that not every PATH has. */
const NATS_PROGRAMS = ['nats-server', '/usr/sbin/nats-server', '/usr/local/bin/nats-server']

function findNats(): string | undefined {
  return NATS_PROGRAMS.find((program) => spawnSync(program, ['--version']).status === 0)
}

async function startNats(program: string, dataDir: string): Promise<ChildProcess> {
  const child = spawn(program, ['-a', '127.0.0.1', '-p', String(NATS_PORT), '-js', '-sd', join(dataDir, 'nats')], {
    stdio: 'ignore',
  })
  await new Promise((resolve) => setTimeout(resolve, NATS_START_MS))
  return child
}

/** Programs are recognised by their command lines, which name the role. */
const PROGRAMS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['http', /serve --role http/],
  ['pipeline', /serve --role pipeline/],
  ['embedded', /src\/main\.ts serve$/],
  ['postgres', /postgres/],
  ['nats', /nats-server/],
]

/** The processor time of all processes so far, in seconds. Only on Linux. */
function readPrograms(): Map<string, { readonly program: string; readonly seconds: number }> {
  const found = new Map<string, { program: string; seconds: number }>()
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
      const program = PROGRAMS.find(([, pattern]) => pattern.test(command))?.[0]
      if (program) found.set(pid, { program, seconds: readTicksMs(`/proc/${pid}/stat`) / 1000 })
    } catch {
      // The process ended after it was listed.
    }
  }
  return found
}

/** Seconds of processor time per second, by program, without the load processes, which have ended. */
function difference(
  before: ReturnType<typeof readPrograms>,
  after: ReturnType<typeof readPrograms>,
  seconds: number,
): Map<string, number> {
  const sums = new Map<string, number>()
  for (const [pid, { program, seconds: until }] of after) {
    const used = until - (before.get(pid)?.seconds ?? 0)
    sums.set(program, (sums.get(program) ?? 0) + used / seconds)
  }
  return sums
}
