// `npm run cluster`, started as a developer does: all processes start, the balancer forwards requests, and one process may die.
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { readConfig } from '../../src/app/config.ts'
import { HELP, readSettings } from '../../deploy/development/cluster-settings.ts'
import { describeWithNats } from '../support/nats-servers.ts'
import { basic, start, type Environment, type RunningProgram } from '../support/program.ts'
import { until } from '../support/server.ts'
import { describeOnPostgres, makeLocation, type TestLocation } from '../support/stores.ts'

// Nine programs start while other suites use the machine.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 })

const SCRIPT = fileURLToPath(new URL('../../deploy/development/cluster.ts', import.meta.url))
const DEFAULT_PORT = readConfig({}).port
const START_WAIT_MS = 60_000
const WAIT_MS = 20_000

describeOnPostgres('a cluster with its log in PostgreSQL', () => describeCluster('postgres', 0))

describeWithNats('a cluster with its log in NATS JetStream', () => {
  describeOnPostgres('and its tables', () => describeCluster('jetstream', 3))
})

function describeCluster(log: string, natsServers: number): void {
  let location: TestLocation
  let script: RunningProgram

  beforeEach(async () => {
    location = await makeLocation('postgres')
    script = startScript({
      CLUSTER_LOG: log,
      DATABASE_URL: `${location.databaseUrl}?password=hidden`,
      DATA_DIR: join(location.dataDir, 'cluster'),
      PORT: '0',
    })
  })
  afterEach(async () => {
    await script.stop()
    for (const pid of pidsOf(script).values()) kill(pid)
    await location.remove()
    rmSync(location.dataDir, { recursive: true, force: true })
  })

  it('continues without one of its HTTP processes, and stops everything that it started', async () => {
    await until('it prints how to use it', () => hasEnded(script) || hasPrintedAll(script), START_WAIT_MS)
    const pids = pidsOf(script)
    const nats = Array.from({ length: natsServers }, (_, index) => `nats-${index + 1}`)
    expect([...pids.keys()]).toEqual(['http-1', 'http-2', 'pipeline-1', 'pipeline-2', 'delivery-1', ...nats])
    await sendEvent(script, 'First')
    process.kill(pids.get('http-1') as number, 'SIGKILL')
    await until('it reports the end', () => /^http-1 \(process \d+\) ended by SIGKILL/m.test(script.output().stderr))
    await sendEvent(script, 'Second')
    await until('both events are stored', async () => (await listActions(script)).join() === 'Second,First', WAIT_MS)
    script.child.kill('SIGTERM')
    await until('all have ended', () => ![...pids.values()].some(isRunning), WAIT_MS)
    expect((await script.ended).stdout).toContain('Ctrl-C')
    expect(script.output().stdout).not.toContain('hidden')
  })
}

describeOnPostgres('a cluster without DATABASE_URL', () => {
  const startAlone = (environment: Environment) => start([SCRIPT], { PORT: '0', ...environment }, process.execPath)
  const findOwn = async ({ child }: RunningProgram) => {
    const client = new Client({ connectionString: 'postgres://postgres@127.0.0.1:5432/postgres' })
    await client.connect()
    const own = `tidings_cluster_${child.pid}_%`
    const { rows } = await client.query('select datname from pg_database where datname like $1', [own])
    await client.end()
    return rows.length
  }

  it('drops its own database after a signal, even one that comes while it starts', async () => {
    const script = startAlone({ CLUSTER_LOG: 'postgres' })
    await until(
      'it has made its database',
      async () => hasEnded(script) || (await findOwn(script)) === 1,
      START_WAIT_MS,
    )
    const { status } = await script.stop()
    expect({ status, left: await findOwn(script) }).toEqual({ status: 0, left: 0 })
  })

  it('removes its own database and its log if it cannot start', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidings-cluster-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const script = startAlone({ CLUSTER_LOG: 'jetstream', NATS_SERVER: 'true', DATA_DIR: folder })
    const { status, stderr } = await script.ended
    expect(stderr).toContain('does not start: ')
    expect({ status, left: await findOwn(script), files: readdirSync(folder) }).toEqual({
      status: 1,
      left: 0,
      files: [],
    })
  })

  it('takes a free port if the default one is in use', async () => {
    const holder = createServer().listen(DEFAULT_PORT, '127.0.0.1')
    // Another program may hold it already.
    await once(holder, 'listening').catch(() => {})
    onTestFinished(() => void holder.close())
    const script = startAlone({ CLUSTER_LOG: 'postgres', PORT: '' })
    await until('it prints how to use it', () => hasEnded(script) || hasPrintedAll(script), START_WAIT_MS)
    expect(readPrinted(script).url).not.toContain(`:${DEFAULT_PORT}/`)
    const { status, stderr } = await script.stop()
    const sentence = `Port ${DEFAULT_PORT} cannot be used, so the balancer takes a free one.\n`
    expect({ status, stderr }).toEqual({ status: 0, stderr: sentence })
  })
})

describe('the settings of a cluster', () => {
  it('are all listed in its help', () => {
    const asked = new Set<string>()
    readSettings(new Proxy({}, { get: (_target, name) => void asked.add(String(name)) }))
    expect([...asked].filter((name) => !HELP.includes(`  ${name} `))).toEqual([])
    expect(asked).toContain('CLUSTER_HTTP')
  })

  it.each([
    ['CLUSTER_LOG', 'kafka', 'CLUSTER_LOG must be one of jetstream, postgres.'],
    ['CLUSTER_HTTP', '0', 'CLUSTER_HTTP must be a number from 1 to 16.'],
    ['CLUSTER_PIPELINES', '17', 'CLUSTER_PIPELINES must be a number from 1 to 16.'],
    ['CLUSTER_HTTP', 'two', 'CLUSTER_HTTP must be a number from 1 to 16.'],
    ['PORT', '99999', 'The environment has 1 invalid setting.'],
  ])('refuse %s=%s', (name, value, message) => {
    expect(() => readSettings({ [name]: value })).toThrow(message)
  })

  it('are printed by --help, which starts nothing', async () => {
    const { status, stdout } = await start(['run', '--silent', 'cluster', '--', '--help'], {}, 'npm').ended
    expect({ status, stdout }).toEqual({ status: 0, stdout: HELP })
  })

  it('end it before it creates anything if the port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const folder = join(tmpdir(), `tidings-cluster-${port}-${process.pid}`)
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    // The first thing that it would create fails too, and would be reported.
    const nowhere = { DATABASE_URL: 'postgres://127.0.0.1:1/nothing', DATA_DIR: folder, NATS_SERVER: 'true' }
    const { status, stdout, stderr } = await startScript({ ...nowhere, PORT: String(port) }).ended
    other.close()
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toBe(
      `The environment has 1 invalid setting.\n  PORT ${port} is in use on 127.0.0.1; choose another port\n`,
    )
    expect(existsSync(folder)).toBe(false)
  })

  it('end it with the reason if the database does not respond', async () => {
    const databaseUrl = 'postgres://nobody:hidden@127.0.0.1:1/nothing'
    const { status, stdout, stderr } = await startScript({ CLUSTER_LOG: 'postgres', DATABASE_URL: databaseUrl }).ended
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(/^PostgreSQL does not respond at 127\.0\.0\.1:1\/nothing \(.*\)\. Set DATABASE_URL\.\n/)
  })
})

function startScript(environment: Environment): RunningProgram {
  return start(
    ['run', '--silent', 'cluster'],
    { npm_config_update_notifier: 'false', PORT: '0', ...environment },
    'npm',
  )
}

function hasEnded(script: RunningProgram): boolean {
  const { exitCode } = script.child
  if (exitCode !== null) throw new Error(`it ended with status ${exitCode}: ${script.output().stderr}`)
  return false
}

function hasPrintedAll(script: RunningProgram): boolean {
  return script.output().stdout.includes('Ctrl-C')
}

/** The processes that it has reported, by name. */
function pidsOf(script: RunningProgram): ReadonlyMap<string, number> {
  const rows = script.output().stdout.matchAll(/^ {2}(\S+) .*process (\d+)$/gm)
  return new Map(Array.from(rows, ([, name = '', pid]) => [name, Number(pid)]))
}

function readPrinted(script: RunningProgram): { url: string; authorization: string } {
  const { stdout } = script.output()
  const [, url = ''] = /^ {2}balancer +(\S+)$/m.exec(stdout) ?? []
  const [, key = ''] = /^data key +(\S+)$/m.exec(stdout) ?? []
  return { url: `${url}/v1/event/development`, authorization: basic('development', key) }
}

/** Sends as a client does: retries with the same key until it gets a response. */
async function sendEvent(script: RunningProgram, action: string): Promise<void> {
  const { url, authorization } = readPrinted(script)
  const headers = { authorization, 'content-type': 'application/json', 'idempotency-key': action }
  const body = JSON.stringify({ type: 'event', customer_id: 'ada', actions: [{ action }] })
  const send = () => fetch(url, { method: 'POST', headers, body }).then(({ ok }) => ok)
  await until(`${action} is accepted`, () => send().catch(() => false), WAIT_MS)
}

async function listActions(script: RunningProgram): Promise<string[]> {
  const { url, authorization } = readPrinted(script)
  const answer = await fetch(`${url}?customer_id=ada`, { headers: { authorization } })
  if (answer.status !== 200) return []
  const { data } = (await answer.json()) as { data: { action: string }[] }
  return data.map(({ action }) => action)
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function kill(pid: number): void {
  if (isRunning(pid)) process.kill(pid, 'SIGKILL')
}
