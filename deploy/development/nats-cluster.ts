// Plans three NATS servers on free ports. It starts nothing.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { ProgramPlan } from './started-program.ts'

const HOST = '127.0.0.1'
const NAMES = ['nats-1', 'nats-2', 'nats-3'] as const
/** Where Debian installs it, which is not in every PATH. */
const DEBIAN_FOLDER = '/usr/sbin'

/** The program, with its path if necessary; undefined if it is not installed. */
export function findNatsServer(program: string): string | undefined {
  return [program, join(DEBIAN_FOLDER, program)].find((path) => spawnSync(path, ['--version']).status === 0)
}

export interface NatsPlan {
  /** The addresses of all servers, as NATS_URL takes them. */
  readonly url: string
  readonly servers: readonly ProgramPlan[]
}

/** Rejects if the servers of an earlier start still use the folder, which must exist. */
export async function planNatsCluster(program: string, folder: string): Promise<NatsPlan> {
  for (const name of NAMES) refuseRunning(name, pidFileOf(folder, name))
  const ports = await findFreePorts(NAMES.length * 2)
  const addresses = ports.map((port) => `nats://${HOST}:${port}`)
  const routes = addresses.slice(NAMES.length)
  const servers = NAMES.map((name, index) => {
    const options = {
      addr: HOST,
      port: ports[index],
      name,
      store_dir: join(folder, name),
      cluster_name: 'tidings',
      cluster: routes[index],
      routes: routes.join(','),
      pid: pidFileOf(folder, name),
      log: join(folder, `${name}.log`),
    }
    const args = Object.entries(options).map(([option, value]) => `--${option}=${value}`)
    return { name, command: program, args: ['--jetstream', ...args] }
  })
  return { url: addresses.slice(0, NAMES.length).join(','), servers }
}

function pidFileOf(folder: string, name: string): string {
  return join(folder, `${name}.pid`)
}

/** Two servers would corrupt one folder. A killed script leaves its servers running. */
function refuseRunning(name: string, pidFile: string): void {
  if (!existsSync(pidFile)) return
  const pid = readFileSync(pidFile, 'utf8').trim()
  const { stdout } = spawnSync('ps', ['-o', 'args=', '-p', pid], { encoding: 'utf8' })
  if (!stdout.includes(pidFile)) return
  throw new Error(`${name} of an earlier start is still running as process ${pid}. Stop it first.`)
}

/** Listens on all of them at once, so that they differ. */
async function findFreePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, HOST))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}
