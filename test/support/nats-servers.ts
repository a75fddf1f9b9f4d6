// NATS servers for tests: processes of their own on free ports, with temporary folders, alone or as a cluster. A suite that needs
// them says so and is skipped where no nats-server is found.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'vitest'
import { startProxy, type CuttableProxy } from './cuttable-proxy.ts'
import { findFreePorts } from './free-ports.ts'
import { endWithTests } from './end-with-tests.ts'
import { until } from './server.ts'

/** Debian puts it where not every PATH looks. */
const PROGRAMS = ['nats-server', '/usr/sbin/nats-server', '/usr/local/bin/nats-server']
const START_WAIT_MS = 20_000
const HOST = '127.0.0.1'

export interface NatsServers {
  /** The addresses of all servers, as the log takes them. */
  readonly url: string
  /** The names of the servers; the stream's leader is named by these too. */
  readonly names: readonly string[]
  /** The address of one server. */
  urlOf(name: string): string
  /** Ends a server as a broken machine would, and keeps its folder. */
  kill(name: string): Promise<void>
  /** Lets a server hang: it takes connections and answers nobody. */
  pause(name: string): void
  resume(name: string): void
  /** Breaks a server's connections with the others, if the routes are cuttable; all others still reach it. */
  cutOff(name: string): void
  reunite(name: string): void
  /** Starts a killed server again, at its port and with its folder. */
  restart(name: string): Promise<void>
  /** Whether a server says of itself that it has caught up with the others. */
  readonly isHealthy: (name: string) => Promise<boolean>
  /** How many clients a server has. */
  countClients(name: string): Promise<number>
  /** Ends all and removes their folders. */
  remove(): Promise<void>
}

function findProgram(): string | undefined {
  const found = PROGRAMS.find((program) => spawnSync(program, ['--version']).status === 0)
  if (found !== undefined) return found
  if (process.env['REQUIRE_NATS'] === '1') throw new Error('nats-server is required and not found')
  process.stderr.write(`skipped on NATS: none of ${PROGRAMS.join(', ')} is found\n`)
  return undefined
}

const program = findProgram()

/** Declares a suite that needs NATS servers. */
export function describeWithNats(name: string, declare: () => void): void {
  describe.skipIf(program === undefined)(name, () => {
    declare()
  })
}

/** Starts servers with JetStream; more than one form a cluster. Resolves when each takes connections. */
export async function startNatsServers(
  count = 1,
  settings: readonly string[] = [],
  routing?: 'cuttable',
): Promise<NatsServers> {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-nats-'))
  const names = Array.from({ length: count }, (_, index) => `server-${index + 1}`)
  const ports = await findFreePorts(count * 3)
  const processes = new Map<string, ChildProcess>()
  const healthPorts = ports.slice(count * 2)
  const routes = ports.slice(count, count * 2).map((port) => `nats://${HOST}:${port}`)
  const cuttable = routing === 'cuttable' ? await startRoutes(names, routes) : []
  const start = async (name: string) => {
    const index = names.indexOf(name)
    const port = ports[index] as number
    const known =
      cuttable.length === 0 ? routes : cuttable.filter(({ from }) => from === name).map(({ proxy }) => proxy.url)
    const own = ['--cluster_name', 'tests', '--cluster', routes[index] as string, '--routes', known.join(',')]
    // Otherwise the servers would tell each other of the way around the proxies.
    const cluster = cuttable.length === 0 ? own : [...own, '--cluster_advertise', `${HOST}:1`]
    const addresses = ['-a', HOST, '-p', String(port), '-m', String(healthPorts[index])]
    const args = [...addresses, '-js', '-sd', join(folder, name), '-n', name]
    const child = spawn(program as string, [...args, ...settings, ...(count > 1 ? cluster : [])], { stdio: 'ignore' })
    endWithTests(child)
    processes.set(name, child)
    await until(`${name} takes connections`, () => takesConnections(port), START_WAIT_MS)
  }
  const kill = async (name: string) => {
    const child = processes.get(name)
    processes.delete(name)
    if (!child) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  const routesOf = (name: string) => cuttable.filter(({ from, to }) => from === name || to === name)
  const urlOf = (name: string) => `nats://${HOST}:${ports[names.indexOf(name)]}`
  const monitorOf = (name: string) => `http://${HOST}:${healthPorts[names.indexOf(name)]}`
  await Promise.all(names.map(start))
  return {
    url: names.map(urlOf).join(','),
    names,
    urlOf,
    kill,
    pause: (name) => processes.get(name)?.kill('SIGSTOP'),
    resume: (name) => processes.get(name)?.kill('SIGCONT'),
    cutOff: (name) => routesOf(name).forEach(({ proxy }) => proxy.cut()),
    reunite: (name) => routesOf(name).forEach(({ proxy }) => proxy.restore()),
    restart: start,
    isHealthy: (name) => answersWell(`${monitorOf(name)}/healthz`),
    countClients: async (name) => ((await (await fetch(`${monitorOf(name)}/connz`)).json()) as Clients).num_connections,
    async remove() {
      await Promise.all(names.map(kill))
      await Promise.all(cuttable.map(({ proxy }) => proxy.stop()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

interface Clients {
  readonly num_connections: number
}

/** A proxy for each way from one server to another. */
function startRoutes(
  names: readonly string[],
  urls: readonly string[],
): Promise<{ from: string; to: string; proxy: CuttableProxy }[]> {
  const ways = names.flatMap((from) => names.filter((to) => to !== from).map((to) => ({ from, to })))
  return Promise.all(
    ways.map(async (way) => ({ ...way, proxy: await startProxy(urls[names.indexOf(way.to)] as string) })),
  )
}

async function answersWell(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok
  } catch {
    return false
  }
}

async function takesConnections(port: number): Promise<boolean> {
  const socket = connect(port, HOST)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
