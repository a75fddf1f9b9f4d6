// Measures the pages of the dashboard in Chromium over a store with many facts, and the same requests without a browser: `npm run bench --
// dashboard`. `BENCH_SIZES` sets the number of message events (10,000,000), `BENCH_EVENTS` that of tracked events (1,000,000),
// `BENCH_ROUNDS` how often each page is measured (10). `BENCH_DATA_DIR` names a folder for the store: it is kept, and filled only
// once.
import { Console } from 'node:console'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { openDatabase, statePathOf } from '../../src/store/open-database.ts'
import { findChromium, launchChromium } from '../../test/support/browser/launch-chromium.ts'
import { signInAs } from '../../test/support/accounts/sign-in-as.ts'
import { fillStore } from '../bulk-load.ts'
import { readCpuMs, runCommand, startProcess, stopProcess } from '../processes.ts'
import { median, printGoals, type Goal } from '../results.ts'
import { addDashboardRows } from './dashboard-rows.ts'
import { listSteps, reportAddress, reportSteps, type Step } from './steps.ts'
import { WatchedPage, type AskedRequest, type ShownContent } from './watched-page.ts'

const MESSAGE_EVENTS = Number(process.env['BENCH_SIZES'] ?? 10_000_000)
const EVENTS = Number(process.env['BENCH_EVENTS'] ?? 1_000_000)
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 10)
/** A page of a settled screen, from which the lists are opened. */
const ELSEWHERE = '/dashboard/bench/settings/account'

interface Served {
  readonly url: string
  readonly cookie: string
  readonly pid: number
}

/** What one row measures. */
type Row = Pick<Step, 'what' | 'maxMs'>

/** Milliseconds of each round, on the page and for the same requests without it; and how many these are. */
interface Measured extends Row {
  readonly page: number[]
  readonly pageCpu: number[]
  readonly http: number[]
  readonly serverCpu: number[]
  asked: number
}

export async function benchDashboard(): Promise<void> {
  const program = findChromium()
  if (program === undefined) throw new Error('this bench needs Chromium')
  const kept = process.env['BENCH_DATA_DIR']
  const dataDir = kept ?? mkdtempSync(join(tmpdir(), 'tidings-bench-'))
  try {
    await fill(dataDir)
    const { cookie } = await signIn(dataDir)
    const environment = { DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'warn' }
    const limits = ['campaign_stats_per_minute', 'management_per_minute'].map((name) => `limits.${name}=1000000`)
    await runCommand(['workspace', 'set', 'bench', ...limits], environment)
    const server = await startProcess('../bin/tidings', ['serve', '--json'], environment)
    const { url } = JSON.parse(server.firstLine) as { url: string }
    const browser = await launchChromium(program)
    try {
      const served = { url, cookie, pid: server.child.pid as number }
      const measured = await measureAll(browser, served)
      printTable(measured)
      printGoals(goalsOf(measured))
      await measureRecount(served)
    } finally {
      await browser.close()
      await stopProcess(server)
    }
  } finally {
    if (kept === undefined) rmSync(dataDir, { recursive: true, force: true })
  }
}

async function fill(dataDir: string): Promise<void> {
  mkdirSync(dataDir, { recursive: true })
  if (existsSync(statePathOf({ dataDir }))) return
  process.stderr.write(`loading ${MESSAGE_EVENTS.toLocaleString('en')} message events …\n`)
  await fillStore(dataDir, MESSAGE_EVENTS, (database, loaded) => addDashboardRows(database, loaded, EVENTS))
}

async function signIn(dataDir: string) {
  const database = openDatabase({ dataDir, databaseUrl: undefined })
  try {
    return await signInAs({ database }, 'owner')
  } finally {
    await database.close()
  }
}

async function measureAll(browser: Browser, served: Served): Promise<readonly Measured[]> {
  const table = new Map<string, Measured>()
  const rowOf = (row: Row) => {
    const found = table.get(row.what) ?? { ...row, page: [], pageCpu: [], http: [], serverCpu: [], asked: 0 }
    table.set(row.what, found)
    return found
  }
  const record = async (step: Row, { ms, cpuMs, asked }: ShownContent) => {
    const row = rowOf(step)
    row.page.push(ms)
    row.pageCpu.push(cpuMs)
    const serverCpuBefore = readCpuMs(served.pid).all
    row.http.push(await replay(served, asked))
    row.serverCpu.push(readCpuMs(served.pid).all - serverCpuBefore)
    row.asked = asked.length
  }
  const lists = await listSteps((path) => ask(served, path))
  // The first round warms up the server, and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    if (round === 1) table.clear()
    process.stderr.write(`round ${round} of ${ROUNDS} …\n`)
    const page = await WatchedPage.open(browser, served.url, served.cookie)
    rowOf({ what: 'GET /health: first paint', maxMs: undefined }).page.push(await page.loadPlain('/health'))
    const loaded = await page.load(reportAddress(round))
    rowOf({ what: 'report: first paint', maxMs: 1_000 }).page.push(loaded.firstPaintMs)
    await record({ what: 'report: numbers, from nothing', maxMs: undefined }, loaded)
    for (const step of reportSteps(round)) await record(step, await page.follow(step.target))
    await page.load(ELSEWHERE)
    for (const step of lists) await record(step, await page.follow(step.target))
    await page.close()
  }
  return [...table.values()]
}

/** The time until all requests of a page are answered, sent at once. Questions go to another campaign, whose numbers are not cached. */
async function replay({ url, cookie }: Served, asked: readonly AskedRequest[]): Promise<number> {
  const startedAt = performance.now()
  await Promise.all(
    asked.map(async ({ url: address, method, headers, body }) => {
      const other = (text: string) => text.replaceAll(/campaign-(\d)\b/g, (_, n) => `campaign-${(Number(n) % 9) + 1}`)
      const sent = { method, headers: { ...headers, cookie }, ...(body !== null && { body: other(body) }) }
      const answer = await fetch(new URL(other(address), url), sent)
      await answer.arrayBuffer()
      if (!answer.ok) throw new Error(`${method} ${address} answered ${answer.status}`)
    }),
  )
  return performance.now() - startedAt
}

async function ask<Body>({ url, cookie }: Served, path: string, method = 'GET'): Promise<Body> {
  const answer = await fetch(new URL(path, url), { method, headers: { cookie, 'svc-appkey': 'bench' } })
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Body
}

const RECOUNT_POLL_MS = 250
const RECOUNT_WAIT_MS = 30 * 60_000

/** «Check these numbers» of one campaign, which counts all people again. */
async function measureRecount(served: Served): Promise<void> {
  const path = '/core-services/v1/campaigns/campaign-1/recount'
  const [startedAt, cpuBefore] = [performance.now(), readCpuMs(served.pid).all]
  await ask(served, path, 'POST')
  for (;;) {
    const { recount } = await ask<{ recount: { state: string; differing_numbers: number } }>(served, path)
    const waitedMs = performance.now() - startedAt
    if (recount.state === 'finished') {
      const cpuSeconds = (readCpuMs(served.pid).all - cpuBefore) / 1_000
      const seconds = `${(waitedMs / 1_000).toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of processor time`
      process.stdout.write(`recount of one campaign: ${seconds}; ${recount.differing_numbers} numbers differ\n`)
      return
    }
    if (recount.state === 'failed') throw new Error('the recount failed')
    if (waitedMs > RECOUNT_WAIT_MS) throw new Error(`the recount has not ended after ${RECOUNT_WAIT_MS} ms`)
    await new Promise((resolve) => setTimeout(resolve, RECOUNT_POLL_MS))
  }
}

function printTable(measured: readonly Measured[]): void {
  const spread = (times: readonly number[]) => {
    if (times.length === 0) return '–'
    return [Math.min(...times), median(times, (ms) => ms), Math.max(...times)].map((ms) => ms.toFixed(0)).join(' / ')
  }
  // The system counts the processor time of a process in steps of 10 ms, so only the mean says something.
  const mean = (times: readonly number[]) => (times.reduce((sum, ms) => sum + ms, 0) / times.length).toFixed(0)
  const rows = measured.map(({ what, page, pageCpu, http, serverCpu, asked }) => [
    what,
    {
      requests: asked,
      'page, ms': spread(page),
      'its processor time': spread(pageCpu),
      'requests alone, ms': spread(http),
      "server's processor time": serverCpu.length === 0 ? '–' : mean(serverCpu),
    },
  ])
  new Console(process.stdout).table(Object.fromEntries(rows))
  process.stdout.write('Times are min / median / max of the rounds, processor times of the server their mean.\n')
}

function goalsOf(measured: readonly Measured[]): Goal[] {
  return measured.flatMap(({ what, maxMs, page }) => {
    const ms = median(page, (time) => time)
    return maxMs === undefined ? [] : { what: `${what} ${ms.toFixed(0)} ms, under ${maxMs}`, isMet: ms < maxMs }
  })
}
