// Measures campaign statistics over stores of different sizes: whether answers stay as fast with more facts, what plain SQL over
// the facts costs instead, how fast message events are applied, and the cost of `statistics verify` and of storage.
import { Console } from 'node:console'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import SqliteFile from 'better-sqlite3'
import { statePathOf } from '../src/store/open-database.ts'
import type { AskedServer, AskPlan, AskResult } from './ask-statistics.ts'
import { fillStore, type Loaded } from './bulk-load.ts'
import { countDistinct } from './count-distinct.ts'
import { median, printGoals, type Goal } from './results.ts'
import {
  readMemoryMib,
  readStolenMs,
  runCommand,
  runScript,
  startProcess,
  stopProcess,
  waitUntilApplied,
  type StartedProcess,
} from './processes.ts'
import type { ReportPlan, ReportResult } from './send-reports.ts'
import { allQuestions, compareWithServer, reportHeaders, statsUrl, type StatsServer } from './stats-question.ts'

/** Message events in each store, smallest first. */
const SIZES = (process.env['BENCH_SIZES'] ?? '100000,1000000,10000000').split(',').map(Number)
const WORKSPACE_ID = 'bench'
/** The port of the first store's server; the others have the ports after it. */
const FIRST_PORT = 18_971
const WARM_UPS = 50
/** Each server gets 500 requests per number of connections, and 100 more with a change of all campaigns before each. */
const TURNS = 10
const ANSWERS_PER_TURN = 50
const CHANGED_ANSWERS_PER_TURN = 10
const FEW_CONNECTIONS = 4
/**
 * Sends per server, with 200,000 message events each. The median counts: V8 compiles during the first send, and the speed of the
 * machine changes from one to the next.
 */
const SENDS = 5
/** The goals of the bench: the growth of latencies from the smallest to the largest store, and the longest latency. */
const GROWTH_MAX = 1.5
const P99_MS_MAX = 20
const APPLIED_PER_SECOND_MIN = 8_000
const MILLION = 1_000_000
const MIB = 1024 * 1024

export async function benchStatistics(): Promise<void> {
  const dataDirs: string[] = []
  const stores: LoadedStore[] = []
  try {
    for (const [index, size] of SIZES.entries()) {
      const dataDir = mkdtempSync(join(tmpdir(), 'tidings-bench-'))
      dataDirs.push(dataDir)
      stores.push(await load(dataDir, size, String(FIRST_PORT + index)))
    }
    const measured = await measureAll(stores)
    printTable(measured)
    printGoals(goalsOf(measured))
  } finally {
    for (const dataDir of dataDirs) rmSync(dataDir, { recursive: true, force: true })
  }
}

/** A filled store in a directory of its own. */
interface LoadedStore {
  readonly dataDir: string
  readonly headers: StatsServer['headers']
  readonly loaded: Loaded
  readonly loadSeconds: number
  readonly file: {
    readonly bytes: number
    /** The bytes of the tables of statistics. */
    readonly statisticsBytes: number
    readonly cells: number
    readonly series: number
  }
  /** The port of its server. */
  readonly port: string
}

interface Measured extends Served, LoadedStore {
  readonly verified: { readonly facts: number; readonly seconds: number }
}

/** The measurements of one server. */
interface Served {
  readonly one: AskResult
  readonly few: AskResult
  readonly changed: AskResult
  readonly sqlMs: number
  /** The sends, in order. */
  readonly reported: readonly Reported[]
  readonly memoryMib: number
}

/** The rates of one send's message events. */
interface Reported {
  readonly acknowledgedPerSecond: number
  readonly appliedPerSecond: number
  /** The share of steal time while they were applied. */
  readonly stolenShare: number
}

async function measureAll(stores: readonly LoadedStore[]): Promise<Measured[]> {
  const servers: ServedStore[] = []
  let served: Served[]
  try {
    for (const store of stores) servers.push(await startServer(store))
    served = await measureServers(servers)
  } finally {
    await Promise.all(servers.map(({ process }) => stopProcess(process)))
  }
  const measured: Measured[] = []
  for (const [index, store] of stores.entries()) {
    say(`recounting ${store.loaded.facts.toLocaleString('en')} facts with \`statistics verify\``)
    measured.push({ ...store, ...(served[index] as Served), verified: await verify(store.dataDir) })
  }
  return measured
}

/** Fills a store in an existing directory. */
async function load(dataDir: string, size: number, port: string): Promise<LoadedStore> {
  say(`loading ${size.toLocaleString('en')} message events`)
  const startedAt = performance.now()
  const { workspace, loaded } = await fillStore(dataDir, size)
  const headers = reportHeaders(workspace)
  const loadSeconds = secondsSince(startedAt)
  return { dataDir, headers, loaded, loadSeconds, file: measureFile(statePathOf({ dataDir })), port }
}

function measureFile(path: string): LoadedStore['file'] {
  const file = new SqliteFile(path, { readonly: true })
  try {
    const ask = (sql: string) => file.prepare(sql).pluck().get() as number
    const trees = `select name from sqlite_schema where tbl_name in ('statistics', 'series')`
    return {
      bytes: statSync(path).size,
      statisticsBytes: ask(`select sum(pgsize) from dbstat where name in (${trees})`),
      cells: ask('select count(*) from statistics'),
      series: ask('select count(*) from series'),
    }
  } finally {
    file.close()
  }
}

/** A store with its server. */
interface ServedStore extends StatsServer {
  readonly store: LoadedStore
  readonly process: StartedProcess
}

async function startServer(store: LoadedStore): Promise<ServedStore> {
  const { dataDir, port, headers, loaded } = store
  const environment = { DATA_DIR: dataDir, PORT: port, LOG_LEVEL: 'warn' }
  const limits = ['campaign_stats_per_minute', 'management_per_minute'].map((name) => `limits.${name}=1000000`)
  await runCommand(['workspace', 'set', WORKSPACE_ID, ...limits], environment)
  const process = await startProcess('../bin/tidings', ['serve'], environment)
  return { store, process, url: `http://127.0.0.1:${port}`, headers, campaignIds: loaded.campaignIds }
}

/** All servers take turns, except in what takes long and is measured only once. */
async function measureServers(servers: readonly ServedStore[]): Promise<Served[]> {
  say('asking the servers')
  const one = await measureAnswers(servers, 1)
  const few = await measureAnswers(servers, FEW_CONNECTIONS)
  say('asking the servers when everything has changed')
  const changed = await measureChanged(servers)
  const sqlMs: number[] = []
  for (const server of servers) sqlMs.push(await measureSql(server))
  const reported: Reported[][] = servers.map(() => [])
  for (let send = 0; send < SENDS; send++) {
    say(`reporting message events, ${send + 1} of ${SENDS}`)
    for (const [index, server] of servers.entries()) reported[index]?.push(await measureReports(server, send))
  }
  return servers.map(({ process }, index) => {
    const measured = { one: one[index], few: few[index], changed: changed[index], sqlMs: sqlMs[index] }
    const memoryMib = readMemoryMib(process.child.pid as number).peak
    return {
      ...(measured as Pick<Served, 'one' | 'few' | 'changed' | 'sqlMs'>),
      reported: reported[index] ?? [],
      memoryMib,
    }
  })
}

/** Call it before anything is reported. */
async function measureSql(server: ServedStore): Promise<number> {
  say(`asking the ${server.store.loaded.facts.toLocaleString('en')} facts by SQL`)
  const { counts, ms } = countDistinct(statePathOf(server.store))
  await compareWithServer(server, counts)
  return ms
}

function measureAnswers(servers: readonly ServedStore[], connections: number): Promise<AskResult[]> {
  const asked = servers.map((server) => toAsked(server, []))
  const plan = { servers: asked, connections, warmUps: WARM_UPS, turns: TURNS, answersPerTurn: ANSWERS_PER_TURN }
  return runScript<AskResult[]>('./ask-statistics.ts', plan satisfies AskPlan)
}

/** Measures answers after a change of all campaigns, so that none comes from the response cache. */
function measureChanged(servers: readonly ServedStore[]): Promise<AskResult[]> {
  const asked = servers.map((server) =>
    toAsked(
      server,
      server.campaignIds.map((id) => `${server.url}/core-services/v1/campaigns/${id}/message-events`),
    ),
  )
  const plan = { servers: asked, connections: 1, warmUps: 0, turns: TURNS, answersPerTurn: CHANGED_ANSWERS_PER_TURN }
  return runScript<AskResult[]>('./ask-statistics.ts', plan satisfies AskPlan)
}

function toAsked(server: ServedStore, changed: readonly string[]): AskedServer {
  return { url: statsUrl(server), headers: server.headers, bodies: allQuestions(server), changed }
}

/**
 * The rates at which the message events of a send are acknowledged and applied: from the first acknowledgement until the last, and
 * until the pipeline has applied all.
 */
async function measureReports({ url, headers, campaignIds, store }: ServedStore, send: number): Promise<Reported> {
  const plan = { url, headers, campaignIds, people: store.loaded.people, send }
  await report({ ...plan, what: 'audiences' })
  await waitUntilApplied(plan.url)
  const stolenBefore = readStolenMs()
  const { items, firstAcknowledgedAt, lastAcknowledgedAt } = await report({ ...plan, what: 'message-events' })
  await waitUntilApplied(plan.url)
  const appliedAt = Date.now()
  const perSecond = (until: number) => (items * 1000) / (until - firstAcknowledgedAt)
  return {
    acknowledgedPerSecond: perSecond(lastAcknowledgedAt),
    appliedPerSecond: perSecond(appliedAt),
    stolenShare: (readStolenMs() - stolenBefore) / ((appliedAt - firstAcknowledgedAt) * availableParallelism()),
  }
}

function report(plan: ReportPlan): Promise<ReportResult> {
  return runScript<ReportResult>('./send-reports.ts', plan)
}

/**
 * Runs `statistics verify`, which fails if the statistics differ from the facts.
 */
async function verify(dataDir: string): Promise<Measured['verified']> {
  const startedAt = performance.now()
  const printed = await runCommand(['statistics', 'verify', '--json'], { DATA_DIR: dataDir })
  const seconds = secondsSince(startedAt)
  const { workspaces } = JSON.parse(printed) as { workspaces: readonly { readonly facts: number }[] }
  return { facts: workspaces.reduce((sum, { facts }) => sum + facts, 0), seconds }
}

/** Prints a column for each size. */
function printTable(measured: readonly Measured[]): void {
  const columns = measured.map(
    (one) => [`${one.loaded.messageEvents.toLocaleString('en')} events`, toColumn(one)] as const,
  )
  const rows = Object.keys(columns[0]?.[1] ?? {})
  new Console(process.stdout).table(
    Object.fromEntries(
      rows.map((row) => [row, Object.fromEntries(columns.map(([name, column]) => [name, column[row]]))]),
    ),
  )
  process.stdout.write(
    [
      'SQL counts message events and distinct customers by campaign, kind and platform: a small part of what the server answers.',
      'Sizes are of a store loaded in the order of its keys; pages of one that grew event by event are less full.',
      '',
    ].join('\n'),
  )
}

function toColumn({ loaded, file, one, few, changed, reported, verified, ...rest }: Measured): Record<string, string> {
  const mibPerMillion = (size: number) => ((size / MIB) * MILLION) / loaded.facts
  return {
    people: String(loaded.people),
    facts: String(loaded.facts),
    'cells of statistics': String(file.cells),
    'in series': String(file.series),
    'load, s': rest.loadSeconds.toFixed(1),
    'answer, KiB': (one.bytes / 1024).toFixed(0),
    'answer p50, ms': one.p50Ms.toFixed(1),
    'answer p99, ms': one.p99Ms.toFixed(1),
    [`p50, ms, ${FEW_CONNECTIONS} connections`]: few.p50Ms.toFixed(1),
    [`p99, ms, ${FEW_CONNECTIONS} connections`]: few.p99Ms.toFixed(1),
    'p50 after changes, ms': changed.p50Ms.toFixed(1),
    'p99 after changes, ms': changed.p99Ms.toFixed(1),
    'by SQL, ms': rest.sqlMs.toFixed(0),
    'SQL ÷ p50 after changes': (rest.sqlMs / changed.p50Ms).toFixed(0),
    'acknowledged events/s': median(reported, (send) => send.acknowledgedPerSecond).toFixed(0),
    'applied events/s': median(reported, (send) => send.appliedPerSecond).toFixed(0),
    'of each send, 1,000/s': reported.map((send) => (send.appliedPerSecond / 1000).toFixed(1)).join(' '),
    'CPU steal, %': (median(reported, (send) => send.stolenShare) * 100).toFixed(0),
    'peak memory, MiB': String(rest.memoryMib),
    'verify, s per million facts': ((verified.seconds * MILLION) / verified.facts).toFixed(1),
    'on disk, MiB per million facts': mibPerMillion(file.bytes).toFixed(0),
    'of which statistics': mibPerMillion(file.statisticsBytes).toFixed(1),
  }
}

function goalsOf(measured: readonly Measured[]): Goal[] {
  const [smallest, largest] = [measured[0], measured.at(-1)]
  if (!smallest || !largest) return []
  const growth = (name: string, of: (one: Measured) => number): Goal => {
    const times = of(largest) / of(smallest)
    const what = `${name} of the largest to the smallest ${times.toFixed(2)}, at most ${GROWTH_MAX}`
    return { what, isMet: times <= GROWTH_MAX }
  }
  const slowest = Math.max(...measured.map(({ one }) => one.p99Ms))
  const applied = Math.min(...measured.map(({ reported }) => median(reported, (send) => send.appliedPerSecond)))
  return [
    growth('p50', ({ one }) => one.p50Ms),
    growth('p50 after changes', ({ changed }) => changed.p50Ms),
    growth('p99', ({ one }) => one.p99Ms),
    { what: `p99 ${slowest.toFixed(1)} ms, under ${P99_MS_MAX}`, isMet: slowest < P99_MS_MAX },
    {
      what: `applied ${applied.toFixed(0)} events/s, at least ${APPLIED_PER_SECOND_MIN}`,
      isMet: applied >= APPLIED_PER_SECOND_MIN,
    },
  ]
}

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000
}

function say(what: string): void {
  process.stderr.write(`${what} …\n`)
}
