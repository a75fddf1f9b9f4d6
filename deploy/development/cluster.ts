// `npm run cluster`: starts a cluster of Tidings on this machine, for development, and stops it in order.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ConfigError } from '../../src/app/config.ts'
import { withoutPassword } from '../../src/store/postgres/without-password.ts'
import { startBalancer, type Balancer } from './balancer.ts'
import { HELP, readSettings, type ClusterLog, type ClusterSettings } from './cluster-settings.ts'
import { findNatsServer, planNatsCluster } from './nats-cluster.ts'
import { checkDatabase, OwnDatabase } from './prepare-database.ts'
import { RunningCluster } from './running-cluster.ts'
import type { StartedProgram } from './started-program.ts'
import { createKeys, planProcesses, waitUntilStarted, WORKSPACE_ID, type WorkspaceKeys } from './tidings-processes.ts'

const READY_WAIT_MS = 30_000

if (process.argv.includes('--help')) process.stdout.write(HELP)
else await run()

/** Runs until a signal ends it. */
async function run(): Promise<void> {
  const cluster = new RunningCluster()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // The terminal and npm may both send it.
    process.on(signal, () => void cluster.stop().then(() => process.exit(0)))
  }
  try {
    process.stdout.write(await start(cluster, readSettings(process.env)))
  } catch (error) {
    const isRequested = cluster.isStopping
    await cluster.stop()
    if (!isRequested) process.stderr.write(`${toText(error)}\n`)
    process.exit(isRequested ? 0 : 1)
  }
}

/** Starts everything. Returns the text that says how to use it. */
async function start(cluster: RunningCluster, settings: ClusterSettings): Promise<string> {
  // Starts first, so that nothing is created if the port is in use. It must also stop first, so it is added to the cluster last.
  const balancer = await openBalancer(settings)
  const natsServer = findNats(settings)
  const log: ClusterLog = natsServer === undefined ? 'postgres' : 'jetstream'
  const databaseUrl = await prepareDatabase(cluster, settings)
  const nats =
    natsServer === undefined ? undefined : await planNatsCluster(natsServer, makeLogFolder(cluster, settings))
  const environment = {
    DATABASE_URL: databaseUrl,
    NATS_URL: nats?.url ?? '',
    LOG_LEVEL: settings.logLevel,
    PUBLIC_URL: settings.publicUrl ?? balancer.url,
  }
  const natsServers = nats ? await cluster.startGroup(nats.servers) : []
  // The first command also creates the tables.
  const keys = await createKeys(environment)
  const pipelines = await cluster.startGroup(planProcesses('pipeline', settings.pipelines, environment))
  const deliveries = await cluster.startGroup(planProcesses('delivery', 1, environment))
  const http = await cluster.startGroup(planProcesses('http', settings.httpProcesses, environment))
  const urls = (await Promise.all(http.map(waitUntilStarted))).filter((url) => url !== null)
  await Promise.all([...pipelines, ...deliveries].map(waitUntilStarted))
  balancer.forwardTo(urls)
  cluster.add(balancer)
  await waitUntilReady(balancer)
  const rows = [
    ['balancer', balancer.url],
    ...http.map((program, index) => toRow(program, urls[index])),
    ...[...pipelines, ...deliveries].map((program) => toRow(program)),
    ...natsServers.map((program, index) => toRow(program, nats?.url.split(',')[index])),
    ['database', withoutPassword(databaseUrl)],
  ]
  return describe(log, rows, balancer.url, keys)
}

/** The default port may be in use by a server of this checkout: then another one does as well. */
async function openBalancer({ port, isPortChosen }: ClusterSettings): Promise<Balancer> {
  try {
    return await startBalancer(port)
  } catch (error) {
    if (isPortChosen || !(error instanceof ConfigError)) throw error
    process.stderr.write(`Port ${port} cannot be used, so the balancer takes a free one.\n`)
    return startBalancer(0)
  }
}

/** The URL of the database. Its own one is dropped when the cluster stops. */
async function prepareDatabase(cluster: RunningCluster, { databaseUrl }: ClusterSettings): Promise<string> {
  if (databaseUrl !== undefined) {
    await checkDatabase(databaseUrl)
    return databaseUrl
  }
  const own = new OwnDatabase()
  cluster.add(own)
  await own.create()
  return own.url
}

/** The folder of the NATS servers. A log belongs to its tables, so it is removed with the cluster's own database. */
function makeLogFolder(cluster: RunningCluster, { databaseUrl, dataDir }: ClusterSettings): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (databaseUrl !== undefined) return dataDir
  const folder = mkdtempSync(join(dataDir, 'run-'))
  cluster.add({ stop: async () => rmSync(folder, { recursive: true, force: true }) })
  return folder
}

/** The NATS server program; undefined if the log is in PostgreSQL. */
function findNats({ log, natsServer }: ClusterSettings): string | undefined {
  if (log === 'postgres') return undefined
  const program = findNatsServer(natsServer)
  if (program !== undefined) return program
  const missing = `${natsServer} was not found`
  if (log === 'jetstream') throw new Error(`${missing}: install it, set NATS_SERVER, or CLUSTER_LOG=postgres.`)
  process.stderr.write(`${missing}, so the log is in PostgreSQL.\n`)
  return undefined
}

async function waitUntilReady({ allReady }: Balancer): Promise<void> {
  const timer = new AbortController()
  const late = pause(READY_WAIT_MS, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`The processes are not ready after ${READY_WAIT_MS} ms.`)
  })
  try {
    await Promise.race([allReady, late])
  } finally {
    timer.abort()
    late.catch(() => {})
  }
}

type Row = readonly string[]

function toRow({ name, pid }: StartedProgram, address?: string | null): Row {
  return [name, ...(address ? [address] : []), `process ${pid}`]
}

function describe(log: ClusterLog, rows: readonly Row[], url: string, keys: WorkspaceKeys): string {
  const where = log === 'jetstream' ? 'NATS JetStream' : 'PostgreSQL'
  const user = `${WORKSPACE_ID}:${keys.dataKey}`
  const event = JSON.stringify({ type: 'event', customer_id: 'ada', actions: [{ action: 'Order Placed' }] })
  return [
    `Tidings runs on this machine, with its log in ${where}.`,
    '',
    ...rows.map(([name = '', ...rest]) => `  ${name.padEnd(12)} ${rest.join('  ')}`),
    '',
    `workspace id  ${WORKSPACE_ID}`,
    `data key      ${keys.dataKey}`,
    `reports key   ${keys.reportsKey}`,
    '',
    'Each start generates new keys. Track an event, and read it back:',
    '',
    `curl -u ${user} -H 'Content-Type: application/json' -d '${event}' ${url}/v1/event/${WORKSPACE_ID}`,
    `curl -u ${user} '${url}/v1/event/${WORKSPACE_ID}?customer_id=ada'`,
    '',
    'Kill any of these processes to see the others continue. Ctrl-C stops them all in order.',
    '',
  ].join('\n')
}

function toText(error: unknown): string {
  if (!(error instanceof ConfigError)) return error instanceof Error ? error.message : String(error)
  return [error.message, ...error.faults.map(({ field, problem }) => `  ${field} ${problem}`)].join('\n')
}
