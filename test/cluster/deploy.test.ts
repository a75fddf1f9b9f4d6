// Compares `deploy/`, the Dockerfile and docs/cluster.md with the program and with each other.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { findNatsServer } from '../../deploy/development/nats-cluster.ts'
import { stopWaitMs } from '../../src/commands/shutdown.ts'
import { readConfig, type Config } from '../../src/app/config.ts'
import { Metrics } from '../../src/http/operator/metrics.ts'
import { DELIVERY_STOP_WAIT_MS } from '../../src/delivery/start-delivery.ts'
import { DRAIN_MS, READY_WAIT_MS } from '../../src/http/operator/readiness.ts'
import { OPERATOR_PATHS } from '../../src/http/operator/operator-routes.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { describeWithNats } from '../support/nats-servers.ts'
import { endWithTests } from '../support/end-with-tests.ts'
import { startServer, until } from '../support/server.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DOCUMENT = read('docs/cluster.md')
/** The time after which a stopping process exits by itself. */
const STOP_WAIT_MS = stopWaitMs({ databaseUrl: 'postgres://there' })
const OURS = ['http-1', 'http-2', 'pipeline-1', 'pipeline-2', 'delivery-1', 'delivery-2']
const NATS = ['nats-1', 'nats-2', 'nats-3']
/** The variables that `docker compose` gets from .env or the shell. */
const GIVEN: Readonly<Record<string, string>> = { POSTGRES_PASSWORD: 'secret-1', NATS_PASSWORD: 'secret-2' }
/** An image with an exact version: 17.7, 3.2.24-alpine, bookworm-20251229-slim. */
const PINNED = /^[a-z/]+:[a-z-]*(\d+\.\d+(\.\d+)?|\d{8})(-[a-z0-9.-]+)?$/

interface Service {
  readonly image?: string
  readonly build?: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly depends_on?: readonly string[] | Readonly<Record<string, { readonly condition: string }>>
  readonly restart?: string
  readonly stop_grace_period?: string
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly volumes?: readonly string[]
  readonly networks?: { readonly inside?: { readonly ipv4_address: string } }
  readonly ports?: readonly string[]
  readonly user?: string
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, unknown>>
  readonly networks: { readonly inside: { readonly ipam: { readonly config: readonly Network[] } } }
}

interface Network {
  readonly subnet: string
  readonly ip_range: string
}

describe.each([
  ['deploy/postgres/compose.yaml', ['postgres', ...OURS, 'balancer']],
  ['deploy/jetstream/compose.yaml', ['postgres', ...NATS, ...OURS, 'balancer']],
])('%s', (path, names) => {
  const { services, volumes, networks } = parse(interpolate(read(path)), { merge: true }) as Compose
  const ours = OURS.map((name) => services[name] as Service)

  it('has every service', () => {
    expect(Object.keys(services)).toEqual(names)
  })

  it('gives Tidings valid settings only', () => {
    for (const { environment = {} } of ours) {
      expect(Object.keys(environment).filter((name) => !SETTINGS.has(name))).toEqual([])
      expect(readConfig(environment)).toMatchObject(expectedSettings(names))
    }
  })

  it('starts each role twice, from the Dockerfile of this checkout', () => {
    const commands = ours.map(({ command }) => command?.join(' '))
    const [http, pipeline, delivery] = ['http', 'pipeline', 'delivery'].map((role) => `serve --role ${role}`)
    expect(commands).toEqual([http, http, pipeline, pipeline, delivery, delivery])
    for (const { build = '' } of ours) expect(existsSync(join(ROOT, dirname(path), build, 'Dockerfile'))).toBe(true)
  })

  it('pins its images to exact versions', () => {
    const images = Object.values(services).flatMap(({ image }) => image ?? [])
    expect(images.filter((image) => !PINNED.test(image))).toEqual([])
    expect(images.length).toBe(names.length - OURS.length)
  })

  it('starts a process after its dependencies, restarts it, and gives it time to stop', () => {
    const needed = names.filter((name) => name === 'postgres' || NATS.includes(name))
    for (const { command, depends_on, restart, stop_grace_period } of ours) {
      const healthy = Object.fromEntries(needed.map((name) => [name, { condition: 'service_healthy' }]))
      expect({ depends_on, restart }).toEqual({ depends_on: healthy, restart: 'unless-stopped' })
      const waitMs = command?.includes('delivery') ? STOP_WAIT_MS + DELIVERY_STOP_WAIT_MS : STOP_WAIT_MS
      expect(Number.parseInt(stop_grace_period ?? '', 10) * 1_000).toBeGreaterThan(waitMs)
    }
    for (const name of needed) expect(services[name]?.healthcheck?.test?.[0]).toBe('CMD')
  })

  it('stores durable data in volumes', () => {
    const stateful = names.filter((name) => name === 'postgres' || NATS.includes(name))
    expect(Object.keys(volumes)).toEqual(stateful)
    for (const name of stateful) {
      expect(services[name]?.volumes?.filter((volume) => volume.startsWith(`${name}:/`)).length).toBe(1)
    }
  })

  it('mounts only files that exist', () => {
    const mounted = Object.values(services).flatMap(({ volumes = [] }) => volumes.filter((one) => one.startsWith('.')))
    const missing = mounted.filter((one) => !existsSync(join(ROOT, dirname(path), one.split(':')[0] ?? '')))
    expect(missing).toEqual([])
    expect(mounted.length).toBeGreaterThan(0)
  })

  it('trusts only the balancer, which has a reserved address and listens only on this machine', () => {
    const { networks: own, ports } = services['balancer'] as Service
    const address = own?.inside?.ipv4_address ?? ''
    const [{ subnet = '', ip_range = '' } = {}] = networks.inside.ipam.config as [Partial<Network>?]
    expect(ours.map(({ environment }) => environment?.['TRUSTED_PROXIES'])).toEqual(OURS.map(() => address))
    expect({ subnet, ip_range }).toEqual({
      subnet: address.replace(/\.10$/, '.0/24'),
      ip_range: address.replace(/\.10$/, '.128/25'),
    })
    expect(ports).toEqual(['127.0.0.1:8080:8080'])
  })

  it('requires secrets, and contains none', () => {
    const secrets = [...read(path).matchAll(/\$\{(\w+PASSWORD):\?/g)].map(([, name]) => name)
    expect(new Set(secrets)).toEqual(new Set(Object.keys(GIVEN).filter((name) => read(path).includes(name))))
    for (const name of secrets) expect(DOCUMENT).toContain(`${name}=$(openssl rand -hex 24)`)
  })
})

describe('deploy/haproxy.cfg', () => {
  const text = read('deploy/haproxy.cfg')

  it('sends requests to the HTTP processes that are ready', () => {
    const servers = [...text.matchAll(/^ {2}server (\S+) (\S+)$/gm)].map(([, name, location]) => [name, location])
    const both = [
      ['http-1', 'http-1:8080'],
      ['http-2', 'http-2:8080'],
    ]
    // One backend for the ready processes, and one for all if none is ready.
    expect(servers).toEqual([...both, ...both])
    const [, path = ''] = /httpchk GET (\S+)/.exec(text) ?? []
    expect(OPERATOR_PATHS).toContain(path)
  })

  it('waits for the response of a process that is not ready, and stops using one before it exits', () => {
    const [, checkS = ''] = /^ {2}timeout check (\d+)s$/m.exec(text) ?? []
    expect(Number(checkS) * 1_000).toBeGreaterThan(READY_WAIT_MS)
    const [, interS = '', fall = ''] = /check inter (\d+)s fall (\d+)/.exec(text) ?? []
    expect(Number(interS) * Number(fall) * 1_000).toBeLessThan(DRAIN_MS)
  })
})

describe('deploy/jetstream/nats.conf', () => {
  const text = read('deploy/jetstream/nats.conf')

  it('syncs messages to disk before it acknowledges them', () => {
    expect(text).toMatch(/^ {2}sync_interval: always$/m)
  })

  it('connects the three servers, each with the password', () => {
    const { services } = parse(interpolate(read('deploy/jetstream/compose.yaml')), { merge: true }) as Compose
    const routes = NATS.map((name) => `nats://tidings:${GIVEN['NATS_PASSWORD']}@${name}:6222`)
    for (const name of NATS) {
      const { NATS_ROUTES } = services[name]?.environment ?? {}
      expect(NATS_ROUTES).toBe(`[${routes.join(', ')}]`)
    }
    expect(text).toMatch(/^ {2}routes: \$NATS_ROUTES$/m)
  })
})

describeWithNats('deploy/jetstream/nats.conf for nats-server', () => {
  it('accepts only servers with its password, even one that looks like a number', async () => {
    const ports = await findFreePorts(9)
    const folder = mkdtempSync(join(tmpdir(), 'tidings-nats-'))
    const servers = ['12e4abc', '12e4abc', 'guessed'].map((password, index) => {
      return startNatsServer({ folder, index, ports, password })
    })
    onTestFinished(async () => {
      await Promise.all(servers.map((server) => server.end()))
      rmSync(folder, { recursive: true })
    })
    const [, , stranger] = servers as [RunningNats, RunningNats, RunningNats]
    await until('the other was refused', () => stranger.output().includes("Route Error 'Authorization Violation'"))
    // The server retries every second, and counts a route until it is refused.
    const countRoutes = () => Promise.all(servers.map((server) => server.countRoutes()))
    await expect.poll(countRoutes, { timeout: 20_000 }).toEqual([1, 1, 0])
  })
})

interface RunningNats {
  output(): string
  /** The number of connected servers; 0 while it starts. */
  countRoutes(): Promise<number>
  end(): Promise<void>
}

/** A server with `nats.conf`, on its own ports for clients, servers and monitoring. */
function startNatsServer(of: {
  folder: string
  index: number
  ports: readonly number[]
  password: string
}): RunningNats {
  const { folder, index, ports, password } = of
  const [port, clusterPort, httpPort] = ports.slice(index * 3) as [number, number, number]
  const text = read('deploy/jetstream/nats.conf')
    // Servers before 2.10 do not support sync_interval: always.
    .replace(/^.*sync_interval.*$/m, '')
    .replace('/data', join(folder, String(index)))
    .replace('port: 4222', `port: ${port}`)
    .replace('port: 6222', `port: ${clusterPort}`)
    .replace('http_port: 8222', `http_port: ${httpPort}`)
  const file = join(folder, `${index}.conf`)
  writeFileSync(file, text)
  const routes = [0, 1, 2].map((at) => `nats://tidings:${password}@127.0.0.1:${ports[at * 3 + 1]}`)
  const env = { NATS_NAME: `nats-${index}`, NATS_PASSWORD: `"${password}"`, NATS_ROUTES: `[${routes.join(', ')}]` }
  const child = spawn(findNatsServer('nats-server') as string, ['-c', file], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  endWithTests(child)
  const said: string[] = []
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk.toString('utf8')))
  return {
    output: () => said.join(''),
    async countRoutes() {
      const asked = fetch(`http://127.0.0.1:${httpPort}/routez`).then((answer) => answer.json())
      const { num_routes } = (await asked.catch(() => ({ num_routes: 0 }))) as { num_routes: number }
      return num_routes
    },
    async end() {
      if (child.exitCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

describe('the Dockerfile', () => {
  const lines = read('Dockerfile').replaceAll('\\\n', ' ').split('\n')
  const of = (instruction: string) =>
    lines.filter((line) => line.startsWith(`${instruction} `)).map((line) => line.slice(instruction.length).trim())

  it('pins its base images to exact versions', () => {
    const images = of('FROM').map((from) => from.split(' ')[0] ?? '')
    expect(images.length).toBe(2)
    expect(images.filter((image) => !PINNED.test(image))).toEqual([])
  })

  it('runs as a numeric user that is not root', () => {
    expect(of('USER')).toEqual(['10001:10001'])
    expect(lines.findIndex((line) => line.startsWith('USER'))).toBeGreaterThan(
      lines.findLastIndex((line) => /^(FROM|RUN) /.test(line)),
    )
  })

  it('copies only files that exist and that .dockerignore includes', () => {
    const copied = of('COPY').filter((one) => !one.startsWith('--from'))
    const sources = copied.flatMap((one) =>
      one
        .split(' ')
        .slice(0, -1)
        .map((name) => name.replace(/^\.\//, '')),
    )
    const admitted = [...read('.dockerignore').matchAll(/^!(\S+)$/gm)].map(([, name]) => name)
    expect(new Set(sources)).toEqual(new Set(admitted))
    expect(sources.filter((name) => !existsSync(join(ROOT, name)))).toEqual([])
    expect(read('.dockerignore')).toMatch(/^\*$/m)
  })

  it('installs packages without their scripts, and keeps only those of production, with Node among them', () => {
    expect(of('RUN').filter((run) => run.includes('npm '))).toEqual([
      'npm ci --ignore-scripts',
      expect.stringMatching(
        /^npm run build +&& npm prune --omit=dev --ignore-scripts +&& rm -r dashboard +&& npm run postinstall +&& rm /,
      ),
    ])
  })

  it('copies from the build only what `dist/` needs, and no sources', () => {
    const taken = of('COPY').filter((one) => one.startsWith('--from'))
    expect(taken.map((one) => one.split(' ')[1])).toEqual(
      ['package.json', 'node_modules', 'bin', 'dist'].map((name) => `/app/${name}`),
    )
  })

  it('sets only variables that the program reads', () => {
    const settings = of('ENV').flatMap((one) => one.split(' ').map((pair) => pair.split('=') as [string, string]))
    expect(readConfig(Object.fromEntries(settings))).toMatchObject({ host: '0.0.0.0', port: 8080, dataDir: '/data' })
    expect(settings.map(([name]) => name).filter((name) => !SETTINGS.has(name))).toEqual([])
  })

  it('starts a program that exists', () => {
    const [start] = of('ENTRYPOINT').map((one) => JSON.parse(one) as string[])
    expect(start).toEqual(['/app/bin/tidings'])
  })

  it('reports a server as healthy only if it responds', async () => {
    const [, command = '[]'] = /CMD (\[.*\])$/.exec(of('HEALTHCHECK')[0] ?? '') ?? []
    const [node = '', ...args] = JSON.parse(command) as string[]
    const check = (port: string) =>
      new Promise((resolve) => {
        execFile(join(ROOT, node), args, { env: { PORT: port } }, (error) => resolve(error ? error.code : 0))
      })
    const server = await startServer('sqlite')
    const { port } = new URL(server.url)
    const whileServing = await check(port)
    await server.stop()
    expect([whileServing, await check(port)]).toEqual([0, 1])
  })
})

describe('docs/cluster.md', () => {
  it('links only to files that exist', () => {
    const links = [...DOCUMENT.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, link = '']) => link)
    expect(links.filter((link) => !/^https?:/.test(link) && !existsSync(join(ROOT, 'docs', link)))).toEqual([])
    expect(links.length).toBeGreaterThan(0)
  })

  it('mentions only metrics that exist', async () => {
    const { text } = await new Metrics().render({ lag: undefined, parked: undefined })
    const named = [...DOCUMENT.matchAll(/`(tidings_\w+)`/g)].map(([, name = '']) => name)
    expect(named.filter((name) => !text.includes(`# TYPE ${name} `))).toEqual([])
    expect(named).toContain('tidings_log_lag_seconds')
  })

  it('makes systemd always restart the program, and give it time to stop', () => {
    const [, unit = ''] = /^```ini\n(.*?)^```$/ms.exec(DOCUMENT) ?? []
    const sections = unit.split(/^\[(\w+)\]$/m)
    const of = (section: string) => (sections[sections.indexOf(section) + 1] ?? '').trim().split('\n')
    // A process without a database exits more often than the five times in ten seconds that systemd allows by default.
    expect(of('Unit')).toContain('StartLimitIntervalSec=0')
    expect(of('Service')).toEqual(expect.arrayContaining(['Restart=always', 'RestartSec=1']))
    const [, stopS] = /^TimeoutStopSec=(\d+)$/m.exec(unit) ?? []
    expect(Number(stopS) * 1_000).toBeGreaterThan(STOP_WAIT_MS)
    const [, folder, start] = /^WorkingDirectory=(.*)$[^]*^ExecStart=(\S+) serve --role http$/m.exec(unit) ?? []
    expect(start).toBe(`${folder}/bin/tidings`)
  })

  it('mentions every setting of the program', () => {
    const known = [...SETTINGS].filter((name) => !DOCUMENT.includes(`\`${name}\``))
    expect(known).toEqual([])
  })
})

const SETTINGS: ReadonlySet<string> = new Set(listSettings())

/** Every variable that the program reads. */
function listSettings(): string[] {
  const asked: string[] = []
  readConfig(new Proxy<Record<string, string>>({}, { get: (_target, name) => void asked.push(String(name)) }))
  return asked
}

function expectedSettings(services: readonly string[]): Partial<Config> {
  const databaseUrl = `postgres://tidings:${GIVEN['POSTGRES_PASSWORD']}@postgres:5432/tidings`
  const nats = services.filter((name) => NATS.includes(name))
  const natsUrl = nats.map((name) => `nats://tidings:${GIVEN['NATS_PASSWORD']}@${name}:4222`).join(',')
  return { databaseUrl, natsUrl: natsUrl === '' ? undefined : natsUrl, piiKey: undefined, logLevel: 'info' }
}

/** Replaces `${NAME:?why}`, `${NAME:-fallback}` and `${NAME}` as compose does. */
function interpolate(text: string): string {
  return text.replaceAll(/\$\{(\w+)(?::([?-])([^}]*))?\}/g, (_all, name: string, kind?: string, rest?: string) => {
    const value = GIVEN[name] ?? (kind === '-' ? rest : undefined)
    if (value === undefined) throw new Error(`${name} is not given`)
    return value
  })
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
