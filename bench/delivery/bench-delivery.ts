// Measures how fast Tidings sends a campaign, and a bare loop of its SMTP client in the same run as the baseline: `npm run bench --
// delivery`. `BENCH_PEOPLE` sets the audience (100,000), `BENCH_SECONDS` the length of each baseline (5). Run it with 100,000 and with
// 1,000,000 people, and compare the cost per person.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readCpuMs, readMemoryMib, runCommand, startProcess, stopProcess, type StartedProcess } from '../processes.ts'
import { printGoals } from '../results.ts'
import { makeTrackedWorkspace } from '../tracked-workspace.ts'
import { measureBareSending } from './bare-sending.ts'
import { CONNECTIONS, startMailing, watchRun, type WatchedRun } from './mailing.ts'
import { startLightLoad } from './light-load.ts'

const PEOPLE = Number(process.env['BENCH_PEOPLE'] ?? 100_000)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 5)
const SINK = '../test/support/mail-sink/run-mail-sink.ts'
const KEPT = '100'
/** The goals of the bench. */
const RATIO_MIN = 0.5
const FROZEN_PER_SECOND_MIN = 30_000
const P99_MS_MAX = 50
const MEMORY_MIB_MAX = 400

interface Measured extends WatchedRun {
  readonly p99Ms: number
  readonly memoryMib: number
  /** Processor time of the server for each person, in milliseconds, from the start of the campaign to its end. */
  readonly cpuMs: number
  /** The size of one of the messages that arrived. */
  readonly messageBytes: number
}

export async function benchDelivery(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-bench-'))
  const started: StartedProcess[] = []
  try {
    const sink = await startProcess(SINK, ['--port', '0', '--page-port', '0', '--kept', KEPT, '--json'])
    started.push(sink)
    const measured = await measure(folder, sink, started)
    const { messageBytes } = measured
    const bare = await measureBareSending({ connections: CONNECTIONS, seconds: SECONDS, messageBytes })
    print(measured, bare)
  } finally {
    await Promise.all(started.map(stopProcess))
    await rm(folder, { recursive: true, force: true })
  }
}

async function measure(folder: string, sink: StartedProcess, started: StartedProcess[]): Promise<Measured> {
  const dataDir = join(folder, 'data')
  const workspace = await makeTrackedWorkspace({ dataDir, databaseUrl: undefined })
  const environment = { DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'warn', PUBLIC_URL: 'https://bench.example' }
  const server = await startProcess('../bin/tidings', ['serve', '--json'], environment)
  started.push(server)
  const { url } = JSON.parse(server.firstLine) as { url: string }
  const addresses = JSON.parse(sink.firstLine) as { smtp: string; page: string }
  await importPeople(folder, url, workspace.dataKey)
  const pid = server.child.pid as number
  const cpuBefore = readCpuMs(pid).all
  const runsUrl = await startMailing(url, workspace, addresses.smtp)
  const load = startLightLoad(url, workspace)
  const run = await watchRun(runsUrl, workspace, PEOPLE)
  return {
    ...run,
    p99Ms: await load.stop(),
    memoryMib: readMemoryMib(pid).peak,
    cpuMs: (readCpuMs(pid).all - cpuBefore) / PEOPLE,
    messageBytes: await readMessageBytes(addresses.page),
  }
}

async function importPeople(folder: string, url: string, key: string): Promise<void> {
  const file = join(folder, 'people.csv')
  const lines = Array.from({ length: PEOPLE }, (_, n) => {
    return `customer-${n},person.${n}@example.com,Anna,"Schmidt, Dr.",Berlin,OPTED_IN\n`
  })
  await writeFile(file, ['customer_id,email,first_name,last_name,city,opt_in_status\n', ...lines].join(''))
  await runCommand(['import', file, '--workspace', 'bench', '--url', url, '--json'], { DATA_KEY: key })
}

async function readMessageBytes(page: string): Promise<number> {
  const list = await (await fetch(page)).text()
  const [path = ''] = /\/mails\/\d+/.exec(list) ?? []
  return (await (await fetch(`${page}${path}/raw`)).arrayBuffer()).byteLength
}

function print(measured: Measured, bare: number): void {
  const { sent, frozenPerSecond, toldPerSecond, sentPerSecond, p99Ms, memoryMib, cpuMs, messageBytes } = measured
  const ratio = sentPerSecond / bare
  const rounded = Object.entries({ frozenPerSecond, toldPerSecond, sentPerSecond, bare })
  for (const [name, value] of rounded) process.stdout.write(`${name.padEnd(16)} ${Math.round(value)}\n`)
  process.stdout.write(`${sent} of ${PEOPLE} messages of ${messageBytes} bytes\n`)
  process.stdout.write(`cost per person: ${cpuMs.toFixed(3)} ms of processor time\n`)
  const frozen = Math.round(frozenPerSecond)
  printGoals([
    { what: `${PEOPLE} people sent to, ${sent} arrived`, isMet: sent === PEOPLE },
    { what: `messages/s at ${ratio.toFixed(2)} of the bare loop, at least ${RATIO_MIN}`, isMet: ratio >= RATIO_MIN },
    { what: `${frozen} people/s frozen, at least ${FROZEN_PER_SECOND_MIN}`, isMet: frozen >= FROZEN_PER_SECOND_MIN },
    { what: `Track Events p99 ${p99Ms.toFixed(1)} ms meanwhile, under ${P99_MS_MAX}`, isMet: p99Ms < P99_MS_MAX },
    { what: `memory ${memoryMib} MiB, under ${MEMORY_MIB_MAX}`, isMet: memoryMib < MEMORY_MIB_MAX },
  ])
}
